"""A process that ends starts again after a growing delay, until it has ended too often."""

from dlqadmin.serve.restarts import MOST_ENDS, STEADY_S, RestartSchedule


def test_the_delay_doubles_until_the_process_must_not_start_again() -> None:
    schedule, now, delays = RestartSchedule(), 0.0, []
    for _ in range(MOST_ENDS):
        schedule.started("a", now)
        delays.append(schedule.ended("a", now := now + 1))
        now += delays[-1] or 0
    assert delays == [1, 2, 4, 8, None]


def test_a_process_that_ran_for_long_begins_anew() -> None:
    schedule = RestartSchedule()
    schedule.started("a", 0)
    schedule.ended("a", 1)
    schedule.started("a", 2)
    assert schedule.ended("a", 2 + STEADY_S) == 1


def test_a_process_is_due_after_its_delay_and_only_once() -> None:
    schedule = RestartSchedule()
    schedule.started("a", 0)
    schedule.started("b", 0)
    schedule.ended("a", 10)
    assert schedule.is_waiting("a")
    assert not schedule.is_waiting("b")
    assert schedule.due(10.5) == []
    assert schedule.due(11) == ["a"]
    schedule.started("a", 11)
    assert schedule.due(20) == []

"""Tasks that share a lease: what one of them does to the others."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from io import StringIO
from typing import Any

import pytest

from engine.config.topic import (
    Leader,
    TaskEntry,
    commit_record,
    connector_record,
    leader_record,
    task_record,
)
from engine.errors import ClusterAway, FailureType, ProduceFailed, RetriableError
from engine.pipeline.claim import ConfigTail
from engine.pipeline.lease import Deadline, Finish, run_tasks
from engine.pipeline.opened_task import AWAY_PAUSE_MS, TROUBLE_PAUSE_MS, OpenTask
from engine.pipeline.task_state import TaskState
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import RawRecord
from engine.reporting.deadletter import DeadLetterReporter
from engine.reporting.log_lines import TextLines
from engine.worker_messages import Lease, LeaseEnd, TaskConfig, TaskReport
from tests.engine.pipeline.rig import Rig, letter_reporter, rows
from tests.engine.pipeline.test_claim import config_records
from tests.fakes import Clock, Consumer, Producer, Sink

BUDGET_MS = 5_000


def config_topic(names: str) -> list[RawRecord]:
    """Return the records of a leader and of connectors with these names, of one task each."""
    rows = [leader_record(Leader(1, "w", 0))]
    for name in names:
        rows += [connector_record(name, {"x": "y"}), task_record(name, 0, TaskEntry(1, {}, ()))]
        rows.append(commit_record(name, 1, 1))
    return config_records(*rows)


def tail(names: str, clock: Clock) -> ConfigTail:
    made = ConfigTail(Consumer(config_topic(names)), "configs", clock)
    made.read_to_end()
    return made


def nothing() -> None:
    """It closes."""


def run(
    rigs: dict[str, Rig],
    clock: Clock,
    opening: Callable[[str], None] = lambda _: None,
    close: Callable[[], None] = nothing,
    *,
    aside: bool = False,
    note_end: Callable[[TaskReport], None] = lambda _: None,
) -> dict[str, TaskReport]:
    """One lease of these tasks; their reports by connector. `opening` is called on the lease's own thread, or aside."""

    def open_task(config: TaskConfig, _careful: bool) -> Finish:
        if aside:
            opening(config.connector)

        def finish() -> OpenTask:
            if not aside:
                opening(config.connector)
            return OpenTask(config, rigs[config.connector].task, TolerancePolicy(-1, -1), close)

        return finish

    names = "".join(rigs)
    lease = Lease("l", tuple(TaskConfig(name, 0, 1, SHOWN, ()) for name in names), 1, BUDGET_MS, {})
    deadline = Deadline(clock, BUDGET_MS)
    reports = run_tasks(lease, tail(names, clock), clock, open_task, deadline, note_end=note_end)
    return {report.connector: report for report in reports}


def ends(reports: dict[str, TaskReport]) -> dict[str, LeaseEnd | None]:
    return {name: report.end for name, report in reports.items()}


class Broken(Sink):
    """Somebody else's, whose flush raises what it likes."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def flush(self) -> None:
        raise self.error


SHOWN = {"errors.log.include.messages": "true"}


def raising(error: BaseException) -> Callable[[str], None]:
    def opening(name: str) -> None:
        if name == "a":
            raise error

    return opening


def test_whatever_a_sinks_flush_raises_fails_its_task_with_its_trace_and_the_neighbour_goes_on() -> None:
    clock = Clock()
    rigs = {
        "a": Rig(rows(b"1"), clock=clock, sink=Broken(ConnectionError("db gone"))),
        "b": Rig(rows(b"1"), clock=clock),
    }
    reports = run(rigs, clock)
    assert ends(reports) == {"a": LeaseEnd.FAILED, "b": LeaseEnd.CAUGHT_UP}
    assert "ConnectionError: db gone" in str(reports["a"].trace)
    assert (rigs["b"].sink.delivered, rigs["b"].committed()) == ([1], 1)


def test_the_end_of_a_task_is_told_once_with_its_trace() -> None:
    clock, told = Clock(), list[TaskReport]()
    rigs = {
        "a": Rig(rows(b"1"), clock=clock, sink=Broken(ConnectionError("db gone"))),
        "b": Rig(rows(b"1"), clock=clock),
        "c": Rig(rows(b"1"), clock=clock),
    }

    def opening(name: str) -> None:
        if name == "c":
            raise OSError("no file")

    reports = run(rigs, clock, opening, note_end=told.append)
    assert {report.connector: report for report in told} == reports
    assert len(told) == 3


def test_log_lines_of_a_tasks_code_belong_to_the_task() -> None:
    lines = StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(TextLines())
    user = logging.getLogger("tests.of_users")
    user.addHandler(handler)
    clock = Clock()
    rigs = {
        name: Rig(rows(b"1"), clock=clock, sink=Sink(lambda _, name=name: user.error("put of %s", name)))  # type: ignore[misc]  # a lambda with a default
        for name in ("a", "b")
    }
    run(rigs, clock, lambda name: user.error("opened %s", name))
    user.removeHandler(handler)
    assert [line.partition("of_users: ")[2] for line in lines.getvalue().splitlines()] == [
        "[a|task-0] opened a", "[b|task-0] opened b", "[a|task-0] put of a", "[b|task-0] put of b",
    ]  # fmt: skip


def test_whatever_a_sinks_stop_raises_changes_nothing() -> None:
    def stop() -> None:
        raise OSError("can't stop")

    clock = Clock()
    rigs = {"a": Rig(rows(b"1"), clock=clock), "b": Rig(rows(b"1"), clock=clock)}
    assert set(ends(run(rigs, clock, close=stop)).values()) == {LeaseEnd.CAUGHT_UP}


def test_leaving_ends_the_worker_wherever_it_comes_from() -> None:
    clock = Clock()
    with pytest.raises(SystemExit):
        run({"a": Rig(rows(b"1"), clock=clock, sink=Broken(SystemExit(3)))}, clock)


@pytest.mark.parametrize(
    ("error", "pause_ms"), [(RetriableError("busy"), TROUBLE_PAUSE_MS), (ClusterAway("far away"), AWAY_PAUSE_MS)]
)
def test_a_cluster_that_is_away_is_asked_less_often(error: RetriableError, pause_ms: int) -> None:
    clock = Clock()
    report = run({"a": Rig(rows(b"1"), clock=clock)}, clock, raising(error))["a"]
    assert (report.end, report.wake_at) == (LeaseEnd.PARKED, clock.now_ms() + pause_ms)
    assert str(error) in str(report.trace)


def test_opening_can_not_use_up_the_budget() -> None:
    clock = Clock()

    def opening(_: str) -> None:
        clock.time_ms += 2 * BUDGET_MS

    rig = Rig(rows(b"1"), clock=clock)
    assert ends(run({"a": rig}, clock, opening)) == {"a": LeaseEnd.CAUGHT_UP}
    assert rig.sink.delivered == [1]


class Away(Producer):
    """Brokers that never answer."""

    def flush(self) -> None:
        count, self.queue = len(self.queue), []
        if count:
            raise ProduceFailed((("dlq", "away"),) * count, tuple(range(count)), FailureType.DELIVERY_FAILED)


def letters_to(producer: Producer, clock: Clock, retry: RetryPolicy) -> Callable[[TaskState], DeadLetterReporter]:
    return partial(letter_reporter, producer, clock=clock, retry=retry, patience_ms=lambda _: 50)


def test_dead_letters_that_can_not_be_written_park_their_task_and_hold_up_no_other() -> None:
    clock = Clock()
    letters = letters_to(Away(), clock, RetryPolicy(-1))
    rigs = {"a": Rig(rows(b"bad"), clock=clock, letters=letters), "b": Rig(rows(b"1"), clock=clock)}
    reports = run(rigs, clock)
    assert ends(reports) == {"a": LeaseEnd.PARKED, "b": LeaseEnd.CAUGHT_UP}
    assert (reports["a"].wake_at, clock.waits) == (clock.now_ms() + 300, [])
    assert "writing dead letters failed once" in str(reports["a"].trace)
    assert (reports["a"].progressed, rigs["a"].consumer.group) == (False, {})
    assert reports["a"].metrics["deadletterqueue-produce-failures"] == 0


def test_attempts_at_dead_letters_outlive_the_lease_until_they_are_exhausted() -> None:
    clock, retry = Clock(), RetryPolicy(2)
    group = Rig(rows(b"1"), clock=clock)
    group.run()
    records: list[Any] = rows(b"1", b"{")
    seen = []
    for _ in range(3):
        rig = Rig(records, clock=clock, letters=letters_to(Away(), clock, retry), group=group.consumer.group)
        report = run({"a": rig}, clock)["a"]
        seen.append(
            (report.end, report.metrics["deadletterqueue-produce-failures"], report.metrics["records-consumed"])
        )
        clock.time_ms = report.wake_at or clock.time_ms
    assert seen == [(LeaseEnd.PARKED, 0, 1), (LeaseEnd.PARKED, 0, 1), (LeaseEnd.FAILED, 1, 1)]
    back = Producer()
    rig = Rig(records, clock=clock, letters=letters_to(back, clock, retry), group=group.consumer.group)
    assert run({"a": rig}, clock)["a"].end is LeaseEnd.CAUGHT_UP
    assert (len(back.records), rig.committed(), rig.state.unwritten.failures) == (1, 2, 0)
    assert (rig.count("total-retries"), rig.count("records-consumed")) == (2, 2)


@pytest.mark.parametrize("aside", [True, False])
def test_a_task_that_can_not_be_opened_ends_alone_whichever_half_of_its_opening_fails(aside: bool) -> None:
    clock = Clock()
    rigs = {"a": Rig(rows(b"1"), clock=clock), "b": Rig(rows(b"1"), clock=clock)}
    reports = run(rigs, clock, raising(KeyError("no such option")), aside=aside)
    assert ends(reports) == {"a": LeaseEnd.FAILED, "b": LeaseEnd.CAUGHT_UP}
    assert "no such option" in str(reports["a"].trace)
    with pytest.raises(SystemExit):
        run({"a": Rig(rows(b"1"), clock=clock)}, clock, raising(SystemExit(3)), aside=aside)


def test_the_tasks_of_a_pool_wait_for_brokers_together_and_are_finished_on_the_leases_own_thread() -> None:
    clock, together, finished_on = Clock(), threading.Barrier(2), set[int]()
    rigs = {name: Rig(rows(b"1"), clock=clock) for name in "ab"}

    def open_task(config: TaskConfig, _careful: bool) -> Finish:
        together.wait(60)

        def finish() -> OpenTask:
            finished_on.add(threading.get_ident())
            return OpenTask(config, rigs[config.connector].task, TolerancePolicy(-1, -1), nothing)

        return finish

    lease = Lease("l", tuple(TaskConfig(name, 0, 1, {}, ()) for name in rigs), 1, BUDGET_MS, {})
    reports = run_tasks(lease, tail("ab", clock), clock, open_task, Deadline(clock, BUDGET_MS))
    assert {report.end for report in reports} == {LeaseEnd.CAUGHT_UP}
    assert finished_on == {threading.get_ident()}

"""Whether a replay goes on, waits, or pauses by itself: a row a case."""

from __future__ import annotations

import pytest

from dlqadmin.replays.sending.pause_rules import Go, Lag, OutcomeTally, Passed, Situation, Stop, Wait, decide

Decision = Go | Wait | Passed | Stop
FAILED = "3 of 10 canary records failed again"
ELEVEN = "11 of 100 canary records failed again"


def step(size: int, left: int = 1000, percent: int | None = 10, **tally: int) -> Situation:
    return Situation(left, size=size, step=OutcomeTally(**tally), breaker_percent=percent)


def rest(percent: int | None = 10, **tally: int) -> Situation:
    return Situation(1000, since=OutcomeTally(**tally), breaker_percent=percent)


def behind(records: int, size: int | None = None) -> Situation:
    return Situation(1000, size=size, max_lag=500, lag=Lag("connect-a", records))


@pytest.mark.parametrize(
    ("situation", "decision"),
    [
        (step(10), Go(10)),
        (step(10, waiting=4), Go(6)),
        (step(10, waiting=10), Wait()),
        (step(10, waiting=1, passed=9), Wait()),
        (step(10, waiting=1, passed=6, failed_again=3), Wait()),  # too few outcomes to stop before the step is over
        (step(10, passed=10), Passed()),
        (step(10, passed=9, failed_again=1), Passed()),  # not above ten percent
        (step(10, passed=7, failed_again=3), Stop(FAILED, is_canary=True)),
        (step(10, passed=7, failed_again=3, percent=None), Passed()),
        (step(10, passed=7, failed_again=3, percent=30), Passed()),
        (step(1, failed_again=1), Stop("1 of 1 canary records failed again", is_canary=True)),
        (step(1, unknown=1), Stop("1 of 1 canary records has an unknown outcome", is_canary=True)),
        (step(10, passed=8, unknown=2), Stop("2 of 10 canary records have an unknown outcome", is_canary=True)),
        (step(1, unknown=1, percent=None), Stop("1 of 1 canary records has an unknown outcome", is_canary=True)),
        (step(10, passed=8, unknown=1, waiting=1), Wait()),
        (step(100, waiting=79, passed=17, failed_again=4), Wait()),  # all others may pass
        (step(100, waiting=69, passed=20, failed_again=11), Stop(ELEVEN, is_canary=True)),
        (step(100, waiting=81, passed=15, failed_again=4), Wait()),  # nineteen
        (step(10, left=0, waiting=3), Wait()),  # there were no more
        (step(10, left=0, passed=3), Passed()),
        (rest(), Go()),
        (rest(passed=15, failed_again=4), Go()),
        (rest(passed=16, failed_again=4), Stop("4 of 20 records failed again, more than 10 %")),
        (rest(passed=18, failed_again=2), Go()),
        (rest(waiting=345, failed_again=29), Go()),  # 7.75 %: failures are known before passes
        (rest(waiting=251, failed_again=29), Stop("29 of 280 records failed again, more than 10 %")),
        (rest(passed=16, failed_again=4, percent=None), Go()),
        (rest(unknown=900), Go()),  # past the canary nobody stops for what is unknown
        (rest(percent=0, passed=19, failed_again=1), Stop("1 of 20 records failed again, more than 0 %")),
        (behind(500), Go()),
        (behind(501), Stop("connect-a has a lag of 501 records, more than 500")),
        (behind(501, size=10), Stop("connect-a has a lag of 501 records, more than 500")),
    ],
)  # fmt: skip
def test_what_is_done_where_a_replay_stands_so(situation: Situation, decision: Decision) -> None:
    assert decide(situation) == decision

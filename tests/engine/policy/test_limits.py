"""The ends of the domains: the largest longs, clocks that go back, the smallest windows."""

from __future__ import annotations

import pytest

from engine.policy.retry import RetryPolicy, backoff_ms
from engine.policy.tolerance import TolerancePolicy, ToleranceState

LONG_MAX = 2**63 - 1


@pytest.mark.parametrize("max_ms", [1, 2, 299, 2**54 + 1, LONG_MAX])
@pytest.mark.parametrize("jitter", [0.0, 0.5, 1.0])
def test_the_largest_cap_is_never_passed(max_ms: int, jitter: float) -> None:
    assert max_ms / 2 <= backoff_ms(10_000, max_ms, jitter) <= max_ms


def test_retrying_for_ever_never_gives_up() -> None:
    assert RetryPolicy(limit=-1).decide(10_000, LONG_MAX, 1.0) == 60_000


def test_limit_n_retries_n_times() -> None:
    answers = [RetryPolicy(limit=10).decide(attempt, 0, 1.0) is not None for attempt in range(1, 13)]
    assert answers == [True] * 10 + [False] * 2


@pytest.mark.parametrize("timeout", [None, -1])
def test_no_deadline_leaves_the_limit_alone(timeout: int | None) -> None:
    policy = RetryPolicy(1, 60_000, timeout)
    assert (policy.decide(1, LONG_MAX, 1.0), policy.decide(2, 0, 1.0)) == (300, None)


def test_a_deadline_of_zero_retries_nothing() -> None:
    assert RetryPolicy(-1, 60_000, 0).decide(1, 0, 1.0) is None


def test_a_clock_that_goes_back_loses_no_error() -> None:
    policy = TolerancePolicy(-1, 1)
    state = policy.add(policy.add(ToleranceState(), 100_000), 50_000)
    assert policy.is_exceeded(state, 50_000)
    assert policy.is_exceeded(state, 100_000)


def test_a_window_of_one_millisecond_forgets_at_once() -> None:
    policy = TolerancePolicy(-1, 0, 1)
    state = policy.add(ToleranceState(), 5)
    assert (policy.is_exceeded(state, 5), policy.is_exceeded(state, 6)) == (True, False)


def test_the_total_never_forgets() -> None:
    policy = TolerancePolicy(limit=1, rate_limit=-1)
    state = policy.add(policy.add(ToleranceState(), 0), 10**15)
    assert policy.is_exceeded(state, 10**16)


def test_a_full_state_of_a_day_fits_commit_metadata() -> None:
    policy = TolerancePolicy(-1, 10**9, 86_400_000)
    state = ToleranceState()
    for second in range(5000):
        state = policy.add(state, 1_700_000_000_000 + second * 17_000)
    assert len(state.to_json()) < 700
    assert ToleranceState.from_json(state.to_json()) == state

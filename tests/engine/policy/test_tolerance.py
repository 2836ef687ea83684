from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.policy.tolerance import MAX_ENTRIES, TolerancePolicy, ToleranceState

MINUTE = 60_000


def after(policy: TolerancePolicy, times: list[int]) -> ToleranceState:
    state = ToleranceState()
    for time in times:
        state = policy.add(state, time)
    return state


def test_limit_10_fails_at_the_11th_error() -> None:
    policy = TolerancePolicy(10, -1)
    assert not policy.is_exceeded(after(policy, [0] * 10), 0)
    assert policy.is_exceeded(after(policy, [0] * 11), 0)


@pytest.mark.parametrize(("limit", "failures", "exceeded"), [(0, 1, True), (-1, 2, False), (0, 0, False)])
def test_none_and_all(limit: int, failures: int, exceeded: bool) -> None:
    """C-24, RetryWithToleranceOperatorTest#testToleranceLimit: none and all are limits of 0 and -1 in the KIP."""
    policy = TolerancePolicy(limit, limit)
    assert policy.is_exceeded(after(policy, [5] * failures), 5) is exceeded


@pytest.mark.parametrize("policy", [TolerancePolicy(5, 0), TolerancePolicy(0, 5)])
def test_one_limit_alone_still_fails_on_the_first_error(policy: TolerancePolicy) -> None:
    assert policy.is_exceeded(after(policy, [0]), 0)


def test_the_window_slides() -> None:
    policy = TolerancePolicy(-1, 2, MINUTE)
    state = after(policy, [0, 30_000, 59_999])
    assert policy.is_exceeded(state, 59_999)
    assert not policy.is_exceeded(state, 60_000)


def test_what_is_used_can_be_told() -> None:
    policy = TolerancePolicy(10, 5, MINUTE)
    assert policy.used(after(policy, [0, 61_000]), 61_000) == {"limit": 10, "used": 2, "rate_limit": 5, "rate_used": 1}


TIMES = st.lists(st.integers(0, 20_000), max_size=200).map(
    lambda steps: [sum(steps[:n]) for n in range(1, len(steps) + 1)]
)


@given(TIMES)
def test_the_rate_is_never_too_low_and_at_most_one_slot_too_high(times: list[int]) -> None:
    policy = TolerancePolicy(-1, 5, MINUTE)
    now = times[-1] if times else 0
    found = policy.used(after(policy, times), now)["rate_used"]
    assert sum(time > now - MINUTE for time in times) <= found <= sum(time > now - MINUTE - 2_500 for time in times)


FEW = st.lists(st.integers(0, 20_000), max_size=MAX_ENTRIES).map(
    lambda steps: [sum(steps[:n]) for n in range(1, len(steps) + 1)]
)


@given(FEW, st.integers(-1, 20), st.integers(-1, 20), st.integers(1, 100_000))
def test_while_each_error_has_its_own_time_the_window_is_exact(
    times: list[int], limit: int, rate_limit: int, duration_ms: int
) -> None:
    policy, state = TolerancePolicy(limit, rate_limit, duration_ms), ToleranceState()
    for count, now in enumerate(times, 1):
        state = ToleranceState.from_json(policy.add(state, now).to_json())  # as over a lease's end
        in_window = sum(now - duration_ms < time <= now for time in times[:count])
        too_many = -1 < limit < count or -1 < rate_limit < in_window
        assert policy.is_exceeded(state, now) is too_many


@given(TIMES, st.integers(0, 60))
def test_no_rate_above_its_limit_goes_unseen(times: list[int], rate_limit: int) -> None:
    policy, state = TolerancePolicy(-1, rate_limit, MINUTE), ToleranceState()
    for count, now in enumerate(times, 1):
        state = policy.add(state, now)
        in_window = sum(time > now - MINUTE for time in times[:count])
        assert policy.is_exceeded(state, now) or in_window <= rate_limit


@given(TIMES)
def test_the_state_comes_back_from_json(times: list[int]) -> None:
    state = after(TolerancePolicy(-1, 5, MINUTE), times)
    assert ToleranceState.from_json(state.to_json()) == state


def test_the_state_stays_small_after_many_errors() -> None:
    policy = TolerancePolicy(-1, 10**9, 86_400_000)
    state = after(policy, [1_800_000_000_000 + 977 * n for n in range(20_000)])
    assert state.total == 20_000
    assert len(state.to_json()) < 700


@given(TIMES, st.integers(-1, 20), st.integers(-1, 20), st.integers(1, 100_000))
def test_one_more_error_is_added_and_looked_at_at_once(
    times: list[int], limit: int, rate_limit: int, duration_ms: int
) -> None:
    policy, state = TolerancePolicy(limit, rate_limit, duration_ms), ToleranceState()
    for now in times:
        added = policy.add(state, now)
        assert policy.after(state, now) == (policy.is_exceeded(added, now), added)
        state = added

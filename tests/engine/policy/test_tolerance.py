from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.policy.tolerance import MAX_ROWS, TolerancePolicy, ToleranceState

MINUTE, DAY = 60_000, 86_400_000
START = 1_800_000_000_000


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


FEW = st.lists(st.integers(0, 20_000), max_size=MAX_ROWS).map(
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


def counts(policy: TolerancePolicy, times: list[int]) -> Iterator[tuple[int, int, bool]]:
    """The errors in the window, the errors that the policy counts, and whether the task fails, until it does."""
    state = ToleranceState()
    for number, now in enumerate(times, 1):
        fails, state = policy.after(state, now)
        yield number - bisect_right(times, now - policy.rate_duration_ms), policy.used(state, now)["rate_used"], fails
        if fails:
            return


@st.composite
def loads(draw: st.DrawFn) -> tuple[TolerancePolicy, list[int]]:
    """A rate limit of any size, and random errors around it: single ones, in bursts, or both."""
    limit, duration_ms = round(10 ** draw(st.floats(0, 3))), draw(st.sampled_from([MINUTE, 60 * MINUTE, DAY]))
    load, burst = draw(st.floats(0.5, 1.5)), draw(st.sampled_from([1, 3, 60]))
    random, times, now = Random(draw(st.integers(0, 2**32))), list[int](), START
    for _ in range(3 * limit // burst + 50 // burst):
        now += round(random.expovariate(load * (limit + 1) / burst / duration_ms))
        times += [now] * random.randrange(1, 2 * burst)
    return TolerancePolicy(-1, limit, duration_ms), times


@given(loads())
def test_the_rate_is_never_counted_too_high_and_at_most_a_24th_of_the_limit_too_low(
    load: tuple[TolerancePolicy, list[int]],
) -> None:
    policy, times = load
    limit = policy.rate_limit
    for in_window, counted, fails in counts(policy, times):
        assert in_window - limit // 24 <= counted <= in_window
        assert fails is (counted > limit)


@pytest.mark.parametrize("limit", [49, 100, 1_000, 10_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("load", [0.98, 1.0])
def test_steady_errors_up_to_the_limit_never_fail_a_task(limit: int, load: float) -> None:
    times = [START + round(number * DAY / (limit * load)) for number in range(round(1.6 * limit))]
    assert not any(fails for _, _, fails in counts(TolerancePolicy(-1, limit, DAY), times))


@pytest.mark.parametrize("limit", [49, 1_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_rate_a_20th_above_the_limit_fails_the_task_within_two_windows(limit: int) -> None:
    times = [START + round(number * DAY / (1.05 * limit)) for number in range(2 * limit)]
    assert any(fails for _, _, fails in counts(TolerancePolicy(-1, limit, DAY), times))


@given(TIMES)
def test_the_state_comes_back_from_json(times: list[int]) -> None:
    state = after(TolerancePolicy(-1, 5, MINUTE), times)
    assert ToleranceState.from_json(state.to_json()) == state


def test_the_state_stays_small_after_many_errors() -> None:
    policy = TolerancePolicy(-1, 10**9, 86_400_000)
    state = after(policy, [START + 977 * n for n in range(20_000)])
    assert state.total == 20_000
    assert len(state.to_json()) < 700


@given(loads())
def test_the_state_fits_into_commit_metadata(load: tuple[TolerancePolicy, list[int]]) -> None:
    policy, times = load
    state = ToleranceState()
    for now in times:
        state = policy.add(state, now)
        assert len(state.window) <= MAX_ROWS
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

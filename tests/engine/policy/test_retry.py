from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.policy.retry import RetryPolicy, backoff_ms


def waits(policy: RetryPolicy, failures: int) -> list[int | None]:
    """The waits of an operation that fails so often, at full back-off, on a clock that only waits move."""
    elapsed, found = 0, []
    for attempt in range(1, failures + 1):
        wait = policy.decide(attempt, elapsed, 1.0)
        found.append(wait)
        elapsed += wait or 0
    return found


def test_delay_doubles_until_the_cap() -> None:
    """C-17, RetryWithToleranceOperatorTest#testExecAndHandleRetriableErrorOnce;
    C-18, RetryWithToleranceOperatorTest#testExecAndHandleRetriableErrorThrice;
    C-19, RetryWithToleranceOperatorTest#testExecAndHandleRetriableErrorWithInfiniteRetries; capped as in KIP-298."""
    assert waits(RetryPolicy(-1, 60_000, 6000), 3) == [300, 600, 1200]
    first = [300, 600, 1200, 2400, 4800, 9600, 19200, 38400]
    assert waits(RetryPolicy(-1, 60_000, -1), 10) == [*first, 60_000, 60_000]


@pytest.mark.parametrize(
    ("limit", "timeout_ms", "found"),
    [(-1, 6000, [300, 600, 1200, 2400, 1500, None]), (2, 6000, [300, 600, None]), (100, 500, [300, 200, None])],
)
def test_the_first_of_limit_and_deadline_ends_the_retries_and_no_wait_goes_beyond_the_deadline(
    limit: int, timeout_ms: int, found: list[int | None]
) -> None:
    assert waits(RetryPolicy(limit, 60_000, timeout_ms), len(found)) == found


def test_without_options_nothing_is_retried() -> None:
    assert RetryPolicy().decide(1, 0, 0.5) is None


@pytest.mark.parametrize("attempt", [56, 59, 61, 64, 65, 10_000])
def test_delay_does_not_overflow(attempt: int) -> None:
    assert backoff_ms(attempt, 60_000, 1.0) == 60_000


@given(st.integers(1, 10_000), st.integers(1, 2**63 - 1), st.floats(0, 1))
def test_delay_lies_between_half_and_whole(attempt: int, max_ms: int, jitter: float) -> None:
    whole = min(300 * 2 ** (attempt - 1), max_ms)
    assert whole <= 2 * backoff_ms(attempt, max_ms, jitter) <= 2 * whole  # in whole numbers: halves of longs round

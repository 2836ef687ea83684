"""Statistics over the last minute, in samples of 30 s."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.record.mirrored import Durations
from engine.reporting.sampled import EXPIRE_MS, SAMPLE_MS, Samples, add_sampled, read_sampled, sampled_seconds


def one(ms: int) -> Durations:
    return Durations(1, ms, ms, ms, ms)


def sampled(rows: list[tuple[int, int]]) -> Samples[Durations]:
    samples: Samples[Durations] = ()
    for now_ms, value in rows:
        samples = add_sampled(samples, one(value), now_ms)
    return samples


@given(st.lists(st.tuples(st.integers(0, 40_000), st.integers(0, 1000)), min_size=1))
def test_everything_of_the_last_sample_and_nothing_older_than_two_is_read(steps: list[tuple[int, int]]) -> None:
    rows, now_ms = [], 0
    for pause_ms, value in steps:
        now_ms += pause_ms
        rows.append((now_ms, value))
    found = read_sampled(sampled(rows), now_ms)
    assert found is not None
    recent = [value for at, value in rows if now_ms - at < SAMPLE_MS]
    possible = [value for at, value in rows if now_ms - at < EXPIRE_MS]
    assert len(recent) <= found.count <= len(possible)
    assert found.last == rows[-1][1]
    assert min(possible) <= found.least <= min(recent)
    assert max(recent) <= found.most <= max(possible)


def test_a_minute_after_the_last_value_there_is_nothing() -> None:
    samples = sampled([(0, 5)])
    assert read_sampled(samples, EXPIRE_MS - 1) == one(5)
    assert read_sampled(samples, EXPIRE_MS) is None


def test_a_rate_is_over_the_time_that_is_read_and_never_over_less_than_a_sample() -> None:
    samples = sampled([(0, 5), (29_000, 6), (31_000, 7)])
    assert [sampled_seconds(samples, now_ms) for now_ms in (1_000, 45_000, 70_000)] == [30, 45, 39]

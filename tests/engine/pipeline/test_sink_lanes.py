"""A sink task with several lanes decides as one without, keeps the order of each key, and lets other keys go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.errors import ConfigError, EngineError, PartialPut, RecordError, RetriableError, Throttling
from engine.pipeline.outcome import Failed, Interrupted
from engine.pipeline.sink_task import SLOW_MS
from engine.policy.handlers import Response
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import RawRecord, Record
from engine.reporting.metrics import is_balanced
from tests.engine.pipeline.rig import Rig
from tests.fakes import Clock, Sink, raw

Answer = Callable[[int], Exception | None]


class OrderedSink(Sink):
    """Delivers records one by one, and stops at the first failure. `answer` is asked before each, by its number."""

    def __init__(self, answer: Answer = lambda _: None) -> None:
        super().__init__()
        self.answer = answer
        self.given: list[tuple[bytes | None, int]] = []  # key and number of each delivery

    def put(self, records: Sequence[Record]) -> None:
        self.puts.append(len(records))
        done: list[int] = []
        for index, record in enumerate(records):
            trouble = self.answer(record.value)
            if isinstance(trouble, EngineError):
                raise PartialPut(tuple(done), (), trouble) if done else trouble
            if trouble is not None:
                raise PartialPut(tuple(done), (RecordError(index, trouble),))
            self.given.append((record.key, record.value))
            done.append(index)


class RefusingBatches(OrderedSink):
    """Delivers a batch as a whole or not at all, and names no record."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.put_is_idempotent = True

    def put(self, records: Sequence[Record]) -> None:
        for record in records:
            trouble = self.answer(record.value)
            if trouble is not None:
                raise trouble
        self.given += [(record.key, record.value) for record in records]


class Case(NamedTuple):
    """A record: its key, and its fate. A fate is `ok`, `no`, `bad bytes`, or the number of failures before success."""

    key: bytes | None
    fate: str | int


def raws(cases: Sequence[Case]) -> list[RawRecord]:
    return [
        raw(number, b"{" if case.fate == "bad bytes" else b"%d" % number, key=case.key)
        for number, case in enumerate(cases)
    ]


def fates(cases: Sequence[Case]) -> Answer:
    """Return the answer of a target that treats each record as its case says."""
    left = {number: case.fate for number, case in enumerate(cases) if isinstance(case.fate, int)}

    def answer(number: int) -> Exception | None:
        if cases[number].fate == "no":
            return ValueError("no")
        if left.get(number, 0) > 0:
            left[number] -= 1
            return RetriableError("busy")
        return None

    return answer


CASES = st.lists(
    st.builds(
        Case,
        st.sampled_from([b"a", b"b", b"c", b"d", b"e", None]),
        st.sampled_from(["ok", "ok", "no", "bad bytes", 1, 2]),
    ),
    max_size=25,
)
NAMED = [Case(key, "no" if key == b"a" else "ok") for key in (b"b", b"a", b"a", b"c", b"a", b"b")]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [OrderedSink, RefusingBatches])
@given(CASES, st.sampled_from([-1, 0, 1, 3]))
@example(NAMED, 1)
def test_eight_lanes_decide_as_one_does(kind: Any, cases: list[Case], limit: int) -> None:
    if kind is RefusingBatches:  # all failures of a batch would count as those of one put
        cases = [Case(case.key, "ok") if isinstance(case.fate, int) else case for case in cases]
    found = []
    for lanes in (1, 8):
        sink = kind(fates(cases))
        rig = Rig(raws(cases), sink=sink, retry=RetryPolicy(4), tolerance=TolerancePolicy(limit, -1), lanes=lanes)
        end = rig.run()
        assert is_balanced(rig.state.metrics)
        committed = rig.committed() if rig.consumer.commits else 0
        good = [number for number, case in enumerate(cases) if case.fate not in ("no", "bad bytes")]
        delivered = [number for _, number in sink.given]
        assert set(delivered) >= {number for number in good if number < committed}
        assert max(Counter(delivered).values(), default=1) == 1
        for key in (b"a", b"b", b"c", b"d", b"e"):
            own = [number for name, number in sink.given if name == key]
            assert own == sorted(own)
        counts = {name: rig.count(name) for name in ("records-consumed", "records-delivered", "records-dead-lettered")}
        found.append((type(end), committed, rig.reporter.offsets, counts, rig.count("total-record-errors")))
    assert found[0] == found[1]


def of_keys(keys: str, busy: Answer) -> tuple[list[Case], OrderedSink]:
    return [Case(key.encode(), "ok") for key in keys], OrderedSink(busy)


def failing(number: int, *errors: Exception) -> Answer:
    """An answer that gives these errors for one record, one each time, and none afterwards."""
    left = list(errors)
    return lambda one: left.pop(0) if one == number and left else None


def test_records_behind_a_failed_one_with_its_key_wait_and_all_others_are_delivered_first() -> None:
    cases, sink = of_keys("abacbdacd", failing(2, RetriableError("busy"), RetriableError("busy")))
    rig = Rig(raws(cases), sink=sink, retry=RetryPolicy(5), lanes=4)
    assert rig.run() is None
    assert sorted(number for key, number in sink.given[:-2]) == [0, 1, 3, 4, 5, 7, 8]
    assert sink.given[-2:] == [(b"a", 2), (b"a", 6)]
    assert (rig.clock.waits, rig.committed(), rig.reporter.offsets) == ([300, 600], 9, [])


def test_only_records_with_the_key_of_a_failing_record_are_blamed_and_after_the_retries_that_the_policy_allows() -> (
    None
):
    keys = "p" + "abcdefghijkl" * 4 + "p"
    cases, sink = of_keys(keys, lambda number: RetriableError("busy") if number == 0 else None)
    rig = Rig(raws(cases), sink=sink, retry=RetryPolicy(2), lanes=4)
    assert rig.run() is None
    assert rig.reporter.offsets == [0, len(keys) - 1]
    assert (len(sink.given), rig.committed()) == (len(keys) - 2, len(keys))
    assert {context.attempt for context, _ in rig.reporter.reports} == {2}


def test_a_target_that_is_down_costs_all_lanes_one_series_of_retries() -> None:
    cases, sink = of_keys("abcdefgh" * 5, lambda _: RetriableError("down"))
    rig = Rig(raws(cases), sink=sink, retry=RetryPolicy(3), lanes=8)
    assert rig.run() is None
    assert rig.clock.waits == [300, 600, 1200]
    assert rig.reporter.offsets == list(range(40))


def test_a_stop_request_ends_the_wait_for_a_failed_lane_and_the_record_is_not_passed_by() -> None:
    cases, sink = of_keys("abcabc", failing(1, *[RetriableError("busy")] * 9))
    clock = Clock(stop_at=1_000_100)
    rig = Rig(raws(cases), sink=sink, retry=RetryPolicy(-1), clock=clock, lanes=3)
    assert rig.run() == Interrupted(None)
    assert (rig.committed(), rig.reporter.offsets, rig.count("records-consumed")) == (1, [], 1)
    again = Rig(raws(cases), sink=OrderedSink(), group=rig.consumer.group, lanes=3)
    assert again.run() is None
    assert again.committed() == 6


def leases(cases: list[Case], sink: Sink, **options: Any) -> Iterator[tuple[Any, Rig]]:
    """Run leases, each of which ends when a retry waits for long, until one ends otherwise; at most ten."""
    group: dict[Any, Any] = {}
    clock = Clock()
    for _ in range(10):
        rig = Rig(raws(cases), sink=sink, clock=clock, patience_ms=100, group=group, **options)
        end = rig.run()
        yield end, rig
        if not isinstance(end, Interrupted) or end.wake_at is None:
            return
        clock.time_ms = end.wake_at


def test_retries_are_counted_across_leases_although_other_keys_are_delivered_in_each() -> None:
    cases, sink = of_keys("pabcabc", lambda number: RetriableError("busy") if number == 0 else None)
    ends = []
    for end, last in leases(cases, sink, retry=RetryPolicy(3), lanes=4):
        ends.append(end)
        assert (last.committed() if last.consumer.commits else 0) == (7 if end is None else 0)
    assert len(ends) == 4
    assert end is None
    assert (last.reporter.offsets, last.committed()) == ([0], 7)
    assert last.reporter.reports[0][0].attempt == 3


def test_the_pause_that_a_target_asks_for_is_kept() -> None:
    cases, sink = of_keys("ab", failing(0, Throttling("busy", 90_000)))
    rig = Rig(raws(cases), sink=sink, retry=RetryPolicy(-1), lanes=2)
    assert rig.run() is None
    assert rig.clock.waits == [90_000]


def test_a_mistake_of_the_configuration_fails_the_task_before_the_first_record_that_is_not_delivered() -> None:
    denied = ConfigError((("token", None, "is not accepted"),))
    cases, sink = of_keys("abab", lambda number: denied if number in (1, 3) else None)
    rig = Rig(raws(cases), sink=sink, retry=RetryPolicy(-1), lanes=2)
    end = rig.run()
    assert isinstance(end, Failed)
    assert "could not put the batch of 2 records from t-0 at offset 1 to t-0 at offset 3" in end.message
    assert (rig.committed(), [number for _, number in sink.given]) == (1, [0, 2])


def test_a_slow_chunk_is_committed_in_part_and_what_is_delivered_ahead_is_not_put_again() -> None:
    clock = Clock()

    class Slow(OrderedSink):
        """Takes long for each put, and delivers at first only one record of key `s`."""

        waits = 1

        def put(self, records: Sequence[Record]) -> None:
            clock.time_ms += SLOW_MS
            if records[0].key == b"s" and len(records) > 1 and self.waits:
                self.waits -= 1
                super().put(records[:1])
                raise PartialPut((0,))
            super().put(records)

    sink = Slow()
    cases, _ = of_keys("sabsabab", lambda _: None)
    rig = Rig(raws(cases), sink=sink, clock=clock, lanes=3)
    assert rig.run() is None
    assert [next(iter(one.values())).offset for one in rig.consumer.commits] == [3, 8]
    assert Counter(number for _, number in sink.given) == Counter(range(8))


def test_a_handler_decides_about_records_that_lanes_reject() -> None:
    class Handler:
        def handle(self, context: Any, record: Any, exception: Exception) -> Response:
            return Response.CONTINUE if record.key != b"c" else Response.FAIL

    cases = [Case(key.encode(), "no" if key in "bc" else "ok") for key in "abdbacd"]
    sink = OrderedSink(fates(cases))
    rig = Rig(raws(cases), sink=sink, handler=Handler(), lanes=4)
    assert isinstance(rig.run(), Failed)
    assert (rig.committed(), rig.reporter.offsets) == (5, [1, 3, 5])


def test_lanes_that_only_reject_records_do_not_wait_for_a_failed_lane() -> None:
    cases = [Case(b"p", "ok"), *[Case(b"q", "no")] * 5, Case(b"q", "ok")]
    refuse, clock, waited = fates(cases), Clock(), list[int]()

    def answer(number: int) -> Exception | None:
        if number == 6:
            waited.extend(clock.waits)
        return RetriableError("busy") if number == 0 else refuse(number)

    rig = Rig(raws(cases), sink=OrderedSink(answer), retry=RetryPolicy(2), clock=clock, lanes=2)
    assert rig.run() is None
    assert (rig.count("records-delivered"), waited, clock.waits) == (1, [], [300, 600])
    assert rig.reporter.offsets == [0, 1, 2, 3, 4, 5]
    assert [context.attempt for context, _ in rig.reporter.reports] == [2, 0, 0, 0, 0, 0]


def test_only_the_records_of_failed_lanes_get_the_dead_letters_of_a_put_that_fails_the_task() -> None:
    denied = ConfigError((("token", None, "is not accepted"),))
    cases = [Case(b"a", "ok"), Case(b"q", "no"), Case(b"q", "ok"), Case(b"a", "ok")]
    refuse = fates(cases)
    sink = OrderedSink(lambda number: denied if number == 0 else refuse(number))
    rig = Rig(raws(cases), sink=sink, lanes=2)
    assert isinstance(rig.run(), Failed)
    assert (rig.reporter.offsets, sink.given) == ([0, 3], [])

"""The meaning of a put's exceptions, of one call and of several lanes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ConfigError, PartialPut, RecordError, RetriableError
from engine.pipeline.put_results import PutResult, merged_result, put_result

BUSY, WRONG = RetriableError("busy"), ConfigError((("url", None, "is wrong"),))
NO = ValueError("no")


def test_an_error_of_the_whole_batch_fails_all_its_records() -> None:
    assert put_result(BUSY, 3) == PutResult(failed=range(3), error=BUSY)


def test_rejected_records_are_named_and_the_others_have_no_error() -> None:
    assert put_result(RecordError(1, NO), 3) == PutResult(rejected={1: NO})
    assert put_result(ExceptionGroup("", [RecordError(0, NO), RecordError(2, NO)]), 3).rejected == {0: NO, 2: NO}


def test_a_partial_put_fails_only_the_records_that_it_does_not_name() -> None:
    result = put_result(PartialPut((0,), (RecordError(2, NO),), BUSY), 4)
    assert result == PutResult((0,), {2: NO}, [1, 3], BUSY, names_delivered=True)
    assert put_result(PartialPut((0,)), 4).failed == ()


def test_a_partial_put_that_contradicts_itself_is_the_error_of_the_batch() -> None:
    wrong = PartialPut((0,), (RecordError(0, NO),))
    assert put_result(wrong, 2) == PutResult(failed=range(2), error=wrong)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["ok", "no", "busy"])), max_size=30))
def test_each_record_of_the_lanes_is_delivered_rejected_failed_or_left_once(rows: list[tuple[int, str]]) -> None:
    lanes: list[list[int]] = [[] for _ in range(4)]
    for index, (number, _) in enumerate(rows):
        lanes[number].append(index)
    lanes = [lane for lane in lanes if lane]
    errors: list[Exception | None] = []
    expected: dict[int, str] = {}
    for lane in lanes:
        stop = next((at for at, index in enumerate(lane) if rows[index][1] != "ok"), None)
        expected |= dict.fromkeys(lane[:stop], "delivered")
        if stop is None:
            errors.append(None)
            continue
        is_busy = rows[lane[stop]][1] == "busy"
        expected |= dict.fromkeys(lane[stop:], "failed") if is_busy else {lane[stop]: "rejected"}
        refused = () if is_busy else (RecordError(stop, NO),)
        errors.append(PartialPut(tuple(range(stop)), refused, BUSY if is_busy else None))
    result = merged_result(lanes, errors)
    found = dict.fromkeys(result.delivered, "delivered") | dict.fromkeys(result.rejected, "rejected")
    assert found | dict.fromkeys(result.failed, "failed") == expected
    for indexes in (result.delivered, result.rejected, result.failed):
        assert list(indexes) == sorted(indexes)
    assert (result.error is BUSY) is ("failed" in expected.values())


def test_a_mistake_that_no_retry_repairs_comes_before_an_error_of_earlier_records() -> None:
    assert merged_result([[0, 2], [1]], [BUSY, WRONG]).error is WRONG
    later = RetriableError("later")
    assert merged_result([[1], [0]], [later, BUSY]).error is BUSY

"""The lanes of a batch: what goes where, and that they put at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import FatalError, GenerationFenced, PartialPut, RecordError, RetriableError
from engine.pipeline.key_lanes import KeyLanes, distribute, hashable
from engine.pipeline.put_results import LanesFailed
from engine.record.record import Record

TEXTS = st.text("abc", max_size=2)
KEYS = (
    st.none() | TEXTS | st.binary(max_size=1) | st.integers(0, 3) | st.dictionaries(TEXTS, st.lists(st.integers(0, 1)))
)


def records(*keys: Any) -> list[Record]:
    return [Record("t", 0, None, key, number) for number, key in enumerate(keys)]


@pytest.fixture
def lanes() -> Any:
    """Return a function that opens lanes; they are closed after the test."""
    opened: list[KeyLanes] = []

    def open_lanes(put: Callable[[Sequence[Record]], None], count: int) -> KeyLanes:
        opened.append(KeyLanes(put, count))
        return opened[-1]

    yield open_lanes
    for one in opened:
        one.close()


@given(st.lists(KEYS, max_size=60), st.integers(1, 9))
def test_each_record_is_in_one_lane_and_a_key_is_in_one_lane_in_order(keys: list[Any], count: int) -> None:
    found = distribute(keys, count)
    assert sorted(index for lane in found for index in lane) == list(range(len(keys)))
    assert len(found) <= count
    assert all(lane == sorted(lane) != [] for lane in found)
    for number, key in enumerate(keys):
        if key is not None:
            (home,) = [lane for lane in found if number in lane]
            assert all(other in home for other, one in enumerate(keys) if type(one) is type(key) and one == key)


@given(st.integers(0, 60), st.integers(1, 9), st.booleans())
def test_different_keys_and_records_without_a_key_fill_the_lanes_evenly(size: int, count: int, has_keys: bool) -> None:
    lengths = [len(lane) for lane in distribute([number if has_keys else None for number in range(size)], count)]
    assert sum(lengths) == size
    assert not lengths or max(lengths) - min(lengths) <= 1


def test_a_busy_key_keeps_other_keys_out_of_its_lane() -> None:
    assert distribute(["a", "a", "a", "b", "c", "b"], 2) == [[0, 1, 2], [3, 4, 5]]


def test_equal_keys_are_equal_however_their_members_are_ordered() -> None:
    assert hashable({"a": 1, "b": [{"c": 2}]}) == hashable({"b": [{"c": 2}], "a": 1})
    assert hashable([1, [2]]) != hashable([[1], 2])
    assert hashable(bytearray(b"x")) == hashable(bytearray(b"x"))


def test_all_lanes_put_at_the_same_time(lanes: Any) -> None:
    meeting = threading.Barrier(4, timeout=10)
    seen: list[int] = []

    def put(batch: Sequence[Record]) -> None:
        meeting.wait()
        seen.extend(record.value for record in batch)

    lanes(put, 4).put(records("a", "b", "c", "d"))
    assert sorted(seen) == [0, 1, 2, 3]


def test_a_batch_of_one_key_is_put_on_the_tasks_own_thread(lanes: Any) -> None:
    seen: list[tuple[int, int]] = []
    lanes(lambda batch: seen.append((threading.get_ident(), len(batch))), 4).put(records("a", "a"))
    assert seen == [(threading.get_ident(), 2)]


def test_a_lane_has_the_context_of_the_task(lanes: Any) -> None:
    named: ContextVar[str] = ContextVar("named", default="")
    named.set("task-0")
    seen: list[str] = []
    lanes(lambda _: seen.append(named.get()), 2).put(records("a", "b"))
    assert seen == ["task-0", "task-0"]


def test_a_failed_lane_lets_the_others_finish_and_the_result_is_in_record_order(lanes: Any) -> None:
    done = threading.Event()
    busy = RetriableError("busy")

    def put(batch: Sequence[Record]) -> None:
        if batch[0].key == "a":
            raise busy
        if batch[0].key == "b":
            done.set()
            raise PartialPut((0,), (RecordError(1, ValueError("no")),))
        assert done.wait(10)

    with pytest.raises(LanesFailed) as raised:
        lanes(put, 3).put(records("a", "b", "c", "c", "b", "b", "a"))
    result = raised.value.result
    assert (list(result.delivered), list(result.rejected), list(result.failed)) == ([1, 2, 3], [4], [0, 6])
    assert result.error is busy


@pytest.mark.parametrize("error", [FatalError("gone"), GenerationFenced("newer"), KeyboardInterrupt()])
def test_an_error_of_no_record_is_raised_as_it_is(lanes: Any, error: BaseException) -> None:
    def put(batch: Sequence[Record]) -> None:
        raise error if batch[0].key == "b" else RetriableError("busy")

    with pytest.raises(type(error)) as raised:
        lanes(put, 2).put(records("a", "b"))
    assert raised.value is error

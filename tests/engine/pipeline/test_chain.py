"""Steps of a chain: one may be several stages, and whoever runs them knows which of these failed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from engine.errors import ConversionError, FatalError, TaskError
from engine.pipeline.chain import HEADERS, KEY, VALUE, sink_steps, steps_from
from engine.pipeline.chunk_results import LONGEST_RUN, convert
from engine.pipeline.outcome import StageFailure
from engine.record.record import Headers, RawRecord, Record
from engine.record.schema import BYTES, STRING, Schema
from engine.steps.converters.bytes import ByteArrayConverter
from tests.engine.pipeline.rig import Rig


class Reads:
    """A converter that counts what it is asked, and answers by `read`."""

    def __init__(self, read: Callable[[bytes | None], Any] = lambda data: data and data.decode()) -> None:
        self.read, self.asked = read, 0

    def to_connect(self, topic: str, data: bytes | None, headers: Headers) -> tuple[Schema | None, Any]:
        self.asked += 1
        return STRING, self.read(data)


class ReadsBytes(Reads):
    """Leaves the bytes as they are, but is none of the engine's own."""

    def to_connect(self, topic: str, data: bytes | None, headers: Headers) -> tuple[Schema | None, Any]:
        self.asked += 1
        return BYTES, data


class Answers3:
    """Does not answer as a converter does."""

    def to_connect(self, topic: str, data: bytes | None, headers: Headers) -> Any:
        return STRING, data, "more"


def raising(error: Exception) -> Callable[[bytes | None], Any]:
    def read(_: bytes | None) -> Any:
        raise error

    return read


def raw(offset: int = 0) -> RawRecord:
    return RawRecord("t", 0, offset, 7, "CREATE_TIME", b"k", b"v", (("h", b"x"),))


def run(key: Reads, value: Reads) -> tuple[StageFailure | None, list[Any]]:
    out: list[Any] = []
    return Rig([]).task.guard.run(sink_steps(key, value, None, []), [raw()], out), out


def test_key_and_value_are_read_by_one_step_into_one_record() -> None:
    raised, out = run(Reads(), Reads())
    assert raised is None
    assert out == [Record("t", 0, 7, "k", "v", STRING, STRING, (("h", BYTES, b"x"),), 0, "CREATE_TIME", raw())]


def test_a_key_that_can_not_be_read_is_an_error_of_its_stage_and_was_given_the_record_as_it_came() -> None:
    error = ConversionError("odd")
    value = Reads()
    raised, out = run(Reads(raising(error)), value)
    assert (raised, out, value.asked) == (StageFailure(KEY, raw(), error), [], 0)


def test_a_value_that_can_not_be_read_is_an_error_of_its_stage_and_was_given_a_record_with_its_key() -> None:
    error = ConversionError("odd")
    raised, out = run(Reads(), Reads(raising(error)))
    given = Record("t", 0, 7, "k", b"v", STRING, BYTES, (("h", BYTES, b"x"),), 0, "CREATE_TIME", raw())
    assert (raised, out) == (StageFailure(VALUE, given, error), [])


def test_another_attempt_at_the_value_does_not_read_the_key_again() -> None:
    key, value = Reads(), Reads(raising(ConversionError("odd")))
    steps = sink_steps(key, value, None, [])
    guard = Rig([]).task.guard
    raised = guard.run(steps, [raw()], [])
    assert raised is not None
    value.read = lambda data: data
    out: list[Any] = []
    assert guard.run(steps, [raised.given], out) is None
    assert ([record.value for record in out], key.asked, value.asked) == ([b"v"], 1, 2)


def test_headers_are_read_by_the_same_step_and_another_attempt_at_them_reads_nothing_else_again() -> None:
    key, value, header = Reads(), Reads(), Reads(raising(ConversionError("odd")))
    steps = sink_steps(key, value, header, [])
    guard = Rig([]).task.guard
    raised = guard.run(steps, [raw()], [])
    assert raised is not None
    assert (raised.index, raised.given.value, raised.given.headers) == (HEADERS, "v", (("h", BYTES, b"x"),))
    header.read = Reads().read
    out: list[Any] = []
    assert guard.run(steps_from(steps, HEADERS), [raised.given], out) is None
    assert [record.headers for record in out] == [(("h", STRING, "x"),)]
    assert (key.asked, value.asked, header.asked) == (1, 1, 2)


def test_a_value_that_was_read_as_the_bytes_that_came_is_not_read_again_for_the_headers() -> None:
    value, header = ReadsBytes(), Reads(raising(ConversionError("odd")))
    steps = sink_steps(Reads(), value, header, [])
    guard = Rig([]).task.guard
    raised = guard.run(steps, [raw()], [])
    assert raised is not None
    header.read = Reads().read
    assert guard.run(steps_from(steps, HEADERS), [raised.given], []) is None
    assert value.asked == 1


def test_a_header_converter_that_answers_with_more_than_schema_and_value_is_an_error_of_its_stage() -> None:
    raised = Rig([]).task.guard.run(sink_steps(Reads(), Reads(), Answers3(), []), [raw()], [])
    assert raised is not None
    assert (raised.index, type(raised.error)) == (HEADERS, ValueError)


def test_another_attempt_at_the_value_reads_the_headers_after_it() -> None:
    value, header = Reads(raising(ConversionError("odd"))), Reads()
    steps = sink_steps(Reads(), value, header, [])
    guard = Rig([]).task.guard
    raised = guard.run(steps, [raw()], [])
    assert raised is not None
    assert (raised.index, header.asked) == (VALUE, 0)
    value.read = Reads().read
    out: list[Any] = []
    assert guard.run(steps_from(steps, VALUE), [raised.given], out) is None
    assert [(record.value, record.headers) for record in out] == [("v", (("h", STRING, "x"),))]


def test_where_nothing_is_converted_the_record_holds_its_bytes() -> None:
    out: list[Any] = []
    steps = sink_steps(ByteArrayConverter(), ByteArrayConverter(), None, [])
    assert Rig([]).task.guard.run(steps, [raw()], out) is None
    assert out == [Record("t", 0, 7, b"k", b"v", BYTES, BYTES, (("h", BYTES, b"x"),), 0, "CREATE_TIME", raw())]


@pytest.mark.parametrize("error", [FatalError("the client is gone"), TaskError("stop")])
def test_what_is_no_records_error_is_raised_as_it_is(error: Exception) -> None:
    for key, value in ((Reads(raising(error)), Reads()), (Reads(), Reads(raising(error)))):
        with pytest.raises(type(error)) as caught:
            run(key, value)
        assert caught.value is error
        assert (error.__cause__, error.__context__) == (None, None)


def test_the_time_is_looked_at_after_the_first_record_and_then_after_ever_longer_runs() -> None:
    looked: list[int] = []
    entries: list[Any] = []

    def is_late() -> bool:
        looked.append(len(entries))
        return len(entries) > 20

    guard = Rig([]).task.guard
    assert convert(guard, sink_steps(Reads(), Reads(), None, []), [raw()] * 100, entries, is_late) is None
    assert looked == [1, 3, 7, 15, 31]


def test_records_that_begin_to_be_slow_are_few_until_the_time_is_looked_at() -> None:
    looked: list[int] = []
    entries: list[Any] = []

    def is_late() -> bool:
        looked.append(len(entries))
        return False

    guard = Rig([]).task.guard
    assert convert(guard, sink_steps(Reads(), Reads(), None, []), [raw()] * 1000, entries, is_late) is None
    assert max(after - before for before, after in pairwise(looked)) == LONGEST_RUN

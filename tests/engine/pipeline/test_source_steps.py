from __future__ import annotations

from typing import Any

import pytest

from engine.errors import ConversionError
from engine.pipeline.outcome import StageException
from engine.pipeline.source_steps import source_steps
from engine.record.record import Headers, Record
from engine.record.schema import BYTES, STRING, Schema
from engine.steps.converters.bytes import ByteArrayConverter
from tests.engine.pipeline.rig import Apply


class Named:
    """Writes its name and what it was given."""

    def __init__(self, name: str, answer: Any = None) -> None:
        self.name = name
        self.answer = answer

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        if self.answer is not None:
            return self.answer  # type: ignore[no-any-return]  # any answer that a test gives
        return f"{self.name} {topic} {schema and schema.type} {value}".encode()


def run(record: Record, value: Named | None = None) -> Record:
    given: Any = record
    steps = source_steps([Apply(lambda number: number + 1)], Named("key"), value or Named("value"), Named("header"))
    assert [index for index, _ in steps] == [1, 4]
    for _, step in steps:
        given = step(given)
    found: Record = given
    return found


def test_transforms_come_before_converters_and_all_is_bytes_in_the_end() -> None:
    headers = (("a", STRING, "x"), ("a", None, 1))
    record = run(Record("t", 3, 7, "k", 1, STRING, Schema("INT64"), headers, source_offset={"p": 1}))
    assert (record.key, record.value) == (b"key t STRING k", b"value t INT64 2")
    assert (record.key_schema, record.value_schema) == (BYTES, BYTES)
    assert record.headers == (("a", BYTES, b"header t STRING x"), ("a", BYTES, b"header t None 1"))
    assert (record.topic, record.partition, record.timestamp, record.source_offset) == ("t", 3, 7, {"p": 1})


@pytest.mark.parametrize("answer", ["text", 1, bytearray(b"x")])
def test_a_converter_that_writes_no_bytes_is_an_error(answer: Any) -> None:
    with pytest.raises(StageException) as caught:
        run(Record("t", None, None, None, 1), Named("value", answer))
    raised = caught.value.raised
    assert isinstance(raised.error, ConversionError)
    assert str(raised.error) == f"the converter returned a {type(answer).__name__}, not bytes or None"


class Fails:
    """Fails once for each value, then writes it, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        self.asked.append((schema and schema.type, value))
        if self.asked.count(self.asked[-1]) == 1:
            raise ConversionError(str(value))
        return f"[{value}]".encode()


def test_each_of_the_three_fails_as_its_own_stage_and_goes_on_where_it_failed() -> None:
    key, value, header = Fails(), Fails(), Fails()
    ((last, write),) = source_steps([], key, value, header, 5)
    given, stages = Record("t", 3, 7, "k", 1, STRING, None, (("h", STRING, "x"),)), []
    while True:
        try:
            written = write(given)
        except StageException as error:
            stages.append((error.raised.index, error.raised.given))
            given = error.raised.given
        else:
            break
    assert [index for index, _ in stages] == [5, 6, 7]
    assert last == 7
    assert [(one.key, one.value) for _, one in stages] == [("k", 1), (b"[k]", 1), (b"[k]", b"[1]")]
    assert [(one.key_schema, one.value_schema) for _, one in stages] == [(STRING, None), (BYTES, None), (BYTES, BYTES)]
    assert (key.asked, value.asked) == ([("STRING", "k")] * 2, [(None, 1)] * 2)
    assert (written.key, written.value, written.headers) == (b"[k]", b"[1]", (("h", BYTES, b"[x]"),))


def test_a_record_that_is_bytes_already_is_not_built_anew() -> None:
    record = Record("t", 3, 7, b"k", b"v", BYTES, BYTES)
    same = ByteArrayConverter()
    ((_, write),) = source_steps([], same, same, same)
    assert write(record) is record

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import ConversionError
from engine.pipeline.source_steps import source_steps
from engine.record.record import Headers, Record
from engine.record.schema import BYTES, STRING, Schema
from tests.engine.pipeline.rig import Apply


class Named:
    """Writes its name and what it was given."""

    def __init__(self, name: str, answer: Any = None) -> None:
        self.name = name
        self.answer = answer

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        if self.answer is not None:
            return self.answer  # type: ignore[no-any-return]
        return f"{self.name} {topic} {schema and schema.type} {value}".encode()


def run(record: Record, value: Named | None = None) -> Record:
    given: Any = record
    steps = source_steps([Apply(lambda number: number + 1)], Named("key"), value or Named("value"), Named("header"))
    assert [index for index, _ in steps] == [1, 2, 3, 4]
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
    with pytest.raises(ConversionError, match=f"wrote a {type(answer).__name__}, not bytes"):
        run(Record("t", None, None, None, 1), Named("value", answer))

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.errors import RecordError, RetriableError
from engine.kafka.sinks.file import FileSink
from engine.record.record import Record


def written(path: Path, *values: Any) -> bytes:
    sink = FileSink()
    sink.start({"file": str(path)})
    try:
        sink.put([Record("t", 0, 0, None, value) for value in values])
        sink.flush()
    finally:
        sink.stop()
    return path.read_bytes()


def test_each_value_is_one_line(tmp_path: Path) -> None:
    values = ({"a": 1, "b": [b"\xff"]}, "text", b"\x00", None, 1.5, True)
    assert written(tmp_path / "out", *values) == b'{"a":1,"b":["/w=="]}\ntext\n\x00\nnull\n1.5\ntrue\n'


def test_it_appends(tmp_path: Path) -> None:
    written(tmp_path / "out", 1)
    assert written(tmp_path / "out", 2) == b"1\n2\n"


def test_a_value_without_text_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(ExceptionGroup) as raised:
        written(tmp_path / "out", 1, {"a": object()}, "\ud800", 2)
    errors = [error for error in raised.value.exceptions if isinstance(error, RecordError)]
    assert [error.index for error in errors] == [1, 2]
    assert (tmp_path / "out").read_bytes() == b""


def test_dev_null_can_be_flushed() -> None:
    sink = FileSink()
    sink.start({"file": "/dev/null"})
    sink.put([Record("t", 0, 0, None, 1)])
    sink.flush()
    sink.stop()


def test_a_directory_that_is_missing_is_the_worlds_fault(tmp_path: Path) -> None:
    with pytest.raises(RetriableError, match="absent"):
        FileSink().start({"file": str(tmp_path / "absent" / "out")})

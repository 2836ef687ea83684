from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Any

import pytest

from engine.connectors.file.sink import FileSink
from engine.errors import RecordError, RetriableError
from engine.record.record import Record
from engine.standalone.directory import STDOUT


def written(path: Path, *values: Any) -> bytes:
    sink = FileSink("/")
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
    sink = FileSink("/")
    sink.start({"file": "/dev/null"})
    sink.put([Record("t", 0, 0, None, 1)])
    sink.flush()
    sink.stop()


def test_a_directory_that_is_missing_is_the_worlds_fault(tmp_path: Path) -> None:
    with pytest.raises(RetriableError, match="absent"):
        FileSink("/").start({"file": str(tmp_path / "absent" / "out")})


def test_what_json_can_hold_has_text(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    lines = written(tmp_path / "out", {"a": 2**64, "b": 1.5}, {"a": "\ud800"}, deep).split(b"\n")
    assert lines[:2] == [b'{"a":18446744073709551616,"b":1.5}', b'{"a":"\\uD800"}']
    assert lines[2] == b"[" * 501 + b"]" * 501


@pytest.mark.parametrize("room", [0, 5])
def test_a_put_that_failed_leaves_nothing_beside_its_repetition(tmp_path: Path, room: int) -> None:
    sink, records = FileSink("/"), [Record("t", 0, 0, None, "a line"), Record("t", 0, 1, None, "another")]
    sink.start({"file": str(tmp_path / "out")})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        with pytest.raises(RetriableError):
            sink.put(records)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    sink.put(records)
    sink.stop()
    assert (tmp_path / "out").read_bytes() == b"a line\nanother\n"


def test_without_a_file_lines_go_to_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    sink = FileSink("/")
    sink.start({})
    sink.put([Record("t", 0, 0, None, "a line")])
    sink.flush()
    sink.stop()
    assert capfdbinary.readouterr().out == b"a line\n"


def test_a_standard_output_that_nobody_reads_any_more_is_no_endless_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / STDOUT)
    sink = FileSink(console=str(tmp_path))
    with pytest.raises(RetriableError, match="can't open standard output"):
        sink.start({})
    reader = os.open(tmp_path / STDOUT, os.O_RDONLY | os.O_NONBLOCK)
    try:
        sink.start({})
        assert os.get_blocking(sink._file.fileno())
        sink.put([Record("t", 0, 0, None, "a line")])
        sink.stop()
        assert os.read(reader, 100) == b"a line\n"
    finally:
        os.close(reader)


def test_a_pipe_that_takes_nothing_now_is_no_busy_loop(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    sink = FileSink("/")
    sink.start({"file": str(tmp_path / "pipe")})
    os.set_blocking(sink._file.fileno(), False)
    try:
        with pytest.raises(RetriableError, match="accepts no data at the moment"):
            sink.put([Record("t", 0, 0, None, "x" * 2**20)])
    finally:
        sink.stop()
        os.close(reader)

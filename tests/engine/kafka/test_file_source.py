from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from engine.connectors.file.source import LINE_BYTES, READ_BYTES, FileSource
from engine.errors import ConfigError, DataError, RetriableError
from engine.record.schema import Schema

Start = Callable[..., FileSource]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a source, and stops it in the end."""
    started: list[FileSource] = []

    def start_one(path: Path, offset: Mapping[str, Any] | None = None, **more: str) -> FileSource:
        source = FileSource("/", now_ms=lambda: 7)
        started.append(source)
        source.start({"file": str(path), "topic": "lines", "name": "c", **more}, lambda _: offset)
        return source

    yield start_one
    for source in started:
        source.stop()


def lines(source: FileSource) -> list[str]:
    return [record.value for record in source.poll()]


def test_each_line_is_a_record_with_the_position_behind_it(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes("eins\nzwölf\n\n".encode())
    records = start(path).poll()
    assert [(one.value, one.source_offset) for one in records] == [
        ("eins", {"position": 5}),
        ("zwölf", {"position": 12}),
        ("", {"position": 13}),
    ]
    first = records[0]
    assert (first.topic, first.partition, first.timestamp, first.key) == ("lines", None, 7, None)
    assert (first.key_schema, first.value_schema) == (None, Schema("STRING"))
    assert first.source_partition == {"filename": str(path)}


def test_it_goes_on_where_it_was_committed(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"one\ntwo\nthree\n")
    assert lines(start(path, {"position": 4})) == ["two", "three"]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([b"a\nb\n"], ["a", "b"]),
        ([b"a\r\nb\r\n"], ["a", "b"]),
        ([b"a\rb\rc\n"], ["a", "b", "c"]),
        ([b"a\r", b"\nb\n"], ["a", "b"]),
        ([b"a\r", b"b\n"], ["a", "b"]),
        ([b"a", b"b", b"c\n"], ["abc"]),
        ([b"a\n\n\nb\n"], ["a", "", "", "b"]),
        ([b"\xff\xfe\n"], ["\ufffd\ufffd"]),
        ([b"x" * (2 * READ_BYTES), b"\ny\n"], ["x" * (2 * READ_BYTES), "y"]),
    ],
)
def test_a_growing_file_gives_its_lines_however_it_was_written(
    start: Start, tmp_path: Path, parts: list[bytes], expected: list[str]
) -> None:
    path = tmp_path / "in"
    path.touch()
    source, found = start(path), []
    with path.open("ab", buffering=0) as file:
        for part in parts:
            file.write(part)
            found += lines(source)
    assert found == expected


def test_a_line_without_an_end_waits_for_it(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"whole\nhal")
    source = start(path)
    assert lines(source) == ["whole"]
    assert lines(source) == []
    with path.open("ab") as file:
        file.write(b"f\n")
    assert [(one.value, one.source_offset) for one in source.poll()] == [("half", {"position": 11})]


def test_a_file_that_is_missing_is_waited_for(start: Start, tmp_path: Path) -> None:
    source = start(tmp_path / "in")
    assert lines(source) == []
    (tmp_path / "in").write_bytes(b"here\n")
    assert lines(source) == ["here"]


def test_a_poll_never_gives_more_than_a_batch(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"".join(b"%d\n" % number for number in range(25)))
    source = start(path, **{"batch.size": "10"})
    assert [len(lines(source)) for _ in range(4)] == [10, 10, 5, 0]


def test_a_file_that_became_shorter_is_read_from_its_beginning(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"first\nsecond\n")
    source = start(path)
    assert lines(source) == ["first", "second"]
    path.write_bytes(b"new\n")
    assert [(one.value, one.source_offset) for one in source.poll()] == [("new", {"position": 4})]
    assert lines(start(path, {"position": 13})) == ["new"]


def test_what_is_no_file_stops_the_task(start: Start, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        start(tmp_path).poll()


def test_a_file_that_may_not_be_read_now_is_tried_again(start: Start, tmp_path: Path) -> None:
    source = start(tmp_path / ("n" * 300))
    with pytest.raises(RetriableError):
        source.poll()


@pytest.mark.parametrize("offset", [{}, {"position": "4"}, {"position": -1}, {"position": True}])
def test_an_offset_without_a_position_is_refused(start: Start, tmp_path: Path, offset: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        start(tmp_path / "in", offset)


def test_a_poll_ends_when_it_has_read_much_however_many_lines_are_left(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes((b"x" * READ_BYTES + b"\n") * 20)
    source = start(path, **{"batch.size": "1000"})
    counts = [len(source.poll()) for _ in range(4)]
    assert counts == [8, 8, 4, 0]


def test_what_has_no_end_of_a_line_is_refused_before_it_fills_the_memory(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"good\n")
    with path.open("r+b") as file:
        file.truncate(LINE_BYTES * 3)
    source = start(path)
    assert lines(source) == ["good"]
    for _ in range(2):
        with pytest.raises(DataError, match=r"the line at byte 5 of .* is longer than 32 MiB"):
            source.poll()


def test_standard_input_is_read_from_a_copy_and_its_positions_count_in_the_same_run_only(tmp_path: Path) -> None:
    (tmp_path / "stdin").write_bytes(b"one\ntwo\n")

    def read(stored: Mapping[str, Any] | None) -> list[tuple[Any, Any]]:
        source = FileSource(None, str(tmp_path))
        source.start({"topic": "lines", "name": "c"}, lambda _: stored)
        try:
            return [(record.value, record.source_offset) for record in source.poll()]
        finally:
            source.stop()

    run = str(tmp_path)
    both = [("one", {"position": 4, "run": run}), ("two", {"position": 8, "run": run})]
    assert read(None) == both
    assert read({"position": 4, "run": run}) == both[1:]
    assert read({"position": 4, "run": "/tmp/of-another-run"}) == both
    assert read({"position": None}) == both  # as Kafka Connect writes it


def test_without_a_copy_of_standard_input_a_file_is_required(tmp_path: Path) -> None:
    for console in (None, str(tmp_path)):
        with pytest.raises(ConfigError, match="standard input is only read for connectors on the command line"):
            FileSource(str(tmp_path), console).start({"topic": "lines", "name": "c"}, lambda _: None)

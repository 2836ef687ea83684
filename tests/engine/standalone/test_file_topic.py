"""A topic as a file: what readers see, what survives compaction, and which files are refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from engine.errors import ConfigError, FatalError
from engine.record.record import TopicPartition
from engine.standalone import file_topic
from engine.standalone.directory import run_directory
from engine.standalone.file_topic import FileTopicReader, FileTopicTransactions, FileTopicWriter

AT = TopicPartition("offsets", 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "offsets"
    file_topic.create(file)
    return file


@pytest.fixture
def source(path: Path) -> Iterator[FileTopicReader]:
    with reading(path) as reader:
        yield reader


@contextmanager
def reading(path: Path, position: int = 0) -> Iterator[FileTopicReader]:
    reader = FileTopicReader(path)
    reader.assign({AT: position})
    try:
        yield reader
    finally:
        reader.close()


def read(source: FileTopicReader) -> list[tuple[bytes | None, bytes | None]]:
    rows: list[tuple[bytes | None, bytes | None]] = []
    while records := source.poll(2, 0):
        rows += [(record.key, record.value) for record in records]
    return rows


def read_all(path: Path, position: int = 0) -> list[tuple[bytes | None, bytes | None]]:
    with reading(path, position) as source:
        return read(source)


def write(path: Path, *rows: tuple[bytes, bytes | None], compact_bytes: int = 1 << 20) -> None:
    writer = FileTopicWriter(path, compact_bytes=compact_bytes)
    for key, value in rows:
        writer.produce("", key, value)
    writer.flush()


def test_a_reader_gets_keys_values_and_deletions_in_order_and_ends_at_the_end(path: Path) -> None:
    write(path, (b"a", b"1"), (b"b", "ä\n\u2028".encode()), (b"a", None))
    with reading(path) as source:
        assert read(source) == [(b"a", b"1"), (b"b", "ä\n\u2028".encode()), (b"a", None)]
        assert source.positions() == source.end_offsets([AT])


def test_a_reader_goes_on_at_its_position(path: Path) -> None:
    write(path, (b"a", b"1"))
    with reading(path) as first:
        read(first)
        position = first.positions()[AT]
    write(path, (b"a", b"2"))
    assert read_all(path, position) == [(b"a", b"2")]


def test_compaction_keeps_the_last_record_of_each_key_and_offsets_never_fall(
    path: Path, source: FileTopicReader
) -> None:
    ends = []
    for number in range(200):
        write(path, (b"%d" % (number % 3), b"%d" % number), (b"gone", b"x"), (b"gone", None), compact_bytes=500)
        ends.append(source.end_offsets([AT])[AT])
    assert ends == sorted(ends)
    assert path.stat().st_size < 1500
    assert dict(read(source)) == {b"0": b"198", b"1": b"199", b"2": b"197", b"gone": None}
    assert source.positions()[AT] == ends[-1]


@pytest.mark.parametrize("pauses", [1, 2, 7, 50])
def test_a_reader_that_is_overtaken_by_compactions_misses_no_last_record(
    path: Path, source: FileTopicReader, pauses: int
) -> None:
    seen = dict[bytes | None, bytes | None]()
    for number in range(150):
        write(path, (b"%d" % (number % 7), b"%d" % number), compact_bytes=300)
        if number % pauses == 0:
            seen.update(read(source))
            assert seen[b"%d" % (number % 7)] == b"%d" % number
    seen.update(read(source))
    assert seen == {b"%d" % (number % 7): b"%d" % number for number in range(143, 150)}


def test_writers_at_once_lose_nothing_while_the_file_is_compacted(path: Path, source: FileTopicReader) -> None:
    def work(name: bytes) -> None:
        for number in range(100):
            write(path, (name, b"%d" % number), (b"%b-%d" % (name, number), b"kept"), compact_bytes=2000)

    threads = [threading.Thread(target=work, args=(name,)) for name in (b"x", b"y", b"z")]
    for thread in threads:
        thread.start()
    seen = dict[bytes | None, bytes | None]()
    while any(thread.is_alive() for thread in threads):
        seen.update(read(source))
    seen.update(read(source))
    assert len(seen) == 303
    assert {seen[name] for name in (b"x", b"y", b"z")} == {b"99"}


def test_a_line_that_was_cut_off_is_left_out_and_damages_no_later_one(path: Path) -> None:
    write(path, (b"a", b"1"))
    with path.open("ab") as file:
        file.write(b'{"key":"a","val')
    write(path, (b"a", b"2"))
    assert read_all(path) == [(b"a", b"1"), (b"a", b"2")]


@pytest.mark.parametrize("cut", [b'{"key":"a","val', b"x" * 200_000])
def test_the_end_is_before_a_line_that_was_cut_off(path: Path, source: FileTopicReader, cut: bytes) -> None:
    """A reader waits for the end, and nobody may ever write again."""
    write(path, (b"a", b"1"))
    with path.open("ab") as file:
        file.write(cut)
    assert read(source) == [(b"a", b"1")]
    assert source.end_offsets([AT]) == source.positions()


def test_a_file_is_compacted_at_any_offset(path: Path) -> None:
    """The header's length must not follow the digits of a shift that follows from the length."""
    for shift in range(900, 1010):
        path.write_bytes(msgspec.json.encode(file_topic.FileHeader(shift=shift)) + b"\n")
        write(path, (b"a", b"1"), compact_bytes=0)
        with reading(path) as reader:
            assert read(reader) == [(b"a", b"1")]
            assert reader.positions() == reader.end_offsets([AT])


def test_a_transaction_is_written_by_its_commit_or_not_at_all(path: Path) -> None:
    writer = FileTopicTransactions(path)
    for ends in (writer.abort, writer.commit):
        writer.begin()
        writer.produce("", b"key", ends.__name__.encode())
        writer.flush()
        ends()
    assert read_all(path) == [(b"key", b"commit")]


def test_a_file_that_lost_its_header_is_fatal(path: Path) -> None:
    path.write_bytes(b"x\n")
    with pytest.raises(FatalError, match="first line is not a header"):
        read_all(path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap", "holds offsets of Kafka Connect, as serialized Java objects"),
        (b"name,age\n", "is not an offsets file of this engine"),
    ],
)
def test_a_file_of_another_program_is_refused_and_stays_as_it_is(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "connect.offsets"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=sentence), run_directory(file):
        pass
    assert file.read_bytes() == content


def test_two_workers_can_not_have_the_same_offsets_file(tmp_path: Path) -> None:
    file = tmp_path / "offsets"
    with (
        run_directory(file),
        pytest.raises(ConfigError, match="in use by another standalone worker"),
        run_directory(file),
    ):
        pass


def test_the_directory_of_a_run_is_private_and_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "offsets.run" / "x" / "config"
    left.parent.mkdir(parents=True)
    left.write_text("password=secret")
    with run_directory(tmp_path / "offsets") as directory:
        assert directory.parent.stat().st_mode & 0o777 == 0o700
        assert not left.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["offsets", "offsets.lock"]
    (tmp_path / "offsets.run").symlink_to(tmp_path)
    with pytest.raises(ConfigError, match="can't be used"), run_directory(tmp_path / "offsets"):
        pass


def test_a_link_as_an_offsets_file_is_refused(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("")
    link.symlink_to(target)
    with pytest.raises(ConfigError, match="can't be used"), run_directory(link):
        pass


def test_a_disk_without_room_for_a_compacted_file_does_not_stop_the_writer(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.with_name("offsets.new").mkdir()  # the compacted file can't be written there
    for number in range(20):
        write(path, (b"a", b"%d" % number), compact_bytes=100)
    assert read_all(path)[-1] == (b"a", b"19")
    assert "can't be compacted" in caplog.text

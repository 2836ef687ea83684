"""A compacted topic with one partition as a file: the Consumer and Producer ports over JSON lines.

Processes of one machine share it. A line is one record, `{"key", "value", "time"}`, as text. The first line is a
header. A writer holds a lock on the file while it appends, so that readers see whole batches in one order.

A file that has grown is compacted as a topic is: the last record of each key is kept, in a new file that replaces the
old one. An offset is a position in bytes plus the header's `shift`, so offsets grow over compactions.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec
import orjson

from engine.errors import FatalError, RetriableError
from engine.ports import Committed, Consumer, Producer, Row
from engine.record.record import RawRecord, TopicPartition

FORMAT = "dlqadmin-standalone-1"
COMPACT_BYTES = 4 << 20
DELETE_RETENTION_MS = 3_600_000  # a reader that slept must still learn that a key was deleted
LOOK_S = 0.02
HEADER_BYTES = 160  # more than its longest numbers need; fixed, because the shift depends on the length
BLOCK_BYTES = 1 << 16
JAVA_SERIALIZED = b"\xac\xed"
log = logging.getLogger(__name__)
Line = tuple[bytes | None, bytes | None, int]


class FileHeader(msgspec.Struct, frozen=True):
    """The first line. `shift` is the offset of the file's first byte; offsets below `begin` were compacted."""

    format: str = FORMAT
    shift: int = 0
    begin: int = 0
    compacted_bytes: int = 0


class StoredLine(msgspec.Struct, frozen=True):
    """A record as a line holds it. `time` is in ms; a value of None deletes the key."""

    key: str | None
    value: str | None
    time: int


def create(path: Path) -> None:
    """Create the file with its header, readable by its owner only. Keep an existing one.

    Raises ValueError with a clause if the file has another format: it is never overwritten.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(descriptor, "r+b", buffering=0) as file:
        begin = file.read(1 << 16)
        if not begin:
            file.write(_encode(FileHeader()))
        elif begin.startswith(JAVA_SERIALIZED):
            raise ValueError("holds offsets of Kafka Connect, as serialized Java objects; choose another file")
        elif _header(begin.partition(b"\n")[0]) is None:
            raise ValueError("is not an offsets file of this engine; choose another file")


class FileTopicWriter(Producer):
    """A writer. A flush appends all queued records at once; `is_durable` makes it wait for the disk."""

    def __init__(self, path: Path, *, is_durable: bool = False, compact_bytes: int = COMPACT_BYTES) -> None:
        self._path = path
        self._is_durable = is_durable
        self._compact_bytes = compact_bytes
        self._queued: list[Row] = []

    def produce_all(self, rows: Sequence[Row]) -> None:
        self._queued += rows

    def flush(self) -> None:
        """Append the queued records. Raises RetriableError, and then none of them counts."""
        rows, self._queued = self._queued, []
        if not rows:
            return
        now = time.time_ns() // 1_000_000
        data = b"".join(_line(key, value, now if stamp is None else stamp) for _, key, value, _, stamp, _ in rows)
        try:
            with _locked(self._path) as (file, header):
                self._append(file, data)
                size = os.fstat(file.fileno()).st_size
                if size > max(self._compact_bytes, 2 * header.compacted_bytes):
                    self._compact(file, header)
        except OSError as error:
            raise RetriableError(f"can't write to {self._path}: {error.strerror}") from error

    def close(self) -> None:
        self._queued = []

    def _compact(self, file: BinaryIO, header: FileHeader) -> None:
        try:
            _compact(self._path, file, header)
        except OSError as error:  # the records are written, and the next flush tries again
            log.warning("The file %s grows, because it can't be compacted: %s", self._path, error.strerror)

    def _append(self, file: BinaryIO, data: bytes) -> None:
        end = file.seek(-1, os.SEEK_END) + 1
        cut = file.read(1) != b"\n"  # the machine failed while a line was written
        try:
            left = memoryview(b"\n" + data if cut else data)
            while left:
                left = left[file.write(left) :]
            if self._is_durable:
                os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                file.truncate(end)  # a part of a line would damage the next one
            raise


class FileTopicTransactions(FileTopicWriter):
    """A TransactionalProducer of the only driver: a commit appends all records of its transaction at once."""

    def init(self) -> None:
        """Do nothing: nobody else writes."""

    def begin(self) -> None:
        self._queued = []

    def flush(self) -> None:
        """Do nothing: the records are written by the commit."""

    def commit(self) -> None:
        super().flush()

    def abort(self) -> None:
        self._queued = []

    def send_offsets(self, offsets: Mapping[TopicPartition, Committed], group: str) -> None:
        raise FatalError(f"{len(offsets)} offsets of group {group} can't be kept in {self._path}")


class FileTopicReader(Consumer):
    """A reader of partition 0. It also reads the metadata that an OffsetsTopic asks for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._at: TopicPartition | None = None
        self._position = 0
        self._left = b""

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        self.close()
        [(self._at, self._position)] = positions.items()

    def poll(self, max_records: int, timeout_s: float) -> list[RawRecord]:
        """Return the next records; wait for the first one."""
        deadline = time.monotonic() + timeout_s
        try:
            while not (records := self._read(max_records)) and time.monotonic() < deadline:
                time.sleep(LOOK_S)
        except OSError as error:
            raise RetriableError(f"can't read {self._path}: {error.strerror}") from error
        return records

    def positions(self) -> dict[TopicPartition, int]:
        return {} if self._at is None else {self._at: self._position}

    def ends(self) -> Mapping[TopicPartition, int]:
        return {} if self._at is None else self.end_offsets([self._at])

    def begin_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        try:
            with _locked(self._path) as (file, header):
                end = header.shift + _end_of_lines(file)
        except OSError as error:
            raise RetriableError(f"can't read {self._path}: {error.strerror}") from error
        return dict.fromkeys(partitions, end)

    written_offsets = end_offsets

    def partitions(self, _topic: str) -> int:
        return 1

    def committed(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Committed | None]:
        raise NotImplementedError

    def commit(self, offsets: Mapping[TopicPartition, Committed]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._left = None, b""

    def _read(self, max_records: int) -> list[RawRecord]:
        if self._file is None:
            self._open()
        assert self._file is not None
        assert self._at is not None
        self._left += _read_shared(self._file)
        if b"\n" not in self._left:
            if _is_current(self._path, self._file):
                return []
            self.close()
            self._open()  # the file was compacted
            self._left += _read_shared(self._file)
        *lines, self._left = self._left.split(b"\n", max_records)
        records: list[RawRecord] = []
        for line in lines:
            offset, self._position = self._position, self._position + len(line) + 1
            record = _decode(line)
            if record is not None:
                key, value, stamp = record
                records.append(RawRecord(*self._at, offset, stamp, "CREATE_TIME", key, value))
        return records

    def _open(self) -> None:
        """Open the current file at the position, or at its beginning if records of that position are gone."""
        file = open(self._path, "rb", buffering=0)  # noqa: SIM115, closed in close
        header = _header(file.readline())
        if header is None:
            file.close()
            raise FatalError(f"{self._path} is damaged: its first line is not a header")
        self._file = file
        first = header.shift + file.tell()
        self._position = self._position if self._position >= max(first, header.begin) else first
        file.seek(self._position - header.shift)


@contextmanager
def _locked(path: Path) -> Iterator[tuple[BinaryIO, FileHeader]]:
    """Open the current file under its lock. Raises OSError, and FatalError for a file without a header."""
    while True:
        with open(path, "r+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Another process may have compacted the file between the open and the lock.
            if not _is_current(path, file):
                continue
            header = _header(file.readline())
            if header is None:
                raise FatalError(f"{path} is damaged: its first line is not a header")
            yield file, header
            return


def _read_shared(file: BinaryIO) -> bytes:
    """Return the unread bytes, without a part of a batch that is being written."""
    fcntl.flock(file, fcntl.LOCK_SH)
    try:
        return file.read()
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _end_of_lines(file: BinaryIO) -> int:
    """Return the position after the last whole line. A writer that was killed may have left a part of another."""
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - BLOCK_BYTES)
        file.seek(start)
        if (found := file.read(end - start).rfind(b"\n")) >= 0:
            return start + found + 1
        end = start
    return 0


def _is_current(path: Path, file: BinaryIO) -> bool:
    return os.path.samestat(os.fstat(file.fileno()), path.stat())


def _compact(path: Path, file: BinaryIO, header: FileHeader) -> None:
    """Replace the file by one with the last record of each key, without old records that delete one."""
    kept_since = time.time_ns() // 1_000_000 - DELETE_RETENTION_MS
    file.seek(0)
    _, *lines = file.read().splitlines()
    latest: dict[bytes | None, bytes] = {}
    for line in lines:
        record = _decode(line)
        if record is None:
            continue
        latest.pop(record[0], None)  # a kept record stands where it was written last
        if record[1] is not None or record[2] > kept_since:
            latest[record[0]] = line + b"\n"
    end = header.shift + os.fstat(file.fileno()).st_size
    body = b"".join(latest.values())
    size = HEADER_BYTES + len(body)
    fresh = FileHeader(shift=end - size, begin=end, compacted_bytes=size)
    new = path.with_name(f"{path.name}.new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "wb") as made:
        made.write(_encode(fresh) + body)
        made.flush()
        os.fsync(made.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _header(line: bytes) -> FileHeader | None:
    try:
        header = msgspec.json.decode(line, type=FileHeader)
    except msgspec.DecodeError:
        return None
    return header if header.format == FORMAT else None


def _encode(header: FileHeader) -> bytes:
    return orjson.dumps(msgspec.to_builtins(header)).ljust(HEADER_BYTES - 1) + b"\n"


def _line(key: bytes | None, value: bytes | None, stamp: int) -> bytes:
    def text(data: bytes | None) -> str | None:
        return None if data is None else data.decode()

    return orjson.dumps({"key": text(key), "value": text(value), "time": stamp}) + b"\n"


def _decode(line: bytes) -> Line | None:
    """Return the record of a line. None for a damaged line, such as one that a full disk cut off."""
    try:
        record = msgspec.json.decode(line, type=StoredLine)
    except msgspec.DecodeError:
        return None
    return _bytes(record.key), _bytes(record.value), record.time


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()

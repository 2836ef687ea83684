"""FileStreamSource: reads each line of a growing file as a record, as Kafka Connect's example source does."""

from __future__ import annotations

import logging
import os
import re
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from engine.config.errors_policy import topic_name
from engine.config.options import HIGH, LOW, REQUIRED, Option, at_least, parse, valid
from engine.config.rooted_files import open_below, path_problem
from engine.errors import ConfigError, DataError, RetriableError
from engine.ports import SourcePosition
from engine.record.record import Record
from engine.record.schema import Schema
from engine.standalone.directory import STDIN


@valid("a topic name")
def _topic(value: str) -> str | None:
    return topic_name(value) if value else "must not be empty"


OPTIONS = (
    Option(
        "file",
        "string",
        None,
        "The file to read, below the worker's `file.connectors.root`. Lines that are appended later are read too. "
        "Default: standard input, for a connector that `python -m engine standalone` starts with.",
        form=HIGH,
    ),
    Option("topic", "string", REQUIRED, "The topic to write to.", _topic, form=HIGH),
    Option("batch.size", "int", 2000, "The maximum number of lines per poll.", at_least(1), form=LOW),
)
IDLE_MS = 1000
READ_BYTES = 1 << 20
POLL_BYTES = 8 << 20  # after this many bytes, a poll returns the lines that it has
LINE_BYTES = 32 << 20  # no topic takes longer lines, and they would fill the memory
LINE = Schema("STRING")
_END_OF_LINE = re.compile(rb"\r\n|\n|\r(?!\Z)")  # a \r at the end may be half of \r\n
log = logging.getLogger(__name__)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class FileSource:
    """Reads lines of text. A line ends with LF, CR or both; an unfinished line waits for its end.

    Positions are in bytes. A missing file is waited for. A file that became shorter than its position is read from its
    beginning. Without a file it reads a copy of standard input, whose positions count in the same run only.
    """

    idle_ms = IDLE_MS

    def __init__(
        self, root: str | None = None, console: str | None = None, now_ms: Callable[[], int] = _now_ms
    ) -> None:
        """Allow only files below `root`; None allows no file. `console` is the directory of a standalone run."""
        self._root = root
        self._console = console
        self._now_ms = now_ms
        self._file: BinaryIO | None = None
        self._run: dict[str, str | None] = {}  # part of each offset of standard input

    @staticmethod
    def exactly_once_support(config: Mapping[str, str]) -> bool:  # noqa: ARG004, the options make no difference
        """Return True: each line has its own offset, and one task reads the file."""
        return True

    @staticmethod
    def can_define_transaction_boundaries(config: Mapping[str, str]) -> bool:  # noqa: ARG004, as above
        """Return False: a file has no transactions."""
        return False

    @staticmethod
    def targets(values: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return the option that names a topic, with the topic."""
        return [("topic", values["topic"] or "")]

    @staticmethod
    def position_problem(partition: Mapping[str, Any], offset: Mapping[str, Any] | None) -> str | None:
        """Return the problem of a position that an operator sets; None if it is valid or deleted."""
        if not isinstance(partition.get("filename"), str):
            return "Partition objects should contain the key 'filename' with the path of a file"
        position = None if offset is None else offset.get("position")
        if offset is not None and (type(position) is not int or position < 0):
            return "The value for the 'position' key in the offset must be a number of bytes, 0 or more"
        return None

    def start(self, config: Mapping[str, str], position: Callable[[SourcePosition], SourcePosition | None]) -> None:
        values = parse(OPTIONS, {option.name: config[option.name] for option in OPTIONS if option.name in config})
        self._topic: str = values["topic"]
        self._batch: int = values["batch.size"]
        self._partition = {"filename": values["file"]}
        stored = position(self._partition)
        if values["file"]:
            self._path: str = values["file"]
        else:
            self._path = self._standard_input()
            self._run = {"run": self._root}
            stored = stored if stored is not None and stored.get("run") == self._root else None
        self._position = _start(stored)
        self._buffer = bytearray()  # bytes after the position that are read already
        self._searched = 0  # so many bytes of the buffer are known to hold no line end

    def poll(self) -> Sequence[Record]:
        try:
            if self._file is None and not self._open():
                return ()
            return self._records()
        except OSError as error:
            raise RetriableError(f"can't read the file {self._path}: {error.strerror}") from error

    def commit_record(self, record: Record) -> None:
        """Do nothing: the engine commits the offsets."""

    def commit(self) -> None:
        """Do nothing: the engine commits the offsets."""

    def stop(self) -> None:
        if self._file is not None:
            self._file.close()

    def _standard_input(self) -> str:
        """Return the copy of standard input, and allow its directory."""
        path = Path(self._console or "", STDIN)
        if self._console is None or not path.exists():
            text = "is not set, and standard input is only read for connectors on the command line; set file"
            raise ConfigError((("file", None, text),))
        self._root = self._console
        return str(path)

    def _open(self) -> bool:
        """Open the file at the position; return False while it does not exist."""
        problem = path_problem(self._path, self._root)
        if problem is not None or self._root is None:
            raise ConfigError((("file", self._path, problem or ""),))
        try:
            # A blocking open of a named pipe would wait for its writer; the check below refuses pipes.
            descriptor = open_below(self._path, self._root, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ConfigError((("file", self._path, "is not a regular file"),))
        self._file = open(descriptor, "rb", buffering=0)  # noqa: SIM115, closed in stop
        self._begin_anew_if_shorter(self._file)
        self._file.seek(self._position)
        return True

    def _records(self) -> list[Record]:
        records: list[Record] = []
        begin = self._position
        while len(records) < self._batch:
            records += self._lines(self._batch - len(records))
            if len(records) == self._batch or (records and self._position - begin >= POLL_BYTES):
                break
            if len(self._buffer) > LINE_BYTES:
                if records:
                    break
                raise DataError(
                    f"the line at byte {self._position} of {self._path} is longer than {LINE_BYTES >> 20} MiB"
                )
            if not self._fill():
                break
        return records

    def _fill(self) -> bool:
        """Read more; return False at the end of the file."""
        assert self._file is not None
        data = self._file.read(READ_BYTES)
        if data:
            self._buffer += data
            return True
        return self._begin_anew_if_shorter(self._file)

    def _begin_anew_if_shorter(self, file: BinaryIO) -> bool:
        size = os.fstat(file.fileno()).st_size
        if size >= self._position + len(self._buffer):
            return False
        log.warning("The file %s was truncated to %d bytes, so it is read again from its start", self._path, size)
        self._position = self._searched = 0
        self._buffer.clear()
        file.seek(0)
        return size > 0

    def _lines(self, limit: int) -> list[Record]:
        """Return whole lines of the buffer as records, at most `limit`."""
        ends = [found.span() for found in islice(_END_OF_LINE.finditer(self._buffer, self._searched), limit)]
        now, begin, records = self._now_ms(), 0, []
        for end, after in ends:
            # Invalid bytes are replaced, as in Kafka Connect: one bad byte must not stop the file.
            line = self._buffer[begin:end].decode("utf-8", "replace")
            offset = {"position": self._position + after, **self._run}
            records.append(
                Record(
                    self._topic, None, now, None, line, value_schema=LINE,
                    source_partition=self._partition, source_offset=offset,
                )
            )  # fmt: skip
            begin = after
        del self._buffer[:begin]
        self._position += begin
        self._searched = 0 if len(ends) == limit else max(len(self._buffer) - 1, 0)
        return records


def _start(offset: SourcePosition | None) -> int:
    """Return the position to begin at. Raises DataError for an offset in another format."""
    if offset is None:
        return 0
    position = offset.get("position")
    if not isinstance(position, int) or isinstance(position, bool) or position < 0:
        raise DataError(
            f"the committed offset {dict(offset)} has no valid `position`; reset or alter the connector's offsets"
        )
    return position

"""FileStreamSink: writes each value as one line, as Kafka Connect's example sink does."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from engine.config.options import HIGH, Option
from engine.config.rooted_files import open_below, path_problem
from engine.connectors.json_values import UNWRITABLE, json_of
from engine.errors import ConfigError, RecordError, RetriableError
from engine.record.record import Record
from engine.record.unread import read_all
from engine.standalone.directory import STDOUT

OPTIONS = (
    Option(
        "file",
        "string",
        None,
        "The file to append to, below the worker's `file.connectors.root`. Default: standard output.",
        form=HIGH,
    ),
)
_MAPS_ALONE = {dict}
_encoder = msgspec.json.Encoder()


class FileSink:
    """Appends values to a file: text and bytes unchanged, everything else as JSON, null as `null`."""

    put_is_idempotent = False
    writes_to = "a file"
    takes_unread = True
    flushes_anywhere = True

    def __init__(self, root: str | None = None, console: str | None = None) -> None:
        """Allow only files below `root`; None allows only standard output.

        `console` is the directory of a standalone run, where a pipe leads to the driver's standard output.
        """
        self._root = root
        self._console = console
        self._text: Callable[[list[Any]], bytes] = _text

    def use_unread(self) -> None:
        """Expect JSON values whose parts may be unread."""
        self._text = _unread_text

    def start(self, config: Mapping[str, str]) -> None:
        path = config.get("file")
        self._file: BinaryIO
        try:
            # Unbuffered: a failed put is repeated, so a buffer that kept its lines would write them twice.
            self._file = self._open(path) if path else _stdout(self._console)
        except OSError as error:
            what = f"the file {path}" if path else "standard output"
            raise RetriableError(f"can't open {what}: {error.strerror}") from error
        self._is_own = bool(path or self._console)
        self._is_regular = bool(path) and stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)

    def _open(self, path: str) -> BinaryIO:
        problem = path_problem(path, self._root)
        if problem is not None or self._root is None:
            raise ConfigError((("file", path, problem or ""),))
        return open(open_below(path, self._root, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab", buffering=0)

    def put(self, records: Sequence[Record]) -> None:
        try:
            text = self._text([record.value for record in records])
        except UNWRITABLE:
            text = _joined(_one_by_one(records))
        left, before = memoryview(text), self._size()
        try:
            while left:
                written = self._file.write(left)  # may be part of the text when a disk is nearly full
                if not written:
                    raise RetriableError("the file accepts no data at the moment")
                left = left[written:]
        except OSError as error:
            self._take_back(before, len(text) - len(left))
            raise RetriableError(str(error)) from error

    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size if self._is_regular else 0

    def _take_back(self, before: int, written: int) -> None:
        """Cut off a part of a failed put. It would be repeated, and its last line would damage the next one.

        The part stays if another task has written to the same file meanwhile.
        """
        if self._is_regular and written and self._size() == before + written:
            with suppress(OSError):
                self._file.truncate(before)

    def flush(self) -> None:
        """Make durable what was put; readers can see it already."""
        try:
            if self._is_regular:
                os.fsync(self._file.fileno())
        except OSError as error:
            raise RetriableError(str(error)) from error

    def stop(self) -> None:
        if self._is_own:
            with suppress(OSError):  # committed lines are on the disk already
                self._file.close()


def _stdout(console: str | None) -> BinaryIO:
    """Return standard output, unbuffered if possible. Raises OSError if the driver can't write to it any more."""
    if console is not None:
        # Without O_NONBLOCK the open would wait for a reader for ever, and the driver reads no more after an error.
        descriptor = os.open(Path(console, STDOUT), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(descriptor, True)
        return open(descriptor, "wb", buffering=0)
    return getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)


def _text(values: list[Any]) -> bytes:
    """Return the values as lines, each with its line end."""
    return _joined([json_of(value) if type(value) is dict else _line(value) for value in values])


def _unread_text(values: list[Any]) -> bytes:
    """Return the values as lines; unread parts of maps are written as they are."""
    if set(map(type, values)) == _MAPS_ALONE:
        return _encoder.encode_lines(values)
    return _joined([_encoder.encode(value) if type(value) is dict else _line(value) for value in values])


def _joined(lines: list[bytes]) -> bytes:
    lines.append(b"")
    return b"\n".join(lines)


def _one_by_one(records: Sequence[Record]) -> list[bytes]:
    """Return the lines one by one. Raises an ExceptionGroup that names the records without a text form."""
    lines, errors = [], []
    for index, record in enumerate(records):
        try:
            lines.append(_line(read_all(record.value)))
        except UNWRITABLE as error:
            errors.append(RecordError(index, error))
    if errors:
        raise ExceptionGroup("values that can't be written as text", errors)
    return lines


def _line(value: Any) -> bytes:
    if type(value) is str:
        return value.encode()
    if type(value) is bytes:
        return value
    return json_of(value)

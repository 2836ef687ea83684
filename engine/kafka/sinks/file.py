"""FileStreamSink: each value as one line, as Kafka Connect's example sink writes it."""

from __future__ import annotations

import base64
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

import msgspec
import orjson

from engine.config.options import Option
from engine.errors import ConversionError, RecordError, RetriableError
from engine.record.record import Record
from engine.record.unread import read_all
from engine.steps.converters.json_trees import dumps, without_schema

OPTIONS = (Option("file", "string", None, "The file to append to; unset: standard output."),)
_MAPS_ALONE = {dict}
_encoder = msgspec.json.Encoder()
_UNWRITABLE = (TypeError, ValueError, RecursionError, ConversionError)


class FileSink:
    """Appends values: text and bytes as they are, everything else as JSON, null as `null`."""

    put_is_idempotent = False
    writes_to = "a file"
    takes_unread = True
    flushes_anywhere = True

    def __init__(self) -> None:
        self._text: Callable[[list[Any]], bytes] = _text

    def use_unread(self) -> None:
        """From now on values are JSON, and parts of them may be unread."""
        self._text = _unread_text

    def start(self, config: Mapping[str, str]) -> None:
        path = config.get("file")
        self._file: BinaryIO
        try:
            # Unbuffered: what could not be written is put again, and must not be kept here to be written too.
            self._file = open(path, "ab", buffering=0) if path else _stdout()  # noqa: SIM115, closed in stop
        except OSError as error:
            raise RetriableError(f"{path}: {error.strerror}") from error
        self._is_own = bool(path)
        self._is_regular = self._is_own and stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)

    def put(self, records: Sequence[Record]) -> None:
        try:
            text = self._text([record.value for record in records])
        except _UNWRITABLE:
            text = _joined(_one_by_one(records))
        left = memoryview(text)
        try:
            while left:
                written = self._file.write(left)  # all of it, but for a disk that is nearly full
                if not written:
                    raise RetriableError("the file takes nothing now")
                left = left[written:]
        except OSError as error:
            raise RetriableError(str(error)) from error

    def flush(self) -> None:
        """Make durable what was put: it can be seen already."""
        try:
            if self._is_regular:
                os.fsync(self._file.fileno())
        except OSError as error:
            raise RetriableError(str(error)) from error

    def stop(self) -> None:
        if self._is_own:
            with suppress(OSError):  # what was committed is on the disk already
                self._file.close()


def _stdout() -> BinaryIO:
    """Standard output, without the buffer before it where there is one."""
    return getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)


def _text(values: list[Any]) -> bytes:
    """The values' lines, each with its end."""
    return _joined([orjson.dumps(value, _plain) if type(value) is dict else _line(value) for value in values])


def _unread_text(values: list[Any]) -> bytes:
    """The same where the parts of maps may be unread: these are written as they are."""
    if set(map(type, values)) == _MAPS_ALONE:
        return _encoder.encode_lines(values)
    return _joined([_encoder.encode(value) if type(value) is dict else _line(value) for value in values])


def _joined(lines: list[bytes]) -> bytes:
    lines.append(b"")
    return b"\n".join(lines)


def _one_by_one(records: Sequence[Record]) -> list[bytes]:
    """The lines. Raises what says which of the records can't be written."""
    lines, errors = [], []
    for index, record in enumerate(records):
        try:
            lines.append(_line(read_all(record.value)))
        except _UNWRITABLE as error:
            errors.append(RecordError(index, error))
    if errors:
        raise ExceptionGroup("values that have no text", errors)
    return lines


def _line(value: Any) -> bytes:
    if type(value) is str:
        return value.encode()
    if type(value) is bytes:
        return value
    try:
        return orjson.dumps(value, _plain)
    except TypeError:  # integers beyond 64 bits, lone surrogates, depth: as JsonConverter writes them
        return dumps(without_schema(value))


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} has no text")

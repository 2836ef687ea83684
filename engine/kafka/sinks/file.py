"""FileStreamSink: each value as one line, as Kafka Connect's example sink writes it."""

from __future__ import annotations

import base64
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

import orjson

from engine.config.options import Option
from engine.errors import RecordError, RetriableError
from engine.record.record import Record

OPTIONS = (Option("file", "string", None, "The file to append to; unset: standard output."),)


class FileSink:
    """Appends values: text and bytes as they are, everything else as JSON, null as `null`."""

    put_is_idempotent = False

    def start(self, config: Mapping[str, str]) -> None:
        path = config.get("file")
        self._file: BinaryIO
        try:
            self._file = open(path, "ab") if path else sys.stdout.buffer  # noqa: SIM115, closed in stop
        except OSError as error:
            raise RetriableError(f"{path}: {error.strerror}") from error
        self._is_regular = bool(path) and stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)

    def put(self, records: Sequence[Record]) -> None:
        try:
            lines = [orjson.dumps(record.value, _plain) if type(record.value) is dict else _line(record.value)
                     for record in records]  # fmt: skip
        except (TypeError, ValueError):
            raise _rejected(records) from None
        lines.append(b"")
        try:
            self._file.write(b"\n".join(lines))
        except OSError as error:
            raise RetriableError(str(error)) from error

    def flush(self) -> None:
        try:
            self._file.flush()
            if self._is_regular:
                os.fsync(self._file.fileno())
        except OSError as error:
            raise RetriableError(str(error)) from error

    def stop(self) -> None:
        if self._file is not sys.stdout.buffer:
            with suppress(OSError):  # what was committed is on the disk already
                self._file.close()


def _line(value: Any) -> bytes:
    if type(value) is str:
        return value.encode()
    return value if type(value) is bytes else orjson.dumps(value, _plain)


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} has no text")


def _rejected(records: Sequence[Record]) -> ExceptionGroup[RecordError]:
    """Which of the records can't be written."""
    errors = []
    for index, record in enumerate(records):
        try:
            _line(record.value)
        except (TypeError, ValueError) as error:
            errors.append(RecordError(index, error))
    return ExceptionGroup("values that have no text", errors)

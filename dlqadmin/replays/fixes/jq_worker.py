"""Runs one jq program over values, in a process that can't open anything.

It is started as `python -I jq_worker.py`, without an environment, and imports none of our modules.

It reads frames from stdin and writes frames to stdout. A frame is a four-byte big-endian length, followed by the bytes.
The first frame is the program, every further frame a JSON value. Every response begins with `+`, followed by an array
of at most two results, or with `-`, followed by the error.
"""

from __future__ import annotations

import os
import resource
import struct
import sys
import time
from typing import BinaryIO

MEMORY_BYTES = 512 * 1024 * 1024
CPU_S = 60


def main(source: BinaryIO, sink: BinaryIO) -> None:
    """Respond to every frame until stdin ends."""
    import jq  # loaded before the limits forbid to open files

    os.environ["TZ"] = "UTC0"
    time.tzset()
    _fence()
    for name in list(os.environ):  # the interpreter sets a variable by itself
        del os.environ[name]
    program = _read(source)
    if program is None:
        return
    try:
        jq.compile(program)  # compiled unchanged first, so that errors have the right line and column
        compiled = jq.compile(f"[limit(2; (\n{program}\n))] | tojson")  # tojson keeps jq's own spelling of numbers
    except ValueError as error:
        _write(sink, "-", str(error))
        return
    _write(sink, "+", "")
    while (value := _read(source)) is not None:
        try:
            results = compiled.input_text(value).all()
        except ValueError as error:
            _write(sink, "-", str(error))
        else:
            _write(sink, "+", results[0] if results else "")


def _fence() -> None:
    """Forbid opening and writing files and starting processes. Limit memory and CPU time."""
    for limit, value in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_NOFILE, 3),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (value, value))


def _read(source: BinaryIO) -> str | None:
    head = source.read(4)
    if len(head) < 4:
        return None
    return source.read(struct.unpack(">I", head)[0]).decode()


def _write(sink: BinaryIO, sign: str, text: str) -> None:
    data = (sign + text).encode("utf-8", "replace")
    sink.write(struct.pack(">I", len(data)) + data)
    sink.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)

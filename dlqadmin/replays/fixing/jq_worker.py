"""Runs one jq program over values, in a process of its own that can open nothing: `python -I jq_worker.py`.

It reads frames from its input and writes frames to its output: four big-endian bytes that say how long, then the bytes.
The first frame is the program, every further one a JSON value. Every answer begins with `+` (and the results as an
array of at most two) or `-` (and what was wrong). It imports nothing of ours, and is started without an environment.
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
    """Answer every frame until there is none."""
    import jq  # what it loads must be loaded before the fence goes up

    os.environ["TZ"] = "UTC0"
    time.tzset()
    _fence()
    for name in list(os.environ):  # the interpreter sets one by itself
        del os.environ[name]
    program = _read(source)
    if program is None:
        return
    try:
        jq.compile(program)  # alone: so that what it says of lines and columns is true of what was typed
        compiled = jq.compile(f"[limit(2; (\n{program}\n))] | tojson")  # jq's own words: numbers as they were
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
    """No file can be opened or written, no process started; memory and time are bounded."""
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

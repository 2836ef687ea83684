"""The engine's rehearsal at arm's length: no environment, bounded time and memory, ended when it does not end."""

from __future__ import annotations

import json
import os
import resource
import select
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import IO, Any

import msgspec
from django.conf import settings

KEPT = ("PYTHONPATH",)  # where plugins of the user's own are found
MEMORY_BYTES = 2 * 1024**3
FILES = 64
MAX_TOLD_BYTES = 16 * 1024 * 1024


class Limits(msgspec.Struct, frozen=True):
    """Seconds on the wall, and of a processor."""

    wall_s: float = 20.0
    cpu_s: int = 15


class Told(msgspec.Struct, frozen=True):
    """What the engine told of a rehearsal: its stages, each record's rows, and why there are no more of them.

    `at` is the record and the stage with which it ended; None where all were told.
    """

    connector: str = ""
    kind: str = ""
    stages: tuple[dict[str, str], ...] = ()
    records: Mapping[int, dict[str, Any]] = {}
    trouble: str = ""
    at: tuple[int, int] | None = None


def run(document: Mapping[str, Any], limits: Limits = Limits()) -> Told:  # noqa: B008, frozen
    """Rehearse a document as `python -m engine rehearse` reads it. Whatever happens there is told, not raised."""
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    with subprocess.Popen(
        [sys.executable, "-B", "-m", "engine", "rehearse"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=environment, cwd=settings.BASE_DIR, start_new_session=True, bufsize=0,
    ) as process:  # fmt: skip
        try:
            _bound(process.pid, limits)  # it waits for its input: nothing of the connector's runs before
            told, stopped = _talk(process, json.dumps(document).encode(), limits.wall_s)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # with what it started; its id is its own until it is waited for
    return read(told, stopped or _ended(process.returncode, limits))


def read(told: bytes, ended: str) -> Told:
    """The engine's lines; `ended` says what became of the process, as a clause, where the last line is missing."""
    found, records, at, done = Told(), dict[int, dict[str, Any]](), None, False
    for line in told.splitlines():
        try:
            row = msgspec.json.decode(line)
        except msgspec.DecodeError:
            break  # it was killed while it wrote
        match row:
            case {"connector": str(name), "kind": str(kind), "stages": list(stages)}:
                found = Told(name, kind, tuple(stages))
            case {"at": [int(record), int(stage)]}:
                at = (record, stage)
            case {"record": int(record)}:
                records[record], at = row, None
            case {"trouble": str(text)}:
                return msgspec.structs.replace(found, records=records, trouble=text)
            case {"done": True}:
                done = True
    if done:
        return msgspec.structs.replace(found, records=records)
    trouble = "" if at is not None else f"the rehearsal {ended} before it came to a record"
    return msgspec.structs.replace(found, records=records, at=at, trouble=trouble or ended)


def _talk(process: subprocess.Popen[bytes], document: bytes, wall_s: float) -> tuple[bytes, str]:
    """What it tells of the document, and why it must be stopped, as a clause; empty where it ended by itself."""
    assert process.stdin is not None
    assert process.stdout is not None
    ends, left, told = time.monotonic() + wall_s, memoryview(document), bytearray()
    slow = f"did not end within {wall_s:g} s and was stopped"
    with selectors.DefaultSelector() as waiting, os.fdopen(os.pidfd_open(process.pid)) as end:
        waiting.register(process.stdin, selectors.EVENT_WRITE)
        waiting.register(process.stdout, selectors.EVENT_READ)
        while (left_s := ends - time.monotonic()) > 0:
            for key, _ in waiting.select(left_s):
                if key.fileobj is end:
                    return bytes(told), ""
                if key.fileobj is process.stdin:
                    left = _given(process.stdin, left)
                    if not left:
                        waiting.unregister(process.stdin)
                        process.stdin.close()
                elif chunk := os.read(key.fd, 65536):
                    told += chunk
                    if len(told) > MAX_TOLD_BYTES:
                        return bytes(told), f"told more than {MAX_TOLD_BYTES // 1024**2} MB and was stopped"
                else:  # all is told: now it ends
                    waiting.unregister(process.stdout)
                    waiting.register(end, selectors.EVENT_READ)
    return bytes(told), slow


def _given(stdin: IO[bytes], left: memoryview) -> memoryview:
    """What is left to be given; nothing, where it wants no more."""
    try:
        return left[os.write(stdin.fileno(), left[: select.PIPE_BUF]) :]
    except BrokenPipeError:
        return left[:0]


def _ended(code: int, limits: Limits) -> str:
    """What became of a process that nobody stopped, as a clause."""
    if code == -signal.SIGXCPU:
        return f"took more than {limits.cpu_s} s of a processor and was stopped"
    return "was killed" if code == -signal.SIGKILL else "ended its process"


def _bound(pid: int, limits: Limits) -> None:
    most = {
        resource.RLIMIT_AS: MEMORY_BYTES,
        resource.RLIMIT_NOFILE: FILES,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for what, much in most.items():
        resource.prlimit(pid, what, (much, much))
    resource.prlimit(pid, resource.RLIMIT_CPU, (limits.cpu_s, limits.cpu_s + 1))  # at the second it is killed unasked

"""A run of the engine's rehearsal in a sandbox, with limited time and memory."""

from __future__ import annotations

import json
import os
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import msgspec
from django.conf import settings

from dlqadmin.host.folders import CODE_DIR
from dlqadmin.sandbox import trial
from dlqadmin.sandbox.commands import ConfinedProgram, command
from dlqadmin.sandbox.permission import FOREIGN_CLASSES, refusal
from dlqadmin.sandbox.trial import ConfinementVerdict

MEMORY_BYTES = 2 * 1024**3
FILES = 64
THREADS = 64
MAX_TOLD_BYTES = 16 * 1024 * 1024


class RunLimits(msgspec.Struct, frozen=True):
    """Limits of wall-clock time and CPU time, in seconds."""

    wall_s: float = 20.0
    cpu_s: int = 15


class Told(msgspec.Struct, frozen=True):
    """The output of the engine's rehearsal: its stages, and the stage rows of each record.

    `trouble` tells why the output is incomplete. `at` is the record and stage in which the rehearsal ended, None if it
    finished.
    """

    connector: str = ""
    kind: str = ""
    stages: tuple[dict[str, str], ...] = ()
    records: Mapping[int, dict[str, Any]] = {}
    trouble: str = ""
    at: tuple[int, int] | None = None


def run(
    document: Mapping[str, Any],
    limits: RunLimits = RunLimits(),  # noqa: B008, frozen
    found: ConfinementVerdict | None = None,
) -> Told:
    """Rehearse a document in the format of `python -m engine rehearse`. Errors are returned, not raised.

    `found` is the sandbox to use; by default the one that works here. If none works, only built-in classes are loaded,
    unless the settings allow others.
    """
    found = found or trial.verdict()
    # Callers add the full stop.
    asked = {**document, "only_built_in": refusal(FOREIGN_CLASSES, found).removesuffix(".")}
    with subprocess.Popen(
        command(_program(limits), found.means),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={}, cwd="/", start_new_session=True, bufsize=0,
    ) as process:  # fmt: skip
        try:
            told, stopped = _talk(process, json.dumps(asked).encode(), limits.wall_s)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # kills its children too; the pid can't be reused before wait()
    return read(told, stopped or _ended(process.returncode, limits))


def read(told: bytes, ended: str) -> Told:
    """Parse the engine's output lines.

    `ended` tells how the process ended, as a clause. It is used if the last line is missing.
    """
    found, records, at, done = Told(), dict[int, dict[str, Any]](), None, False
    for line in told.splitlines():
        try:
            row = msgspec.json.decode(line)
        except msgspec.DecodeError:
            break  # the process was killed while it wrote this line
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
    trouble = "" if at is not None else f"the rehearsal {ended} before the first record"
    return msgspec.structs.replace(found, records=records, at=at, trouble=trouble or ended)


def _program(limits: RunLimits) -> ConfinedProgram:
    """Return the engine's command with its limits. It sees the engine's package and the plugin folders."""
    bounds = {
        "RLIMIT_AS": (MEMORY_BYTES, MEMORY_BYTES),
        "RLIMIT_NOFILE": (FILES, FILES),
        "RLIMIT_NPROC": (THREADS, THREADS),
        "RLIMIT_FSIZE": (0, 0),
        "RLIMIT_CORE": (0, 0),
        "RLIMIT_CPU": (limits.cpu_s, limits.cpu_s + 1),  # SIGXCPU at the soft limit, SIGKILL one second later
    }
    engine = CODE_DIR / "engine"
    return ConfinedProgram("engine", ("rehearse",), (engine, *plugin_folders()), (CODE_DIR, *plugin_folders()), bounds)


def plugin_folders() -> tuple[Path, ...]:
    """Return the plugin folders of PYTHONPATH.

    Folders that contain the dashboard or its data are left out.
    """
    own = (CODE_DIR, settings.LOCAL_DIR.resolve())
    named = (Path(entry).resolve() for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry)
    return tuple(one for one in named if one.is_dir() and not any(path.is_relative_to(one) for path in own))


def _talk(process: subprocess.Popen[bytes], document: bytes, wall_s: float) -> tuple[bytes, str]:
    """Send the document and read the output.

    Return the output, and why the process must be stopped, as a clause. "" if it ended by itself.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    ends, left, told = time.monotonic() + wall_s, memoryview(document), bytearray()
    slow = f"was stopped after {wall_s:g} s"
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
                        return bytes(told), (f"was stopped because its output exceeded {MAX_TOLD_BYTES // 1024**2} MB")
                else:  # end of output: wait for the process to end
                    waiting.unregister(process.stdout)
                    waiting.register(end, selectors.EVENT_READ)
    return bytes(told), slow


def _given(stdin: IO[bytes], left: memoryview) -> memoryview:
    """Write a part of the document. Return the rest, which is empty if the process closed stdin."""
    try:
        return left[os.write(stdin.fileno(), left[: select.PIPE_BUF]) :]
    except BrokenPipeError:
        return left[:0]


def _ended(code: int, limits: RunLimits) -> str:
    """Describe how a process that was not stopped ended, as a clause.

    Sandboxes add 128 to the number of a signal.
    """
    if code in (-signal.SIGXCPU, 128 + signal.SIGXCPU):
        return f"was stopped because it used more than {limits.cpu_s} s of CPU time"
    return "was killed" if code in (-signal.SIGKILL, 128 + signal.SIGKILL) else "exited"

"""Processes of this harness, found below those it has started, and the signals they are given."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.spark.engine_process import alive, descendants

EXECUTOR = "CoarseGrainedExecutorBackend"
PYTHON_DAEMON = "spark.daemon"  # the engine's own, which loads PySpark's


class Process(NamedTuple):
    """A process, by its id and the time of its start: an id alone may be given to another one."""

    pid: int
    started: str

    def is_alive(self) -> bool:
        return alive(self.pid) and _started(self.pid) == self.started

    def send(self, sign: signal.Signals) -> bool:
        """Signal it; False if it is gone."""
        if not self.is_alive():
            return False
        try:
            os.kill(self.pid, sign)
        except ProcessLookupError:
            return False
        return True


def process(pid: int) -> Process:
    return Process(pid, _started(pid))


def executors(root: int) -> list[Process]:
    """The Spark executors' JVMs below a process."""
    return [process(pid) for pid in descendants(root) if EXECUTOR in _command(pid)]


def python_workers(root: int) -> list[Process]:
    """The Python processes below a process that run Spark's tasks: children of the daemon that forks them."""
    daemons = {pid for pid in descendants(root) if PYTHON_DAEMON in _command(pid)}
    return [process(pid) for daemon in sorted(daemons) for pid in descendants(daemon) if _parent(pid) in daemons]


def parent(one: Process) -> Process:
    return process(_parent(one.pid))


def end(processes: Iterable[Process]) -> None:
    """Kill them, stopped ones too."""
    for one in processes:
        one.send(signal.SIGKILL)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _parent(pid: int) -> int:
    return int((_stat(pid) or ["", "0"])[1])


def _started(pid: int) -> str:
    fields = _stat(pid)
    return fields[19] if fields else ""


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat behind the name, which may hold blanks."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []

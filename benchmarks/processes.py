"""CPU and memory usage of a program and its child processes, from Linux's /proc."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """One process: its id, its command line, its CPU time so far (s) and its peak memory (MB)."""

    pid: int
    command: str
    cpu_s: float
    peak_mb: float


def family(pid: int) -> list[ProcessUsage]:
    """Return the process and its living descendants. Ended processes are not counted."""
    return [usage for one in _below(pid) if (usage := _usage(one)) is not None]


@contextmanager
def watch_family(pid: int) -> Iterator[dict[int, ProcessUsage]]:
    """Collect the usage of the process family, by id, while the block runs.

    Each entry is the last state seen, so processes that have ended stay in the result.
    """
    seen: dict[int, ProcessUsage] = {}
    left = threading.Event()

    def look() -> None:
        while not left.wait(LOOK_S):
            seen.update({one.pid: one for one in family(pid)})

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        left.set()
        thread.join()


def _below(pid: int) -> Iterator[int]:
    yield pid
    for row in PROC.glob(f"{pid}/task/*/children"):
        try:
            children = row.read_text().split()
        except OSError:  # the process has ended
            continue
        for child in children:
            yield from _below(int(child))


def _usage(pid: int) -> ProcessUsage | None:
    try:
        command = (PROC / f"{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        times = (PROC / f"{pid}/stat").read_text().rpartition(")")[2].split()
        status = (PROC / f"{pid}/status").read_text()
    except OSError:
        return None
    peak_kb = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")), 0)
    return ProcessUsage(pid, command, (int(times[11]) + int(times[12])) / TICKS_PER_S, peak_kb / 1024)

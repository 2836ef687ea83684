"""Processes that start and stop together, each with its output in its own log file."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from os import killpg
from pathlib import Path
from typing import IO, NamedTuple

STOP_TIMEOUT_S = 15


class _Process(NamedTuple):
    name: str
    popen: subprocess.Popen[bytes]
    writer: threading.Thread  # it copies the output to the log


class Supervisor:
    """The processes of some commands by name. Each has its own process group, so a Ctrl-C reaches only us.

    Servers are the processes that the others need.
    """

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        env: Mapping[str, str],
        logs: Path,
        servers: Collection[str] = (),
        folder: Path | None = None,
    ) -> None:
        """Run the commands in `folder`; by default in the working directory."""
        self._commands = commands
        self._env = env
        self._logs = logs
        self._servers = servers
        self._folder = folder
        self._processes: dict[str, _Process] = {}

    def log(self, name: str) -> Path:
        """Return the log file of a process. It holds the output of this run only."""
        return self._logs / f"{name}.log"

    def start(self) -> None:
        """Start all processes that have not been started yet."""
        for name in self._commands:
            if name not in self._processes:
                self.start_one(name)

    def start_one(self, name: str) -> None:
        """Start a process, or start it again. Then what is left of it is killed, and its log continues."""
        self._logs.mkdir(parents=True, exist_ok=True)
        if name in self._processes:
            _signal([self._processes[name]], signal.SIGKILL)
        log = self.log(name).open("ab" if name in self._processes else "wb", buffering=0)
        popen = subprocess.Popen(
            self._commands[name],
            bufsize=0,
            env=self._env,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        writer = threading.Thread(target=_copy, args=(popen.stdout, log), daemon=True)
        writer.start()
        self._processes[name] = _Process(name, popen, writer)

    def ended(self) -> dict[str, int]:
        """Return the exit codes of the processes that have ended, by name."""
        codes = {name: process.popen.poll() for name, process in self._processes.items()}
        return {name: code for name, code in codes.items() if code is not None}

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Stop all processes and their descendants; kill those that are left after the timeout.

        Servers stop last, so that the others can finish their work with them.
        """
        servers = [process for name, process in self._processes.items() if name in self._servers]
        for group in ([process for process in self._processes.values() if process not in servers], servers):
            _signal(group, signal.SIGTERM)
            if not _have_ended(group, timeout_s):
                _signal(group, signal.SIGKILL)
                _have_ended(group, STOP_TIMEOUT_S)


def shell_commands(lines: Mapping[str, str]) -> dict[str, Sequence[str]]:
    """Return the commands that run these lines in a shell."""
    return {name: ("sh", "-c", line) for name, line in lines.items()}


def _signal(processes: Iterable[_Process], number: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError):  # the whole process group has ended
            killpg(process.popen.pid, number)


def _have_ended(processes: Iterable[_Process], timeout_s: float) -> bool:
    """Wait until no process can write any more; return whether that happened in time.

    A pipe closes when the last descendant ends, also one that left the process group, such as Spark's workers.
    """
    deadline = time.monotonic() + timeout_s
    for process in processes:
        process.writer.join(max(0.0, deadline - time.monotonic()))
        with suppress(subprocess.TimeoutExpired):
            process.popen.wait(max(0.0, deadline - time.monotonic()))
    return not any(process.writer.is_alive() for process in processes)


def _copy(output: IO[bytes], log: IO[bytes]) -> None:
    with output, log:
        shutil.copyfileobj(output, log)

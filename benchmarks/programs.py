"""Programs that a benchmark starts, and ends again whatever happens."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

STOP_TIMEOUT_S = 20
TAIL_BYTES = 2000


class Program:
    """One started program; `port` is where it answers HTTP, 0 if nowhere."""

    def __init__(
        self, process: subprocess.Popen[bytes], log: Path, port: int = 0, stop_timeout_s: float = STOP_TIMEOUT_S
    ) -> None:
        self.process, self.log, self.port = process, log, port
        self._stop_timeout_s = stop_timeout_s

    @property
    def pid(self) -> int:
        return self.process.pid

    def check(self) -> None:
        """Raise RuntimeError, with the end of its log, when it has ended by itself."""
        code = self.process.poll()
        if code is not None:
            raise RuntimeError(f"the program of {self.log} ended with {code}:\n{self.tail()}")

    def tail(self) -> str:
        """The end of what it has logged."""
        return self.log.read_bytes()[-TAIL_BYTES:].decode(errors="replace")

    def stop(self) -> int:
        """End it in order, or by force after a while; its exit code. Does nothing where it has ended."""
        self.process.terminate()
        try:
            return self.process.wait(self._stop_timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@contextmanager
def started(
    command: Sequence[str], log: Path, port: int = 0, env: Mapping[str, str] | None = None
) -> Iterator[Program]:
    """Start a program that logs to that file, with `env` above our own environment; end it when the block is left."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, **(env or {})})
    program = Program(process, log, port)
    try:
        yield program
    finally:
        program.stop()

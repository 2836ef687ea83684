"""Programs that a benchmark starts, and that always end with it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

STOP_TIMEOUT_S = 20
TAIL_BYTES = 2000


class BenchmarkProgram:
    """One started program. `port` is its HTTP port, or 0."""

    def __init__(
        self, process: subprocess.Popen[bytes], log: Path, port: int = 0, stop_timeout_s: float = STOP_TIMEOUT_S
    ) -> None:
        self.process, self.log, self.port = process, log, port
        self._stop_timeout_s = stop_timeout_s

    @property
    def pid(self) -> int:
        return self.process.pid

    def check(self) -> None:
        """Raise RuntimeError, with the end of the log, if the program has ended by itself."""
        code = self.process.poll()
        if code is not None:
            raise RuntimeError(f"the program of {self.log} ended with {code}:\n{self.tail()}")

    def tail(self) -> str:
        """Return the end of the program's log."""
        return self.log.read_bytes()[-TAIL_BYTES:].decode(errors="replace")

    def stop(self) -> int:
        """Stop the program, by force after a timeout, and return its exit code.

        It does nothing if the program has ended.
        """
        self.process.terminate()
        try:
            return self.process.wait(self._stop_timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@contextmanager
def run_program(
    command: Sequence[str], log: Path, port: int = 0, env: Mapping[str, str] | None = None
) -> Iterator[BenchmarkProgram]:
    """Start a program that logs to a file, and stop it at the end of the block.

    `env` overrides our own environment.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, **(env or {})})
    program = BenchmarkProgram(process, log, port)
    try:
        yield program
    finally:
        program.stop()

"""Copies of Kafka's own configuration files, and processes of the engine that run them.

A copy differs from the file in ports and in the directory of the offsets file only: tests share a machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dlqadmin.host.network import free_ports

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "tests" / "support" / "kafka_files"
PLACEHOLDERS = {
    "A": "A_host1:9092, A_host2:9092, A_host3:9092",
    "B": "B_host1:9092, B_host2:9092, B_host3:9092",
}


def copy(name: str, folder: Path, replaced: Mapping[str, str]) -> str:
    """Copy a file of Kafka's with these texts replaced; each must be in it. Return the copy's name."""
    text = (FILES / name).read_text()
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new)
    (folder / name).write_text(text)
    return name


class Process:
    """`python -m engine …` in a directory of its own, with its streams."""

    def __init__(self, folder: Path, *arguments: str, stdin: int = subprocess.DEVNULL) -> None:
        self._log = (folder / "engine.log").open("ab")
        self._log_path = folder / "engine.log"
        self.output = folder / "output"
        self.url = f"http://127.0.0.1:{free_ports(1)[0]}"
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "CONNECT_LISTENERS": self.url,
            "CONNECT_REST_AUTHENTICATION": "none",
            "CONNECT_SPARK_MASTER": "local[4]",
        }
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "engine", *arguments],
                cwd=folder,
                env=environment,
                stdin=stdin,
                stdout=output,
                stderr=self._log,
                start_new_session=True,
            )

    def until(self, check: Callable[[], object], claim: str, timeout_s: float = 90) -> None:
        """Wait until it holds; else fail with the end of the log."""
        deadline = time.monotonic() + timeout_s
        while not check():
            assert self.process.poll() is None, f"the engine ended with {self.process.returncode}:\n{self.log()}"
            assert time.monotonic() < deadline, f"not within {timeout_s} s: {claim}\n{self.log()}"
            time.sleep(0.05)

    def log(self) -> str:
        return self._log_path.read_text(errors="replace")[-6000:]

    def count(self, text: str) -> int:
        """Return how often the log has a text, over all processes of the directory."""
        return self._log_path.read_text(errors="replace").count(text)

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(30)

    def kill(self) -> None:
        """End the driver without warning."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()
        if self.process.stdin is not None:
            self.process.stdin.close()
        self._log.close()


def lines(path: Path) -> Sequence[str]:
    return path.read_text().splitlines() if path.exists() else ()

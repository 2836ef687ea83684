"""A running `dlqadmin serve`, from an installation and outside the clone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from dlqadmin.host.network import HOST, free_ports, wait_until

UP_S, STOP_S = 180, 40
PASSWORD = re.compile(r"sign in as (\w+) with the password (\S+?), which is not shown again")


@contextmanager
def administrator(url: str, password: str) -> Iterator[httpx.Client]:
    """Yield a client of the REST API at this address that is signed in as `admin`."""
    with httpx.Client(base_url=f"{url}/api/v1/", timeout=30) as client:
        client.get("session").raise_for_status()
        client.headers.update({"X-CSRFToken": client.cookies["csrftoken"], "Referer": url})
        client.post("session", json={"username": "admin", "password": password}).raise_for_status()
        client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
        yield client


class Served:
    """One run of the command. `command` runs `dlqadmin`; `path` has the packages, if the command has not."""

    def __init__(self, command: Sequence[str], home: Path, broker: str, path: Path | None = None) -> None:
        self.command, self.home, self.broker = command, home, broker
        self.data = home / "data"
        [self.port] = free_ports(1)
        self.url = f"http://{HOST}:{self.port}"
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.env = {**kept, "HOME": str(home), **({"PYTHONPATH": str(path)} if path else {})}
        self.password = ""
        self._log = home / "console.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0

    def start(self, *options: str, **more: str) -> None:
        """Start the command. It returns at once."""
        self._log.write_bytes(b"")
        command = [*self.command, "serve", "--kafka", self.broker, "--data", str(self.data), "--port", str(self.port)]
        with self._log.open("ab") as log:
            self._began = time.monotonic()
            self._process = subprocess.Popen(
                [*command, *options], cwd=self.home, env={**self.env, **more}, stdout=log, stderr=log
            )

    def wait_until_up(self) -> None:
        """Wait until the console shows the address."""
        wait_until(self._announced, "dlqadmin", UP_S)
        if found := PASSWORD.search(self.console()):
            self.password = found[2]

    def seconds(self) -> float:
        """Return the seconds since the command was started."""
        return time.monotonic() - self._began

    def console(self) -> str:
        """Return what the console shows."""
        return self._log.read_text()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop it, and return the exit code."""
        if self._process is None:
            return 0
        self._process.send_signal(number)
        code = self._process.wait(STOP_S)
        self._process = None
        return code

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run another command of the installation beside it."""
        return subprocess.run(
            [*self.command, *words],
            cwd=self.home, env={**self.env, **more}, capture_output=True, text=True, timeout=90, check=False,
        )  # fmt: skip

    def processes(self) -> dict[int, str]:
        """Return the command lines of all its processes by id, but for Redis, which overwrites its environment."""
        mark = f"LOCAL_DIR={self.data}".encode()
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                except OSError:  # it ended meanwhile
                    continue
        return found

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """Yield a client of the REST API that is signed in as the first user."""
        with administrator(self.url, self.password) as client:
            yield client

    def get(self, path: str) -> Any:
        """Return the document at this path below `/api/v1/`."""
        with self.client() as client:
            return client.get(path).raise_for_status().json()

    def _announced(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            raise ChildProcessError(f"dlqadmin ended with code {self._process.returncode}:\n{self.console()}")
        return "dlqadmin is up" in self.console()

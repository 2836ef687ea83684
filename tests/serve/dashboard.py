"""The dashboard's processes, each started and stopped by itself, with the commands of `compose.yaml`."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from dlqadmin.host.network import HOST, free_ports, is_answering, wait_until
from dlqadmin.host.readiness import INDEXER_READS
from tests.serve.served import administrator
from tests.support import schema_template

ROOT = Path(__file__).parents[2]
UP_S = 120
CELERY = ("celery", "--quiet", "-A", "dlqadmin.celery")
USER = """
from django.contrib.auth.models import User
User.objects.create_superuser("admin", password={!r})
"""


class Ended(NamedTuple):
    """The end of a process: its exit code, and the seconds after the signal."""

    code: int
    seconds: float


class DashboardProcesses:
    """The processes of one dashboard, with a database of its own. None is started yet."""

    def __init__(self, home: Path, broker: str, redis: str, **settings: str) -> None:
        [port] = free_ports(1)
        self.home, self.url, self.password = home, f"http://{HOST}:{port}", secrets.token_urlsafe(12)
        self.env = {
            **os.environ,
            "DATABASE_URL": f"sqlite:///{home}/dlqadmin.sqlite3",
            "LOCAL_DIR": str(home),
            "KAFKA_BOOTSTRAP_SERVERS": broker,
            "REDIS_URL": redis,
            "INDEX_GROUP": f"index-{secrets.token_hex(4)}",
            "ENGINE_URL": "",
            **settings,
        }
        worker = (*CELERY, "worker", "--pool", "threads", "--concurrency", "8", "--loglevel", "INFO")
        self._commands = {
            "web": (
                "uvicorn", "dlqadmin.asgi:application", "--host", HOST, "--port", str(port),
                "--no-proxy-headers", "--timeout-graceful-shutdown", "3",
            ),
            "worker": (*worker, "--queues", "celery"),
            "replayer": (*worker, "--queues", "replays", "--hostname", "replayer@%h"),
            "beat": (*CELERY, "beat", "--schedule", str(home / "beat"), "--pidfile=", "--loglevel", "INFO"),
            "indexer": ("dlqadmin", "manage", "index_deadletters"),
        }  # fmt: skip
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._signalled = 0.0  # monotonic time of the last signal
        schema_template.migrate(self.env)
        self.run("shell", "--command", USER.format(self.password))

    def run(self, *words: str, **settings: str) -> None:
        """Run a command of manage.py, with these settings instead of those of the processes."""
        subprocess.run([sys.executable, "manage.py", *words], cwd=ROOT, env={**self.env, **settings}, check=True)

    def start(self, *names: str) -> None:
        """Start these processes; return when each says that it works."""
        for name in names:
            with (self.home / f"{name}.out").open("wb") as output, (self.home / f"{name}.log").open("wb") as log:
                command = [sys.executable, "-m", *self._commands[name]]
                self._running[name] = subprocess.Popen(command, cwd=ROOT, env=self.env, stdout=output, stderr=log)
        for name in names:
            wait_until(lambda name=name: self._is_up(name), name, UP_S)  # type: ignore[misc]

    def stop(self, name: str, within_s: float) -> Ended:
        """Send SIGTERM, and return how the process ended. Raises TimeoutExpired if it did not."""
        self.signal(name)
        return self.wait(name, within_s)

    def signal(self, name: str) -> None:
        """Send SIGTERM."""
        self._signalled = time.monotonic()
        self._running[name].send_signal(signal.SIGTERM)

    def wait(self, name: str, within_s: float) -> Ended:
        """Return how a process ended after SIGTERM. Raises TimeoutExpired if it did not end in time."""
        code = self._running[name].wait(max(0.1, self._signalled + within_s - time.monotonic()))
        del self._running[name]
        return Ended(code, time.monotonic() - self._signalled)

    def end(self) -> None:
        """End what still runs."""
        for process in self._running.values():
            process.kill()
            process.wait()
        self._running.clear()

    def log(self, name: str) -> str:
        """Return the log of a process, which is its standard error."""
        return (self.home / f"{name}.log").read_text()

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Return the complete lines of a log in JSON. Raises an error for a line that is no JSON."""
        return [json.loads(line) for line in self.log(name).splitlines(keepends=True) if line.endswith("\n")]

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """Yield a client of the REST API that is signed in as an administrator."""
        with administrator(self.url, self.password) as client:
            yield client

    def _is_up(self, name: str) -> bool:
        if (code := self._running[name].poll()) is not None:
            raise ChildProcessError(f"{name} ended with code {code}:\n{self.log(name)[-6000:]}")
        if name == "web":
            return is_answering(HOST, int(self.url.rpartition(":")[2]))
        if name == "indexer":
            return INDEXER_READS in (self.home / "indexer.out").read_text()
        return {"beat": "beat: Starting..."}.get(name, " ready.") in self.log(name)

"""A driver without Spark: the herder and its REST API as they are, leases in threads of the same process.

`python -m tests.broker.driver worker.properties` runs one; `Driver` runs that in a process of its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from dlqadmin.host.network import free_ports
from engine.assembly.lease import run_lease
from engine.config.properties import load_properties
from engine.config.worker import parse_worker
from engine.rest.access import access_rules
from engine.rest.app import build_app
from engine.rest.endpoint_ports import ANSWER_TIMEOUT_S
from engine.rest.request_checks import RequestChecks
from engine.rest.server import RestServer
from engine.startup.wiring import advertised, build_herder, examine_connector
from engine.worker_messages import Lease, TaskReport

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60


class Threads:
    """The TaskRunner port: a thread for each lease. What is cancelled runs to its end."""

    slots = 4

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(self.slots)

    def submit(self, lease: Lease) -> Future[tuple[TaskReport, ...]]:
        return self._threads.submit(run_lease, lease)

    def is_waiting(self, lease_id: str) -> bool:
        """There are as many threads as slots."""
        return False

    def cancel(self, lease_id: str) -> None:
        """Threads can't be ended."""

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class Driver:
    """A driver of the cluster that `properties` name, with a port of its own."""

    def __init__(self, home: Path, properties: dict[str, str], prefix: Sequence[str] = ()) -> None:
        """`prefix` begins its command, such as to run it in a namespace."""
        self.port = free_ports(1)[0]
        self.url = f"http://127.0.0.1:{self.port}"
        self.http = httpx.Client(base_url=self.url, timeout=ANSWER_TIMEOUT_S + 10)
        self.home, self.prefix = home / str(self.port), prefix
        self.home.mkdir(parents=True)
        self.process: subprocess.Popen[bytes] | None = None
        rows = {**properties, "listeners": self.url, "rest.authentication": "none"}
        (self.home / "worker.properties").write_text("".join(f"{name}={value}\n" for name, value in rows.items()))

    def start(self) -> Driver:
        """Start it; it leads or stands by when its health says so."""
        command = [*self.prefix, sys.executable, "-m", "tests.broker.driver", str(self.home / "worker.properties")]
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
        return self

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def stop(self) -> None:
        """Stop it in order."""
        if self.process is not None and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
        self.http.close()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(60)

    def health(self) -> str:
        try:
            return str(self.http.get("/health/details").json()["status"])
        except httpx.TransportError:
            return ""

    def put(self, name: str, config: dict[str, str]) -> httpx.Response:
        return self.http.put(f"/connectors/{name}/config", json=config)

    def get(self, path: str) -> Any:
        answer = self.http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def until(self, check: Callable[[], object], claim: str, timeout_s: float = TIMEOUT_S) -> None:
        """Wait until it holds; else fail with the end of the log."""
        deadline = time.monotonic() + timeout_s
        while not check():
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {timeout_s} s: {claim}\n{self.log()[-6000:]}")
            time.sleep(0.05)

    def await_leading(self) -> Driver:
        """Wait until the driver leads."""
        self.until(lambda: self.health() == "ok", "it leads")
        return self

    def await_standby(self) -> Driver:
        """Wait until the driver stands by."""
        self.until(lambda: self.health() == "standby", "it stands by")
        return self

    def log(self) -> str:
        return (self.home / "log").read_text(errors="replace")


@contextlib.contextmanager
def running(*drivers: Driver) -> Iterator[None]:
    """Whatever was started ends."""
    try:
        yield
    finally:
        for driver in drivers:
            driver.stop()


def main(path: str) -> None:
    """Run until SIGTERM."""
    worker = parse_worker(load_properties(Path(path)))
    access, _ = access_rules(worker, os.environ)
    rest, runner = RestServer(worker.rest.listeners), Threads()
    herder = build_herder(worker, runner, advertised(worker, rest.addresses))
    rest.start(RequestChecks(build_app(herder, partial(examine_connector, worker=worker)), access))
    signal.signal(signal.SIGTERM, lambda *_: herder.stop())
    herder.run()
    rest.stop()
    os._exit(0)  # a lease's thread may still wait for its brokers


if __name__ == "__main__":
    import logging

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    main(sys.argv[1])

"""The engine's drivers, as their user runs them: `python -m engine run`; the first leads, a second stands by."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx

from dlqadmin.host.network import free_ports
from tests.chaos.processes import end, process
from tests.spark.engine_process import ROOT, descendants

LEAD_TIMEOUT_S = 150
MOST_STARTS = 3


class Driver:
    """One driver process with a port of its own."""

    def __init__(self, home: Path, number: int, properties: Iterable[str]) -> None:
        self.port = free_ports(1)[0]
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=10)
        self.log = home / f"driver-{number}.log"
        file = home / f"driver-{number}.properties"
        own = [f"listeners=http://127.0.0.1:{self.port}", "rest.authentication=none", ""]
        file.write_text("\n".join([*properties, *own]))
        with self.log.open("ab") as log:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "engine", "run", str(file)],
                cwd=ROOT,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.process = process(self.popen.pid)

    @property
    def is_alive(self) -> bool:
        return self.popen.poll() is None

    def leads(self) -> bool:
        """Does it say so itself? One that is stopped says nothing."""
        try:
            answer = self.http.get("/health/details", timeout=2).json()
        except (httpx.HTTPError, ValueError):
            return False
        return bool(answer.get("status") == "ok")

    def close(self) -> None:
        """End it with its JVM."""
        below = [process(pid) for pid in descendants(self.popen.pid)] if self.is_alive else []
        self.popen.kill()
        self.popen.wait()
        end(below)
        self.http.close()


class Drivers:
    """All drivers of one worker group."""

    def __init__(self, home: Path, properties: Iterable[str]) -> None:
        self._home = home
        self._properties = tuple(properties)
        self._started = 0
        self.running: list[Driver] = []

    def start(self) -> Driver:
        """Start one more; it leads when it can."""
        self._started += 1
        driver = Driver(self._home, self._started, self._properties)
        self.running.append(driver)
        return driver

    def kill(self, driver: Driver) -> None:
        """End its Python process as a crash would; its JVM finds out by itself."""
        driver.process.send(signal.SIGKILL)
        driver.popen.wait()
        driver.http.close()
        self.running.remove(driver)

    def forget_ended(self) -> None:
        """Those that have ended by themselves, as a driver does that lost its leadership."""
        for driver in [one for one in self.running if not one.is_alive]:
            driver.close()
            self.running.remove(driver)

    def keep_leader(self) -> None:
        """End all the others."""
        if not self.running:
            return
        leader = self.await_leader()
        for driver in [one for one in self.running if one is not leader]:
            driver.close()
            self.running.remove(driver)

    def leader(self) -> Driver | None:
        return next((one for one in self.running if one.is_alive and one.leads()), None)

    def await_leader(self) -> Driver:
        """The leader, once there is one; a driver is started when none is left."""
        deadline, starts = time.monotonic() + LEAD_TIMEOUT_S, 0
        while (found := self.leader()) is None:
            self.forget_ended()
            if not self.running:
                starts += 1
                if starts > MOST_STARTS:
                    raise RuntimeError(f"drivers end by themselves; see {self._home}/driver-{self._started}.log")
                self.start()
            if time.monotonic() > deadline:
                raise TimeoutError(f"no driver leads after {LEAD_TIMEOUT_S} s")
            time.sleep(0.1)
        return found

    def put(self, name: str, config: Mapping[str, str]) -> None:
        """Create or change a connector."""
        self._ask(lambda http: http.put(f"/connectors/{name}/config", json=dict(config)), "PUT a connector")

    def delete(self, name: str) -> None:
        self._ask(lambda http: http.delete(f"/connectors/{name}"), "DELETE a connector", also=(404,))

    def tasks(self, name: str) -> list[dict[str, Any]]:
        """The connector's tasks with positions and figures."""
        answer = self._ask(lambda http: http.get(f"/connectors/{name}/metrics"), "GET metrics")
        rows: list[dict[str, Any]] = answer.json()["tasks"]
        return rows

    def close(self) -> None:
        for driver in self.running:
            driver.close()
        self.running = []

    def _ask(
        self, call: Callable[[httpx.Client], httpx.Response], what: str, also: tuple[int, ...] = ()
    ) -> httpx.Response:
        """The leader's answer; as often as it takes, since leaders come and go. A refusal is told."""
        deadline = time.monotonic() + LEAD_TIMEOUT_S
        while True:
            try:
                answer = call(self.await_leader().http)
            except httpx.TransportError:
                answer = None
            if answer is not None and (answer.is_success or answer.status_code in also):
                return answer
            if answer is not None and answer.status_code in {400, 422}:
                raise AssertionError(f"{what}: {answer.status_code} {answer.text}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: {answer.text if answer is not None else 'no answer'}")
            time.sleep(0.2)

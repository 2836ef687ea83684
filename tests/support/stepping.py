"""Several processes over one in-memory Kafka, each stopped before every request until the test lets it go on.

A stopped process may go on at any later time: that is a zombie. One that never does was killed.
"""

from __future__ import annotations

from collections.abc import Callable

from greenlet import getcurrent, greenlet

from tests.fakes import Clock
from tests.support.fake_kafka import FakeKafka, Fault

REQUEST_MS = 2  # so much time passes with each request


class Process:
    """One of them. `at` is the request that it is about to make."""

    def __init__(self, stepping: Stepping, name: str, run: Callable[[], None]) -> None:
        self.name = name
        self.at = ""
        self.steps = 0
        self._stepping = stepping
        self._greenlet = greenlet(lambda _: run())

    @property
    def is_over(self) -> bool:
        return bool(self._greenlet.dead)

    def step(self, fault: Fault | None = None) -> None:
        """Go on to the next request; `fault` is what becomes of the one that it stopped at. Raises what it raises."""
        if self.is_over:
            return
        self.steps += 1
        self._stepping.running[self._greenlet] = self
        self._greenlet.switch(fault)

    def run(self, most: int = 5_000) -> None:
        """Go on to the end."""
        for _ in range(most):
            if self.is_over:
                return
            self.step()
        raise AssertionError(f"{self.name} is not over after {most} requests; it is at {self.at}")

    def end(self) -> None:
        """Let go of it, after the test."""
        if not self.is_over and self._greenlet:
            self._greenlet.throw()


class Stepping:
    """Stops whoever makes a request and is one of its processes; others, as the test itself, are answered at once."""

    def __init__(self, kafka: FakeKafka, clock: Clock) -> None:
        self.running: dict[greenlet, Process] = {}
        self._processes: list[Process] = []
        self._clock = clock
        self._kafka = kafka
        kafka.faults = self.stop

    def spawn(self, name: str, run: Callable[[], None]) -> Process:
        """A process that has not begun."""
        process = Process(self, name, run)
        self._processes.append(process)
        return process

    def stop(self, call: str) -> Fault | None:
        """Wait until the test steps it again; what it is given is what becomes of the request."""
        current = getcurrent()
        process = self.running.get(current)
        if process is None:
            return None
        process.at = call
        fault: Fault | None = current.parent.switch()
        self._clock.time_ms += REQUEST_MS
        return fault

    def close(self) -> None:
        """End all of them; what they still do in ending is no part of the test."""
        self._kafka.faults = lambda call: None
        self.running = {}
        for process in self._processes:
            process.end()

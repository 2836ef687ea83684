"""What may happen to a running engine: kills, pauses, and zombies that wake. Each is over when its method returns."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from demo.broker import LocalBroker
from dlqadmin.host.network import wait_until
from tests.chaos.processes import Process, end, parent, process
from tests.chaos.world import World

BUSY_TIMEOUT_S = 30
PROGRESS_TIMEOUT_S = 30
PAUSE_S = (0.3, 3.0)


class Mischief:
    """One run's; `kills` counts what was done by kind, `log` says it in order."""

    def __init__(
        self,
        world: World,
        rng: random.Random,
        progress: Callable[[], int],
        brokers: Callable[[], Sequence[LocalBroker]],
    ) -> None:
        self.world = world
        self.rng = rng
        self.kills: Counter[str] = Counter()
        self.log: list[str] = []
        self._progress = progress
        self._brokers = brokers

    def choose(self, weights: Mapping[str, int]) -> str:
        """One of these, by its weight."""
        (name,) = self.rng.choices(list(weights), list(weights.values()))
        return name

    def do(self, name: str) -> None:
        """Call the method of that name; where there is nobody to do it to, nothing happens."""
        getattr(self, name)()

    def note(self, what: str) -> None:
        self.kills[what] += 1
        self.log.append(what)

    def await_progress(self) -> None:
        """Until more is written; a zombie wakes in the end, whether or not its successor got on."""
        before = self._progress()
        with suppress(TimeoutError):
            wait_until(lambda: self._progress() > before, "progress", PROGRESS_TIMEOUT_S, 0.2)

    def kill_worker(self) -> None:
        for one in self._one_of(self._busy()):
            self.note("kill worker")
            one.send(signal.SIGKILL)

    def kill_executor(self) -> None:
        for one in self._one_of(self._busy() or self.world.spark.python_workers()):
            self.note("kill executor")
            end([parent(parent(one))])

    def kill_driver(self) -> None:
        """The leader ends; one that stands by leads in its place, or a new one."""
        self.note("kill driver")
        self.world.drivers.kill(self.world.drivers.await_leader())
        self.world.drivers.await_leader()

    def kill_broker(self) -> None:
        broker = self.rng.choice(self._brokers())
        self.note("kill broker")
        broker.kill()
        time.sleep(self.rng.uniform(0, 2))
        self.world.start_broker(broker)

    def pause_worker(self) -> None:
        for one in self._one_of(self._busy()):
            self._pause("worker", one)

    def pause_executor(self) -> None:
        for one in self._one_of(self._busy() or self.world.spark.python_workers()):
            self._pause("executor", parent(parent(one)))

    def pause_driver(self) -> None:
        self._pause("driver", self.world.drivers.await_leader().process)

    def pause_broker(self) -> None:
        self._pause("broker", _process_of(self.rng.choice(self._brokers())))

    def wake_worker(self) -> None:
        """A worker stops in the middle of its work, and wakes as a zombie when its successor has got on."""
        for one in self._one_of(self._busy()):
            self.note("zombie worker")
            with _stopped(one):
                daemon = parent(one)
                executor = parent(daemon)
                end([daemon])  # first: its orderly end would be the end of the stopped one, too
                if self.rng.random() < 0.7:
                    end([executor])
                else:
                    self.kill_driver()
                self.await_progress()

    def wake_leader(self) -> None:
        """A leader stops for so long that another driver leads, and wakes."""
        leader = self.world.drivers.await_leader()
        if len(self.world.drivers.running) < 2:
            self.world.drivers.start()
        self.note("zombie leader")
        with _stopped(leader.process):
            self.world.drivers.await_leader()
            self.await_progress()
        self.world.drivers.await_leader()

    def _busy(self) -> list[Process]:
        """The workers with a record in hand, once there are any."""
        with suppress(TimeoutError):
            wait_until(lambda: bool(self.world.busy_workers()), "a busy worker", BUSY_TIMEOUT_S)
        return self.world.busy_workers()

    def _one_of(self, processes: Sequence[Process]) -> list[Process]:
        return [self.rng.choice(processes)] if processes else []

    def _pause(self, kind: str, one: Process) -> None:
        self.note(f"pause {kind}")
        with _stopped(one):
            time.sleep(self.rng.uniform(*PAUSE_S))


@contextmanager
def _stopped(one: Process) -> Iterator[None]:
    """Stopped within, and woken whatever happens."""
    one.send(signal.SIGSTOP)
    try:
        yield
    finally:
        one.send(signal.SIGCONT)


def _process_of(broker: LocalBroker) -> Process:
    assert broker.process is not None
    return process(broker.process.pid)

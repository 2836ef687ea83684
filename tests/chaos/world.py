"""All that lives longer than one run: brokers, a Spark cluster, drivers, databases."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from demo.broker import LocalBroker
from demo.postgres import LocalPostgres
from tests.chaos.drivers import Drivers
from tests.chaos.processes import Process
from tests.chaos.spark_cluster import SparkCluster, spark_options

BROKER = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
SIGNED_WITHIN_S = 1.0


class World:
    """Everything is a child of this process and is ended, by its id, in `close`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        self.broker = LocalBroker(home / "broker", overrides=BROKER)
        self.spark = SparkCluster(home / "spark")
        self.signs = home / "signs"
        self.signs.mkdir()
        self.files = home / "files"
        self.files.mkdir()
        name = uuid4().hex[:8]
        self.drivers = Drivers(
            home,
            (
                f"bootstrap.servers={self.broker.bootstrap_servers}",
                "plugin.classes.allow=tests.*",
                f"file.connectors.root={self.files}",
                f"group.id=engine-{name}",
                f"config.storage.topic=configs-{name}",
                f"status.storage.topic=status-{name}",
                f"outcome.storage.topic=outcomes-{name}",
                f"offset.storage.topic=offsets-{name}",
                f"spark.master={self.spark.master}",
                "slots=4",
                "lease.budget.ms=2000",
                "offset.flush.interval.ms=1000",
                "consumer.queued.max.messages.kbytes=1",  # small chunks, so that a transaction has many of them
                "task.shutdown.graceful.timeout.ms=2000",
                "session.timeout.ms=6000",  # a driver that was killed is missed after that
                "exactly.once.source.enabled=true",
                *spark_options(),
            ),
        )
        self._other: LocalBroker | None = None
        self._postgres: LocalPostgres | None = None
        self._engine = False

    def start(self) -> World:
        self.mend()
        return self

    def start_engine(self) -> None:
        """The Spark cluster and a driver, once; return when it leads."""
        if not self._engine:
            self._engine = True
            self.spark.start()
            self.drivers.start()
        self.drivers.await_leader()

    @property
    def other(self) -> LocalBroker:
        """The second cluster, that mirrors write to."""
        if self._other is None:
            self._other = LocalBroker(self.home / "other", overrides=BROKER).start()
        return self._other

    @property
    def postgres_url(self) -> str:
        if self._postgres is None:
            self._postgres = LocalPostgres().start()
        return self._postgres.url

    def brokers(self) -> list[LocalBroker]:
        return [self.broker] if self._other is None else [self.broker, self._other]

    def start_broker(self, broker: LocalBroker) -> None:
        """Start it again, a second time if it must: after a kill it has its logs to look through."""
        try:
            broker.start()
        except TimeoutError:
            broker.start()

    def busy_workers(self) -> list[Process]:
        """The Python workers that have a record in hand, by their own signs."""
        now = time.time()
        signed = {int(one.name) for one in self.signs.iterdir() if now - one.stat().st_mtime < SIGNED_WITHIN_S}
        return [one for one in self.spark.python_workers() if one.pid in signed]

    def end_standbys(self) -> None:
        """One driver is left: each run begins with one."""
        self.drivers.keep_leader()

    def mend(self) -> None:
        """Brokers that a failed run has left behind dead are started again."""
        for broker in self.brokers():
            if broker.process is None:
                self.start_broker(broker)

    def close(self) -> None:
        """End all of it, the stopped included; the first trouble is raised when all was tried."""
        closers: list[Callable[[], None]] = [self.drivers.close, self.spark.close]
        closers += [lambda broker=broker: _end(broker) for broker in self.brokers()]  # type: ignore[misc]  # a lambda with a default
        closers += [] if self._postgres is None else [self._postgres.stop]
        troubles: list[Exception] = []
        for close in closers:
            try:
                close()
            except Exception as error:  # noqa: BLE001, whatever one raises, the others are to be ended too
                troubles.append(error)
        if troubles:
            raise ExceptionGroup("could not be ended", troubles)


def _end(broker: LocalBroker) -> None:
    if broker.process is not None:
        broker.process.send_signal(signal.SIGCONT)
    broker.kill()

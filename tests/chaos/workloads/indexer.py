"""Two indexers of one group on PostgreSQL, that are killed in turn: each dead letter is listed once, and searchable."""

from __future__ import annotations

import random

from confluent_kafka import Producer

from demo.broker import LocalBroker
from tests.broker.test_indexing_kills import ROWS, TEXTS, Indexers
from tests.broker.test_replay_kills import new_database
from tests.chaos.mischief import Mischief
from tests.chaos.topics import WRITE_TIMEOUT_S, read_once
from tests.chaos.verify import Verdict, judge_unordered
from tests.chaos.world import World

PARTITIONS = 4
MISCHIEF = {"kill indexer": 6, "kill_broker": 1, "pause_broker": 1}
LISTED = 'SELECT "partition", "offset" FROM deadletters_deadletter'


class IndexerWorkload:
    """Its records are dead letters. It has no weak kind: an indexer is always exactly once."""

    def __init__(self, world: World, name: str, rng: random.Random, *, weak: bool = False) -> None:
        self.world, self.name, self.rng = world, name, rng
        self.servers = world.broker.bootstrap_servers
        self.records = 0
        self._indexers: Indexers | None = None
        self._producer = Producer({"bootstrap.servers": self.servers, "enable.idempotence": True, "log_level": 0})

    def begin(self) -> None:
        home = self.world.home / self.name
        home.mkdir()
        self._indexers = Indexers(self.servers, new_database(self.world.postgres_url), home)
        self.feed()
        for _ in range(2):
            self.indexers.start()

    def feed(self) -> None:
        for _ in range(self.rng.randrange(1000, 2000)):
            value = b"no context, number %d" % self.records
            self._producer.produce(self.indexers.topic, value, partition=self.records % PARTITIONS)
            self.records += 1
        if self._producer.flush(WRITE_TIMEOUT_S):
            raise TimeoutError(f"{self.indexers.topic} did not take its records within {WRITE_TIMEOUT_S} s")

    def disturb(self, mischief: Mischief) -> None:
        what = mischief.choose(MISCHIEF)
        if what == "kill indexer":
            mischief.note(what)
            victim = self.rng.choice([one for one in self.indexers.processes if one.poll() is None])
            victim.kill()
            victim.wait()
            self.indexers.start()
        else:
            mischief.do(what)

    @property
    def indexers(self) -> Indexers:
        assert self._indexers is not None
        return self._indexers

    def brokers(self) -> list[LocalBroker]:
        return [self.world.broker]

    def progress(self) -> int:
        return int(self.indexers.one(ROWS)[0])

    def verdicts(self) -> dict[str, Verdict]:
        written = [
            (one.partition(), one.offset())
            for lane in read_once(self.servers, self.indexers.topic).values()
            for one in lane
        ]
        return {"rows": judge_unordered(written, self.indexers.connection.execute(LISTED).fetchall())}

    def is_caught_up(self) -> bool:
        """Is every word searchable, too?"""
        return self.indexers.one(TEXTS) == (self.records, 0)

    def end(self) -> None:
        if self._indexers is not None:
            self._indexers.stop()

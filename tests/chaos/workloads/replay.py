"""A replay job of the dashboard: dead letters sent back, a chunk and the job's progress in one transaction.

A group that is not the engine's reads them and writes dead letters for some, and the job says what became of each.

CHAOS_RECORDS=50000 RUNS=1 make chaos ARGS="--only replay --events 20" is the long one.
"""

from __future__ import annotations

import os
import random
from contextlib import suppress

from confluent_kafka.admin import AdminClient

from demo.broker import LocalBroker
from dlqadmin.host.redis_server import LocalRedis
from tests.broker.replay_world import TOPIC
from tests.chaos.foreign_reader import fails, ordinal
from tests.chaos.mischief import Mischief
from tests.chaos.topics import end_offset, read_once
from tests.chaos.verify import Verdict, judge, judge_unordered
from tests.chaos.watched_replay import DEAD_LETTERS, WatchedReplay, judge_outcomes
from tests.chaos.world import World

RECORDS = int(os.environ.get("CHAOS_RECORDS", "1500"))
RATE = max(150, RECORDS // 200)  # records a second, so that there is time for something to happen
MISCHIEF = {
    "kill sender": 3,
    "zombie sender": 3,
    "restart redis": 2,
    "kill_broker": 2,
    "pause_broker": 2,
    "kill reader": 2,
    "kill indexer": 1 if RECORDS > 10_000 else 0,  # its successor gets nothing for 45 s
}
PLACES = "SELECT ordinal, sent_partition, sent_offset FROM replays_replayitem WHERE sent_offset IS NOT NULL"


class ReplayWorkload:
    """Its victims are the processes that send, read and index, Redis, which loses all it holds, and the broker.

    A weak one has a reader that writes its dead letters when they are no longer expected.
    """

    def __init__(self, world: World, name: str, rng: random.Random, *, weak: bool = False) -> None:
        self.world = world
        self.name = name
        self.rng = rng
        self.servers = world.broker.bootstrap_servers
        self.records = 0
        self.weak = weak
        self.names = {"sender": "sender-0", "reader": "reader-0", "indexer": "indexer-0"}
        self._redis: LocalRedis | None = None
        self._replay: WatchedReplay | None = None

    def begin(self) -> None:
        home = self.world.home / self.name
        home.mkdir()
        self._redis = LocalRedis().start()
        url = f"sqlite:///{home}/dlqadmin.sqlite3"
        group = f"billing-{self.name}"
        self._replay = WatchedReplay(home, self.servers, self._redis.url, url, group, late=self.weak)
        self._replay.start_worker()
        self._replay.start_beat()
        for kind, name in self.names.items():
            self.start(kind, name)
        self._replay.until_read()
        self._replay.say("run", str(RECORDS), str(RATE), group)
        self.records = RECORDS

    def feed(self) -> None:
        """All of it is there from the beginning."""

    def disturb(self, mischief: Mischief) -> None:
        what = mischief.choose(MISCHIEF)
        if what.startswith("kill "):
            mischief.note(what)
            kind = what.removeprefix("kill ")
            self.replay.kill(self.names[kind])
            self.start_successor(kind)
        elif what == "zombie sender":
            mischief.note(what)
            stopped = self.names["sender"]
            self.replay.freeze(stopped)
            self.start_successor("sender")
            mischief.await_progress()
            self.replay.thaw(stopped)
        elif what == "restart redis":
            mischief.note(what)
            assert self._redis is not None
            self._redis.stop()
            self._redis.start()
        else:
            mischief.do(what)

    def start(self, kind: str, name: str) -> None:
        start = {
            "sender": self.replay.start_replayer,
            "reader": self.replay.start_reader,
            "indexer": self.replay.start_indexer,
        }
        start[kind](name)

    def start_successor(self, kind: str) -> None:
        self.names[kind] = f"{kind}-{len(self.replay.processes)}-{self.rng.randrange(1000)}"
        self.start(kind, self.names[kind])

    @property
    def replay(self) -> WatchedReplay:
        assert self._replay is not None
        return self._replay

    def brokers(self) -> list[LocalBroker]:
        return [self.world.broker]

    def progress(self) -> int:
        return end_offset(self.servers, TOPIC)

    def verdicts(self) -> dict[str, Verdict]:
        lanes = read_once(self.servers, TOPIC)
        ordinals = {partition: [ordinal(message) for message in lane] for partition, lane in lanes.items()}
        places = [(ordinal(one), one.partition(), one.offset()) for lane in lanes.values() for one in lane]
        dead = self.replay.dead()
        return {
            "records": judge_unordered(range(RECORDS), [one for lane in ordinals.values() for one in lane]),
            "order": judge({at: sorted(set(lane)) for at, lane in ordinals.items()}, ordinals)._replace(doubled=()),
            "places": judge_unordered(sorted(self.replay.rows(PLACES)), sorted(places)),
            "dead letters": judge_unordered([one for one in range(RECORDS) if fails(one)], sorted(dead)),
            "outcomes": judge_outcomes(range(RECORDS), dead, self.replay.claims()),
        }

    def is_caught_up(self) -> bool:
        """Is every record sent, and every outcome known, by the replay's own books, too?"""
        return self.replay.sent() == RECORDS and self.replay.awaits_nothing()

    def end(self) -> None:
        if self._replay is not None:
            self._replay.stop()
        if self._redis is not None:
            self._redis.stop()
        admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        for deleted in admin.delete_topics([TOPIC, DEAD_LETTERS]).values():
            with suppress(Exception):
                deleted.result(20)

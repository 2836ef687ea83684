"""A replay job of the dashboard: dead letters sent back, a chunk and the job's progress in one transaction.

CHAOS_RECORDS=50000 RUNS=1 make chaos ARGS="--only replay --events 20" is the long one.
"""

from __future__ import annotations

import os
import random
from contextlib import suppress

from confluent_kafka import Message
from confluent_kafka.admin import AdminClient

from demo.broker import Broker
from demo.redis import Redis
from engine.record.replay import ITEM
from tests.broker.replay_world import TOPIC, ReplayWorld
from tests.chaos.mischief import Mischief
from tests.chaos.topics import end_offset, read_once
from tests.chaos.verify import Verdict, judge, judge_unordered
from tests.chaos.world import World

RECORDS = int(os.environ.get("CHAOS_RECORDS", "1500"))
RATE = max(150, RECORDS // 200)  # records a second, so that there is time for something to happen
MISCHIEF = {"kill sender": 3, "zombie sender": 3, "restart redis": 2, "kill_broker": 2, "pause_broker": 2}
PLACES = "SELECT ordinal, sent_partition, sent_offset FROM replays_replayitem WHERE sent_offset IS NOT NULL"


class ReplayWorkload:
    """Its victims are the process that sends, Redis, which loses all it holds, and the broker."""

    def __init__(self, world: World, name: str, rng: random.Random, *, weak: bool = False) -> None:
        self.world = world
        self.name = name
        self.rng = rng
        self.servers = world.broker.bootstrap_servers
        self.records = 0
        self.sender = "sender-0"
        self._redis: Redis | None = None
        self._replay: ReplayWorld | None = None

    def begin(self) -> None:
        home = self.world.home / self.name
        home.mkdir()
        self._redis = Redis().start()
        url = f"sqlite:///{home}/dlqadmin.sqlite3"
        self._replay = ReplayWorld(home, self.servers, self._redis.url, url)
        self._replay.start_worker()
        self._replay.start_beat()
        self._replay.start_replayer(self.sender)
        self._replay.say("run", str(RECORDS), str(RATE))
        self.records = RECORDS

    def feed(self) -> None:
        """All of it is there from the beginning."""

    def disturb(self, mischief: Mischief) -> None:
        what = mischief.choose(MISCHIEF)
        if what == "kill sender":
            mischief.note(what)
            self.replay.kill(self.sender)
            self.start_successor()
        elif what == "zombie sender":
            mischief.note(what)
            stopped = self.sender
            self.replay.freeze(stopped)
            self.start_successor()
            mischief.await_progress()
            self.replay.thaw(stopped)
        elif what == "restart redis":
            mischief.note(what)
            assert self._redis is not None
            self._redis.stop()
            self._redis.start()
        else:
            mischief.do(what)

    def start_successor(self) -> None:
        self.sender = f"sender-{len(self.replay.processes)}-{self.rng.randrange(1000)}"
        self.replay.start_replayer(self.sender)

    @property
    def replay(self) -> ReplayWorld:
        assert self._replay is not None
        return self._replay

    def brokers(self) -> list[Broker]:
        return [self.world.broker]

    def progress(self) -> int:
        return end_offset(self.servers, TOPIC)

    def verdicts(self) -> dict[str, Verdict]:
        lanes = read_once(self.servers, TOPIC)
        ordinals = {partition: [_ordinal(message) for message in lane] for partition, lane in lanes.items()}
        places = [(_ordinal(one), one.partition(), one.offset()) for lane in lanes.values() for one in lane]
        return {
            "records": judge_unordered(range(RECORDS), [one for lane in ordinals.values() for one in lane]),
            "order": judge({at: sorted(set(lane)) for at, lane in ordinals.items()}, ordinals)._replace(doubled=()),
            "places": judge_unordered(sorted(self.replay.rows(PLACES)), sorted(places)),
        }

    def is_caught_up(self) -> bool:
        """Is every record sent by the replay's own books, too?"""
        return self.replay.sent() == RECORDS and self.replay.count("state IN ('queued', 'sending')") == 0

    def end(self) -> None:
        if self._replay is not None:
            self._replay.stop()
        if self._redis is not None:
            self._redis.stop()
        admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        with suppress(Exception):
            admin.delete_topics([TOPIC])[TOPIC].result(20)


def _ordinal(message: Message) -> int:
    """Which item the record says it is."""
    return int(dict(message.headers() or ())[ITEM].rpartition(b"/")[2])

"""A replay whose records a group reads that is not the engine's, and what it says became of each in that group."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.broker.replay_world import TOPIC, ReplayWorld
from tests.chaos.foreign_reader import ordinal
from tests.chaos.topics import create, read_once
from tests.chaos.verify import Verdict, judge_unordered

DEAD_LETTERS = f"{TOPIC}.dlq"
SETTLE_S = 2.0
PENDING = "state IN ('queued', 'sending', 'sent')"
CLAIMS = "SELECT ordinal, state, history FROM replays_replayitem"
# Of records that a group reads, whoever of it is killed or cut off.
NEVER_TRUE = ("no_group", "offset_moved_by_hand", "not_observed")
Claim = tuple[int, str]  # of an item, and what is, or once was, said of it


class WatchedReplay(ReplayWorld):
    """The processes of a replay, with a reader of what is sent and an indexer of the reader's dead letters."""

    def __init__(self, home: Path, broker: str, redis: str, database: str, group: str, *, late: bool = False) -> None:
        super().__init__(home, broker, redis, database)
        self.group, self._late = group, late
        self.env |= {"DLQ_TOPICS": DEAD_LETTERS, "OBSERVED_SETTLE_S": str(SETTLE_S)}
        create(broker, DEAD_LETTERS, 2)

    def start_reader(self, name: str) -> None:
        words = [self.broker, TOPIC, DEAD_LETTERS, self.group, *([str(3 * SETTLE_S)] if self._late else [])]
        self._start(name, [sys.executable, "-m", "tests.chaos.foreign_reader", *words])

    def start_indexer(self, name: str) -> None:
        self._start(name, [sys.executable, "manage.py", "index_deadletters", "--group", f"index-{self.group}"])

    def awaits_nothing(self) -> bool:
        """Is the replay done, by its own books?"""
        return self.count(PENDING) == 0 and self.rows("SELECT status FROM replays_replay") == [("done",)]

    def dead(self) -> set[int]:
        """The items of which the reader has written dead letters; one may have several."""
        return {ordinal(one) for lane in read_once(self.broker, DEAD_LETTERS).values() for one in lane}

    def until_read(self) -> None:
        """Return when the group has a member."""
        self.until(self._is_read, "a reader")

    def claims(self) -> list[Claim]:
        """What the replay says of each item, and what it has said before."""
        rows = self.rows(CLAIMS)
        return sorted({claim for number, state, history in rows for claim in claimed(number, state, history)})

    def _is_read(self) -> bool:
        admin = AdminClient({"bootstrap.servers": self.broker, "log_level": 0})
        with suppress(KafkaException):
            return bool(admin.describe_consumer_groups([self.group])[self.group].result(10).members)
        return False


def claimed(number: int, state: str, history: str | list[dict[str, str]]) -> list[Claim]:
    """What is said of an item, and was before; for a while nothing may be known, but not for any reason."""
    rows = json.loads(history) if isinstance(history, str) else history  # a column of SQLite, or of PostgreSQL
    earlier = [one["reason"] if one["state"] == "unknown" else one["state"] for one in rows]
    return [(number, one) for one in (state, *earlier) if one in (state, "passed", "failed_again", *NEVER_TRUE)]


def judge_outcomes(ordinals: Iterable[int], dead: Collection[int], claims: Iterable[Claim]) -> Verdict:
    """Those with a dead letter have failed again, the others have passed; and nothing else was ever said of them."""
    return judge_unordered([(n, "failed_again" if n in dead else "passed") for n in ordinals], claims)

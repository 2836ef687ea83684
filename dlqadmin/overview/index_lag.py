"""The lag of the index behind the dead letter topics, and of search text behind the index."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from dlqadmin.broker import clusters, topics
from dlqadmin.broker.availability import KafkaAvailability
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.index import word_index
from dlqadmin.deadletters.index.followed_topics import followed_topics
from dlqadmin.deadletters.models import IndexPosition

BEHIND_RECORDS = 1000
BEHIND_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """The index lag of one partition of a dead letter topic."""

    topic: str
    partition: int
    position: int
    end: int
    at: datetime
    seconds: float

    @property
    def records(self) -> int:
        return max(0, self.end - self.position)


@dataclass(frozen=True, slots=True)
class TextLag:
    """The lag of search text: dead letters that cannot be searched by words yet."""

    records: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class IndexLag:
    """The lag of the index behind the dead letter topics, and of search text behind the index."""

    partitions: list[PartitionLag]
    text: TextLag = TextLag()

    @property
    def records(self) -> int:
        return sum(row.records for row in self.partitions)

    @property
    def seconds(self) -> float:
        return max((row.seconds for row in self.partitions), default=0.0)

    @property
    def behind(self) -> bool:
        return self.records > BEHIND_RECORDS or self.seconds > BEHIND_SECONDS


def index_lag(now: datetime, broker: KafkaAvailability) -> IndexLag:
    """Return the lag of the index in the topics that it follows now.

    The ends are the broker's if it responds, else the last known ones.
    """
    followed = followed_topics()
    rows = IndexPosition.objects.filter(cluster=clusters.current()).order_by("topic", "partition")
    known = {(row.topic, row.partition): row for row in rows if followed.follows(row.topic)}
    ends = {key: row.end_offset or row.position for key, row in known.items()}
    if broker.reachable:
        wanted = [key for key in known if key[1] < broker.topics.get(key[0], 0)]
        with suppress(BrokerUnavailable):
            ends |= topics.ends(wanted)
    return IndexLag([_lag(row, ends[key], now) for key, row in known.items()], text_lag(now))


def text_lag(now: datetime) -> TextLag:
    """Return how many dead letters wait for their text, and how long the first one has waited."""
    waiting = word_index.text_backlog()
    return TextLag(waiting.records, max(0.0, (now - waiting.since).total_seconds()) if waiting.since else 0.0)


def _lag(row: IndexPosition, end: int, now: datetime) -> PartitionLag:
    """Return the lag of one partition.

    The seconds count from the last indexed record, if there are later records.
    """
    since = row.last_record_at or row.updated_at
    seconds = max(0.0, (now - since).total_seconds()) if end > row.position else 0.0
    if row.end_offset is None or row.end_offset <= row.position:
        # The index was at the end at the last check, so the first new record is younger than that check.
        seconds = min(seconds, max(0.0, (now - row.updated_at).total_seconds()))
    return PartitionLag(row.topic, row.partition, row.position, end, row.updated_at, seconds)

"""The health of the dashboard's parts: index, broker, engine, Redis, database."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import redis
from django.conf import settings
from django.db import connection

from dlqadmin.audit.queries import trail_health
from dlqadmin.broker import topics
from dlqadmin.broker.availability import KafkaAvailability, availability
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.connectors.queries import EngineResponse
from dlqadmin.deadletters.index import word_index
from dlqadmin.deadletters.models import IndexPosition
from dlqadmin.overview.documents import (
    BrokerHealth,
    DatabaseHealth,
    EngineHealth,
    Health,
    IndexedPartition,
    IndexHealth,
    RedisHealth,
    TextHealth,
)
from dlqadmin.rest.times import iso

BEHIND_RECORDS = 1000
BEHIND_SECONDS = 30.0
STOPPED_SECONDS = 60.0
UNSEALED_SECONDS = 60.0


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
    """Return the lag of the index.

    The ends are the broker's if it responds, else the last known ones.
    """
    rows = IndexPosition.objects.filter(cluster=settings.CLUSTER).order_by("topic", "partition")
    known = {(row.topic, row.partition): row for row in rows}
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


def health(now: datetime, engine: EngineResponse) -> Health:
    """Return the health of every part. The status is `degraded` if a part is unhealthy."""
    broker = availability()
    lag = index_lag(now, broker)
    has_redis, audit = redis_answers(), trail_health(now)
    is_sealed = audit.unsealed_seconds <= UNSEALED_SECONDS and not audit.shipping_trouble
    well = broker.reachable and engine.reachable and has_redis and not lag.behind and is_sealed
    return Health(
        status="ok" if well else "degraded",
        index=IndexHealth(
            records_behind=lag.records,
            seconds_behind=round(lag.seconds, 1),
            text=TextHealth(records_behind=lag.text.records, seconds_behind=round(lag.text.seconds, 1)),
            topics=[
                IndexedPartition(
                    topic=row.topic, partition=row.partition, position=row.position, end=row.end, at=iso(row.at)
                )
                for row in lag.partitions
            ],
        ),
        broker=BrokerHealth(reachable=broker.reachable, brokers=broker.brokers),
        engine=EngineHealth(reachable=engine.reachable, workers=len(workers(engine))),
        redis=RedisHealth(reachable=has_redis),
        database=DatabaseHealth(vendor=connection.vendor),
        audit=audit,
    )


def workers(engine: EngineResponse) -> set[str]:
    """Return the workers that run a connector or a task."""
    found: set[str] = set()
    for row in engine.body.values():
        status = row.get("status", {})
        holders = [status.get("connector"), *(status.get("tasks") or [])]
        found |= {str(holder.get("worker_id") or "") for holder in holders if isinstance(holder, dict)}
    return found - {""}


def redis_answers() -> bool:
    """Return whether Redis responds within a second."""
    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1)
    try:
        client.ping()
    except (redis.RedisError, OSError):
        return False
    finally:
        client.close()
    return True


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

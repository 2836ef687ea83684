"""The API documents of the overview and of health."""

from __future__ import annotations

from typing import Literal

from dlqadmin.audit.documents import TrailHealth
from dlqadmin.metrics.documents import DailyErrors, WorkSummary
from dlqadmin.rest.documents import Document, Time


class FailingTopics(Document):
    """The number of watched origin topics with failures. It is a lower bound if it is not exact."""

    count: int
    exact: bool
    watched: int
    names: list[str]


class UnresolvedGroups(Document):
    """Groups that need a decision."""

    count: int
    new: int
    regressed: int


class NewestFailingReplay(Document):
    """The newest replay with records that failed again."""

    id: int
    name: str
    sent: int
    passed: int
    failed_again: int


class ReplayCounts(Document):
    """Replays that started in the time range, and those with records that failed again."""

    started: int
    failing: int
    newest: NewestFailingReplay | None


class SummaryDocument(Document):
    """The figures at the top of the overview."""

    failing_topics: FailingTopics
    unresolved_groups: UnresolvedGroups
    errors_24h: DailyErrors
    replays: ReplayCounts
    total: int
    work: WorkSummary


AttentionKind = Literal[
    "new", "escalating", "regressed", "budget", "index_behind", "retention_soon", "failed_task", "broker_down",
    "engine_down", "replay_paused", "replay_failing",
]  # fmt: skip


class AttentionItem(Document):
    """A finding, with a link to the relevant page."""

    kind: AttentionKind
    title: str
    text: str
    at: Time | None
    href: str


class AttentionItems(Document):
    """The findings that need attention, most severe first, and the healthy parts."""

    items: list[AttentionItem]
    ok: str


class IndexedPartition(Document):
    """The index position of one partition."""

    topic: str
    partition: int
    position: int
    end: int
    at: Time


class TextHealth(Document):
    """The lag of search text behind the index."""

    records_behind: int
    seconds_behind: float


class IndexHealth(Document):
    """The lag of the index."""

    records_behind: int
    seconds_behind: float
    text: TextHealth
    topics: list[IndexedPartition]


class BrokerHealth(Document):
    """The state of Kafka."""

    reachable: bool
    brokers: int


class EngineHealth(Document):
    """The state of the engine."""

    reachable: bool
    workers: int


class RedisHealth(Document):
    """The state of Redis."""

    reachable: bool


class DatabaseHealth(Document):
    """The database in use. Without a database there is no response."""

    vendor: str


class Health(Document):
    """The health of every part."""

    status: Literal["ok", "degraded"]
    index: IndexHealth
    broker: BrokerHealth
    engine: EngineHealth
    redis: RedisHealth
    database: DatabaseHealth
    audit: TrailHealth


class Liveness(Document):
    """A sign that the web process responds."""

    alive: bool


class LiveState(Document):
    """The state that every screen follows. `version` changes when the data behind the figures changes."""

    health: Health
    version: str

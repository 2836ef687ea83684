"""The API documents of the overview and of health."""

from __future__ import annotations

from typing import Literal

from dlqadmin.audit.documents import TrailHealth
from dlqadmin.connectors.documents import DerivedState, TaskCounts
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


AnnotationType = Literal["deploy", "note", "replay", "configuration", "control", "restart"]


class AnnotationDocument(Document):
    """An event that charts show beside their figures.

    - `kind`: people and pipelines report `deploy` and `note`. The dashboard adds the others itself.
    - `until`: the end of the event; null if it has no duration or has not ended.
    - `source`: the program that reported it.
    - `replay`: the id of the replay; null for other kinds.
    - `removable`: whether this user may delete it.
    """

    id: str
    kind: AnnotationType
    at: Time
    until: Time | None
    title: str
    text: str
    url: str
    topic: str
    connector: str
    actor: str
    source: str
    replay: int | None
    removable: bool


class AnnotationList(Document):
    """Annotations of a time range, oldest first. If not `complete`, the oldest are left out."""

    results: list[AnnotationDocument]
    complete: bool


AttentionKind = Literal[
    "broker_down", "engine_down", "redis_down", "worker_down", "indexer_down", "failed_task", "new", "escalating",
    "canary_paused", "replay_paused", "approval_yours", "budget_exhausted", "regressed", "replay_failing",
    "index_behind", "budget", "connector_waiting", "retention_soon", "approval", "connector_held",
]  # fmt: skip
Severity = Literal["high", "medium", "low"]
FindingAction = Literal["open", "restart", "resume", "decide", "review"]
DismissalEndReason = Literal["", "undone", "over", "worse", "changed"]
ControlAction = Literal["restart_task", "restart", "resume"]
OverallStatus = Literal["ok", "degraded", "failing"]


class AttentionItem(Document):
    """A finding, with a link to the relevant page.

    `id` stays the same as long as the finding exists; dismissals refer to it. `score` is the harm times the
    newness. `count` is the number of records or errors behind
    the finding; 0 if there is none.

    `by` and `reason` are those of the person who asks for an approval.
    """

    id: str
    kind: AttentionKind
    severity: Severity
    score: float
    title: str
    text: str
    at: Time | None
    href: str
    action: FindingAction
    count: int
    by: str | None
    reason: str | None


class DismissalDocument(Document):
    """A person's decision not to list a finding. `until` is null: until the finding changes.

    `ended_why` is empty while the dismissal holds. `undone`: by `ended_by`. `over`: its time is over.
    `worse` and `changed`: the finding did.
    """

    finding: str
    kind: str
    title: str
    reason: str
    by: str
    at: Time
    until: Time | None
    ended_at: Time | None
    ended_by: str | None
    ended_why: DismissalEndReason


class DismissalList(Document):
    """The dismissals that hold, then those that ended in the last 30 days, newest first."""

    results: list[DismissalDocument]


class UnlistedState(Document):
    """A state that a person chose on purpose, so that it is no finding."""

    subject: str
    text: str
    href: str


class FailedTask(Document):
    """A failed task, with the first line of its error."""

    task: int
    since: Time | None
    error: str


class ConnectorEntry(Document):
    """One connector that does not run as a whole.

    `connector` is its name; before it is its Connect cluster and a slash, unless that is `engine`.
    `lag` is the number of records that wait for it. `error` is the first line of its own error or of its
    first failed task. `actions` are those that the signed-in person may do now.
    """

    connector: str
    state: DerivedState
    text: str
    since: Time | None
    by: str | None
    reason: str | None
    running: int
    tasks: int
    lag: int | None
    topics: list[str]
    error: str | None
    failed_tasks: list[FailedTask]
    actions: list[ControlAction]
    href: str


class HealthyRest(Document):
    """The connectors that run, and the other parts that work."""

    connectors: list[str]
    running: int
    tasks: int
    text: str
    detail: str


class StatusStrip(Document):
    """The status strip of the overview.

    `held` are the paused and stopped connectors. `waiting` are connectors without a worker or tasks, and
    all connectors of a Connect cluster that does not respond.
    """

    failed_tasks: int
    failed: list[ConnectorEntry]
    held: list[ConnectorEntry]
    waiting: list[ConnectorEntry]
    rest: HealthyRest


class AttentionItems(Document):
    """The findings that need attention: worst first, then newest.

    `more` is the number of findings that are left out because there are many of their kind. `ok` is a
    sentence about the healthy parts; it is empty unless `status` is `ok`. `reasons` say why it is not.
    """

    items: list[AttentionItem]
    more: int
    dismissed: list[DismissalDocument]
    not_listed: list[UnlistedState]
    strip: StatusStrip
    status: OverallStatus
    reasons: list[str]
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


class ConnectHealth(Document):
    """The state of one Connect cluster. `workers` run a connector or a task."""

    name: str
    reachable: bool
    workers: int


class RedisHealth(Document):
    """The state of Redis."""

    reachable: bool


class DatabaseHealth(Document):
    """The database in use. Without a database there is no response."""

    vendor: str


class ConnectorCounts(Document):
    """The connectors and Spark queries by their shown state: `unknown` if the cluster or query does not tell."""

    total: int
    running: int
    failed: int
    paused: int
    stopped: int
    unassigned: int
    no_tasks: int
    unknown: int
    finished: int


class TaskTotals(TaskCounts):
    """The tasks of all connectors and Spark queries by state; `unknown` as for connectors."""

    unknown: int


class WorkerQueueHealth(Document):
    """The Celery workers of one queue.

    `silent` are the workers that ended without notice in the last hour. `seen_at` is the newest heartbeat,
    and null if there was none in the last hour.
    """

    queue: str
    purpose: str
    alive: int
    silent: list[str]
    seen_at: Time | None


class SchedulerHealth(Document):
    """The state of Celery beat, which starts periodic tasks. They tell it through a worker."""

    alive: bool
    seen_at: Time | None


class IndexerHealth(Document):
    """The indexer of a cluster. `alive` and `seen_at` are null if it never wrote a position."""

    cluster: str
    alive: bool | None
    seen_at: Time | None


class ApprovalHealth(Document):
    """The number of plans that wait for a second person's approval."""

    waiting: int


class Health(Document):
    """The health of every part.

    `failing`: a part does not work, or a task failed. `degraded`: a part is late, paused, stopped, or its
    state is unknown. `reasons` has a sentence for each cause.
    """

    status: OverallStatus
    reasons: list[str]
    index: IndexHealth
    indexers: list[IndexerHealth]
    broker: BrokerHealth
    connect: list[ConnectHealth]
    connectors: ConnectorCounts
    tasks: TaskTotals
    workers: list[WorkerQueueHealth]
    scheduler: SchedulerHealth
    approvals: ApprovalHealth
    redis: RedisHealth
    database: DatabaseHealth
    audit: TrailHealth


class Liveness(Document):
    """A sign that the web process responds."""

    alive: bool


class Readiness(Document):
    """A sign that the web process can answer."""

    ready: bool


class LiveState(Document):
    """The state that every screen follows. `version` changes when the data behind the figures changes."""

    health: Health
    version: str


class TeamOpen(Document):
    """The number of open dead letters of a team's topics and connectors."""

    team: int
    open: int


class UnownedTopic(Document):
    """An indexed topic that no team owns."""

    cluster: str
    topic: str


class TeamFacts(Document):
    """Facts of the index about the teams in reach."""

    open: list[TeamOpen]
    unowned: list[UnownedTopic]

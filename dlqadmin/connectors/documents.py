"""Connectors and their tasks as API documents."""

from __future__ import annotations

from typing import Literal

import msgspec

from dlqadmin.connectors.connect_clusters import ConnectorKey
from dlqadmin.rest.documents import Document, Time

# Ordered from closest to failing to farthest. A `fail_fast` task has made no error yet: its first error fails it.
Risk = Literal["failed", "exhausted", "near", "within", "fail_fast", "unused", "unlimited", "handler", "unknown"]

# `no_tasks`: nothing to run. `unknown`: the engine does not respond, or the Spark query does not report.
# `finished`: a Spark query that has read everything.
DerivedState = Literal["failed", "stopped", "paused", "unassigned", "no_tasks", "unknown", "running", "finished"]


class TaskCounts(Document):
    """The tasks of a connector by state. `unassigned` tasks wait for a worker."""

    total: int
    running: int
    failed: int
    paused: int
    stopped: int
    unassigned: int


class ShownState(Document):
    """The state of a connector, derived from its own state and those of its tasks.

    `running` means that all tasks run. `failed` means that the connector or some tasks failed; `text`
    has the numbers. `since` is null if it is not known, and for connectors that run.

    `by` and `reason` are those of the person who paused or stopped the connector. They are null if the
    request did not go through the dashboard.

    If the engine does not respond, `state` is `unknown`, and `last_known` and `tasks` are those of its
    last response, at `as_of`. So it is with a Spark query that misses its reports. Otherwise `last_known` and `as_of`
    are null.
    """

    state: DerivedState
    text: str
    since: Time | None
    by: str | None
    reason: str | None
    tasks: TaskCounts
    last_known: DerivedState | None
    as_of: Time | None


class StageCounts(Document):
    """The failures of a stage (KIP-298), and the records that a handler dropped there (KIP-1033).

    `name` is the processor node of a stream, and empty for other connectors.
    """

    index: int
    type: str
    class_name: str = msgspec.field(name="class")
    name: str
    failed: int
    dropped: int


class ErrorLimit(Document):
    """One limit on the errors of a task. −1 means no limit, and then `left` is null.

    `left` errors are still tolerated; the next one fails the task.
    """

    limit: int
    used: int
    left: int | None


class ErrorBudgetDocument(Document):
    """The distance of a task from failing because of errors (KIP-298, "Task Tolerance Limits").

    `risk`, from the closest to failing:

    * `failed`
    * `exhausted`: the next error fails the task
    * `near`: half of a limit is used, or the rest will be used within an hour
    * `within`
    * `fail_fast`: no error is tolerated, and none happened yet
    * `unused`
    * `unlimited`
    * `handler`: a custom handler decides
    * `unknown`: not reported yet

    `left` is the smaller value of both limits. `rate` counts the errors of the last `window_ms`.
    `errors_per_hour` covers the last hour, and is null until five minutes are known. `empty_in_ms` is
    the time until the task fails at that rate.

    `handlers` are the handlers that the connector configures (KIP-1033), by what they decide about:
    `processing`, `deserialization`, `production`. The limits count and decide about all other errors.
    `decided_by` is `handlers` if no errors remain for the limits. It is also `handlers` for a stream
    without limits, where default handlers fail the task; then there is nothing to count.
    """

    risk: Risk
    left: int | None
    total: ErrorLimit | None
    rate: ErrorLimit | None
    window_ms: int
    decided_by: Literal["limits", "handlers"]
    handlers: dict[str, str]
    errors_per_hour: float | None
    empty_in_ms: int | None


class EndangeredTask(ErrorBudgetDocument):
    """One of the tasks that are closest to failing."""

    cluster: str
    connector: str
    task: int


class TaskDocument(Document):
    """One task, with its state and its latest figures.

    `state_since` is null if the task has not reported this state yet.

    `metrics` uses the names of KIP-298 and KIP-1033. `dropped_rate` is `dropped-records-rate`: records
    per second over the last report. `parked_until` is set while the task waits
    for a retry. `parked_reason` says why; it stays while an operation is repeated
    without success. `tolerance` is what the task reported; `budget` is what is left of it now.
    """

    id: int
    state: str
    state_since: Time | None
    trace: str | None
    lag: int | None
    metrics: dict[str, int]
    stages: list[StageCounts]
    stage_failures: dict[str, int]
    tolerance: dict[str, int]
    budget: ErrorBudgetDocument
    dropped_rate: float | None
    worker_id: str
    parked_until: Time | None
    parked_reason: str | None
    reported_at: Time | None


class SparkQueryDocument(Document):
    """The run of a guarded Spark query, by its last report.

    `run` is the id of Spark's query run or job run, `started_at` its begin. `batch` is the last micro-batch of a
    stream. While the query runs, it reports at least every `every_ms`. It `is_silent` after three such intervals
    without a report: then nobody knows whether it still runs.
    """

    run: str
    started_at: Time | None
    is_stream: bool
    batch: int | None
    reported_at: Time
    every_ms: int
    is_silent: bool


class ConnectorDocument(Document):
    """One connector of a Connect cluster, or a guarded Spark query. Secrets in its configuration are masked.

    A query is in the cluster `spark`, of kind and type `query`, with one task. Its `config` are its error options.
    Nobody can start, stop or change it here. `query` is null for connectors.

    Without `has_figures` the tasks report no counts to the dashboard: `metrics`, `stages` and the tasks' error
    budgets are empty, and `lag` is null. Kafka Connect's tasks never report any.

    `state` is what Kafka Connect reports; `shown` is derived from it and from the tasks.
    `trace` is that of the connector itself, not of a task.

    `kind` is sink, source, stream or query; `type` is Kafka Connect's term. `delivery` is null for an
    unusable configuration. `dlq_topic` is null if no dead letters are written.

    `dead_letters` is `durable`, or `best_effort` if the cluster of the dead letter topic acknowledges
    nothing. It is null without dead letters.
    """

    cluster: str
    name: str
    has_figures: bool
    type: str
    kind: str
    state: str
    shown: ShownState
    trace: str | None
    worker_id: str
    topics: list[str]
    dlq_topic: str | None
    delivery: str | None
    dead_letters: str | None
    config: dict[str, str]
    tasks: list[TaskDocument]
    metrics: dict[str, int]
    lag: int | None
    stages: list[StageCounts]
    last_error_at: Time | None
    query: SparkQueryDocument | None

    @property
    def key(self) -> ConnectorKey:
        """Return the connector's cluster and name."""
        return ConnectorKey(self.cluster, self.name)

    @property
    def has_ended(self) -> bool:
        """Return whether it is a Spark query that has finished or was stopped, so that it can't fail any more."""
        return self.key.is_query and self.shown.state in ("finished", "stopped")

    def task_label(self, task: int) -> str:
        """Return the name of a task in texts. A Spark query is its own only task."""
        return str(self.key) if self.key.is_query else f"{self.key}-{task}"


class ConnectorAnswer(ConnectorDocument):
    """One connector, with the age of its cluster's response."""

    reachable: bool
    as_of: Time | None


class ConnectClusterDocument(Document):
    """A Connect cluster of the settings, or the Spark queries.

    `software` is found out from its responses: `dlqadmin` is this project's engine, `kafka_connect` is Java's. It is
    null until the cluster responds. `spark` is no Connect cluster: it lists the guarded Spark queries, once one has
    reported.

    `trouble` is a sentence while the cluster is unreachable; then its connectors are those of its last response, at
    `as_of`. `has_figures`: the dashboard has the record counts and error budgets of its tasks.
    """

    name: str
    software: Literal["dlqadmin", "kafka_connect", "spark"] | None
    version: str
    reachable: bool
    as_of: Time | None
    trouble: str | None
    has_figures: bool


class ConnectorList(Document):
    """All connectors, sorted by cluster and name; the last known ones of an unreachable cluster.

    `nearest` lists the tasks closest to failing, in that order.
    """

    clusters: list[ConnectClusterDocument]
    nearest: list[EndangeredTask]
    results: list[ConnectorDocument]


class ControlAnswer(Document):
    """The cluster accepted the request; the state changes later."""

    cluster: str
    connector: str
    task: int | None
    action: str


class ConnectorConfiguration(Document):
    """The configuration of a connector, with masked secrets.

    `hidden` are the options whose values are masked, wholly or in part. A masked value that is sent back unchanged
    stands for the stored value.
    """

    cluster: str
    connector: str
    config: dict[str, str]
    hidden: list[str]


class ConnectorPlugin(Document):
    """A connector class of a cluster. `type` is sink, source or stream."""

    class_name: str = msgspec.field(name="class")
    type: str


class ConnectorPluginList(Document):
    """The connector classes of a cluster."""

    results: list[ConnectorPlugin]


class ConnectorOption(Document):
    """An option of a connector class, and the problems of its value. `type` is Kafka Connect's, in lower case.

    `importance` is high, medium or low, and empty if the cluster does not tell. `recommended` are at most 100 values
    that the plugin recommends with this configuration. An option that is not `visible` has no effect with it.
    """

    name: str
    type: str
    required: bool
    default: str | None
    doc: str
    group: str
    importance: str
    recommended: list[str]
    visible: bool
    errors: list[str]


class ConfigValidation(Document):
    """Every option of a connector class, and every other option of the configuration, with their problems."""

    plugin: str
    error_count: int
    options: list[ConnectorOption]

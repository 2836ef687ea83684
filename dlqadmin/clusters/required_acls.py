"""The permissions that the dashboard needs on a cluster, and whether it has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from django.conf import settings

from dlqadmin.broker.cluster_settings import ClusterSettings
from engine.config.acls import AclRequirement, grant_command

Verdict = Literal["ok", "missing", "not_checked"]
Operations = Mapping[tuple[str, str], frozenset[str] | None]
REPLAYS = "dlqadmin-replay-"
READER = "dlqadmin-reader"  # the group of dlqadmin.broker.topics; it commits nothing
MOST_TOPICS = 20


@dataclass(frozen=True, slots=True)
class DashboardAcl(AclRequirement):
    """A right that the dashboard needs."""

    unchecked: str = ""  # why it cannot be checked without side effects


@dataclass(frozen=True, slots=True)
class AclCheck:
    """A need, the result of its check, and the command that grants it."""

    need: DashboardAcl
    verdict: Verdict
    missing: tuple[str, ...]
    note: str
    command: str


def required_acls(topics: Sequence[str], cluster: ClusterSettings) -> list[DashboardAcl]:
    """Return the needs on a cluster. `topics` are its dead letter topics."""
    rows = [DashboardAcl(("Describe",), "cluster", "", "Lists the consumer groups")]
    if cluster.dead_letter_topics or topics:
        rows += _of_index(topics)
    if cluster.name == settings.CLUSTER:
        rows += [
            DashboardAcl(
                ("Read",), "topic", settings.STATUS_TOPIC, "Reads the metrics and states of the engine's tasks"
            ),
            DashboardAcl(("Read",), "topic", settings.OUTCOME_TOPIC, "Reads the outcomes of replayed records"),
        ]
    rows += [
        DashboardAcl(
            ("Read", "DescribeConfigs"), "topic", "*",
            "Shows neighbours, size limits and end offsets of the failed topics, and the records of browsed topics",
            unchecked="each record names its topics",
        ),
        DashboardAcl(
            ("Describe",), "group", "*", "Shows the commits of consumer groups after a replay",
            unchecked="some groups may be hidden from this user",
        ),
    ]  # fmt: skip
    if cluster.is_read_only:
        return rows
    return [
        *rows,
        DashboardAcl(
            ("Write",), "topic", "*", "Writes replayed records", unchecked="not tested: a test would write a record"
        ),
        DashboardAcl(
            ("Describe", "Write"), "transactional-id", REPLAYS, "Writes replays in transactions",
            prefixed=True, unchecked="not tested: a test would fence a running replay",
        ),
        DashboardAcl(("Read",), "group", REPLAYS, "Stores the progress of each replay", prefixed=True),
    ]  # fmt: skip


def _of_index(topics: Sequence[str]) -> Iterator[DashboardAcl]:
    """Yield the needs of an indexer."""
    operations = ("Read", "DescribeConfigs")
    for topic in topics[:MOST_TOPICS]:
        yield DashboardAcl(operations, "topic", topic, "Indexes the topic and shows its retention")
    if not topics:
        unchecked = "no topic has the name of a dead letter topic"
        yield DashboardAcl(operations, "topic", "*", "Indexes dead letter topics", unchecked=unchecked)
    yield DashboardAcl(("Read",), "group", settings.INDEX_GROUP, "Stores the offsets of the indexer")
    yield DashboardAcl(("Read",), "group", READER, "Reads single records and the engine's topics")


def resources_to_query(rows: Sequence[DashboardAcl]) -> tuple[list[str], list[str]]:
    """Return the topics and groups whose authorised operations must be requested."""
    checked = [row for row in rows if not row.unchecked]
    return (
        [row.name for row in checked if row.kind == "topic"],
        [_probe_name(row) for row in checked if row.kind == "group"],
    )


def check(need: DashboardAcl, operations: Operations, principal: str, servers: str) -> AclCheck:
    """Check a need against the authorised operations.

    Kafka lists DESCRIBE for a client that may read, because READ implies it.
    """
    allowed = operations.get((need.kind, _probe_name(need)))
    command = grant_command(need, principal, servers)
    if need.unchecked:
        return AclCheck(need, "not_checked", (), need.unchecked, command)
    if allowed is None:
        missing_topic = need.kind == "topic"
        return AclCheck(
            need,
            "not_checked",
            (),
            "the topic does not exist yet" if missing_topic else "the broker did not report it",
            command,
        )
    missing = tuple(operation for operation in need.operations if _kafka_operation(operation) not in allowed)
    return AclCheck(need, "missing" if missing else "ok", missing, "", command)


def unchecked_acl(need: DashboardAcl, principal: str, servers: str) -> AclCheck:
    """Return the unchecked result for a cluster that did not answer."""
    return AclCheck(need, "not_checked", (), "", grant_command(need, principal, servers))


def _probe_name(need: DashboardAcl) -> str:
    """Return a name with the prefix that no resource has."""
    return f"{need.name}check" if need.prefixed else need.name


def _kafka_operation(operation: str) -> str:
    return {"DescribeConfigs": "DESCRIBE_CONFIGS"}.get(operation, operation.upper())

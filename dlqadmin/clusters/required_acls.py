"""The permissions that the dashboard needs on a cluster, and whether it has them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from django.conf import settings

from dlqadmin.deadletters.index.consumer import GROUP

Kind = Literal["cluster", "topic", "group", "transactional-id"]
Verdict = Literal["ok", "missing", "not_checked"]
Operations = Mapping[tuple[str, str], frozenset[str] | None]
REPLAYS = "dlqadmin-replay-"
READER = "dlqadmin-reader"  # the group of dlqadmin.broker.topics; it commits nothing
MOST_TOPICS = 20


@dataclass(frozen=True, slots=True)
class Need:
    """Operations on a resource, and their purpose.

    `prefixed` means all resources whose names begin with `name`. The name "*" means any resource.
    """

    operations: tuple[str, ...]
    kind: Kind
    name: str
    why: str
    prefixed: bool = False
    unchecked: str = ""  # why it cannot be checked without side effects


@dataclass(frozen=True, slots=True)
class Checked:
    """A need, the result of its check, and the command that grants it."""

    need: Need
    verdict: Verdict
    missing: tuple[str, ...]
    note: str
    command: str


def needs(topics: Sequence[str], *, own: bool) -> list[Need]:
    """Return the needs on the own cluster, or on another cluster that replays write to.

    `topics` are the dead letter topics of the own cluster.
    """
    rows = [Need(("Describe",), "cluster", "", "Sees which groups there are")]
    if own:
        rows += [
            Need(
                ("Read", "DescribeConfigs"),
                "topic",
                topic,
                "Indexes it; its retention tells how long dead letters stay",
            )
            for topic in topics[:MOST_TOPICS]
        ]
        if not topics:
            unchecked = "no topic matches DLQ_TOPICS"
            rows.append(
                Need(("Read", "DescribeConfigs"), "topic", "*", "Indexes dead letter topics", unchecked=unchecked)
            )
        rows += [
            Need(("Read",), "group", GROUP, "Keeps how far the index has read"),
            Need(("Read",), "group", READER, "Looks at single records, and at the engine's topics"),
            Need(("Read",), "topic", settings.STATUS_TOPIC, "Figures and states of the engine's tasks"),
            Need(("Read",), "topic", settings.OUTCOME_TOPIC, "What became of records that were replayed"),
        ]
    any_topic = "which topics is decided by each record"
    rows.append(
        Need(
            ("Read", "DescribeConfigs"),
            "topic",
            "*",
            "Neighbours, limits and ends of the topics that failed",
            unchecked=any_topic,
        )
    )
    rows.append(
        Need(
            ("Describe",),
            "group",
            "*",
            "Sees what consumers committed after a replay",
            unchecked="there may be groups that can't be seen",
        )
    )
    if own and settings.READ_ONLY:
        return rows
    return [
        *rows,
        Need(("Write",), "topic", "*", "Replays: sends records there", unchecked="nothing is written to find out"),
        Need(
            ("Describe", "Write"), "transactional-id", REPLAYS, "Replays: exactly what was planned, never twice",
            prefixed=True, unchecked="an id is not taken up to find out",
        ),
        Need(("Read",), "group", REPLAYS, "Replays: how far each has come", prefixed=True),
    ]  # fmt: skip


def asked(rows: Sequence[Need]) -> tuple[list[str], list[str]]:
    """Return the topics and groups whose authorised operations must be requested."""
    checked = [row for row in rows if not row.unchecked]
    return (
        [row.name for row in checked if row.kind == "topic"],
        [_probe(row) for row in checked if row.kind == "group"],
    )


def check(need: Need, operations: Operations, principal: str, servers: str) -> Checked:
    """Check a need against the authorised operations.

    Kafka lists DESCRIBE for a client that may read, because READ implies it.
    """
    allowed = operations.get((need.kind, _probe(need)))
    command = _command(need, principal, servers)
    if need.unchecked:
        return Checked(need, "not_checked", (), need.unchecked, command)
    if allowed is None:
        missing_topic = need.kind == "topic"
        return Checked(
            need,
            "not_checked",
            (),
            "there is no such topic yet" if missing_topic else "the broker did not say",
            command,
        )
    missing = tuple(operation for operation in need.operations if _upper(operation) not in allowed)
    return Checked(need, "missing" if missing else "ok", missing, "", command)


def unasked(need: Need, principal: str, servers: str) -> Checked:
    """Return the unchecked result for a cluster that did not answer."""
    return Checked(need, "not_checked", (), "", _command(need, principal, servers))


def _probe(need: Need) -> str:
    """Return a name with the prefix that no resource has."""
    return f"{need.name}check" if need.prefixed else need.name


def _upper(operation: str) -> str:
    return {"DescribeConfigs": "DESCRIBE_CONFIGS"}.get(operation, operation.upper())


def _command(need: Need, principal: str, servers: str) -> str:
    resource = ["--cluster"] if need.kind == "cluster" else [f"--{need.kind}", need.name]
    operations = [word for operation in need.operations for word in ("--operation", operation)]
    pattern = ["--resource-pattern-type", "prefixed"] if need.prefixed else []
    words = ["kafka-acls.sh", "--bootstrap-server", servers, "--add", "--allow-principal", principal]
    return shlex.join([*words, *operations, *resource, *pattern])

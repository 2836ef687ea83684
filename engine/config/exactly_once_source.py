"""Exactly-once options of a source (KIP-618, "Public Interfaces", and Kafka's additions)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.config.errors_policy import topic_name
from engine.config.options import INT_MAX, Option, Problem, at_least, one_of

ISOLATION = "isolation.level"
TRANSACTIONAL_ID = "transactional.id"
IDEMPOTENCE = "enable.idempotence"


class Boundary(StrEnum):
    """The boundaries of a source's transactions."""

    POLL = "poll"
    INTERVAL = "interval"
    CONNECTOR = "connector"


class Support(StrEnum):
    """A connector's demand for exactly-once support, checked before it runs."""

    REQUESTED = "requested"
    REQUIRED = "required"


OFFSETS_TOPIC = Option(
    "offsets.storage.topic",
    "string",
    "",
    "An offsets topic for this connector alone, on the cluster that its producers write to; unset: the worker's.",
    topic_name,
)
BOUNDARY = Option(
    "transaction.boundary",
    "string",
    Boundary.POLL.value,
    "Where transactions end: with each `poll`, after an `interval`, or where the `connector` says so.",
    one_of(*Boundary),
)
INTERVAL = Option(
    "transaction.boundary.interval.ms",
    "int",
    None,
    "How long transactions of boundary `interval` last; unset: the worker's `offset.flush.interval.ms`.",
    at_least(1, INT_MAX),
)
SUPPORT = Option(
    "exactly.once.support",
    "string",
    Support.REQUESTED.value,
    "`required`: refuse the connector unless its class says that it can be delivered exactly once.",
    one_of(*Support),
)
OPTIONS: tuple[Option, ...] = (OFFSETS_TOPIC, BOUNDARY, INTERVAL, SUPPORT)


@dataclass(frozen=True, slots=True)
class ExactlyOnceSource:
    """A source's exactly-once options.

    An `offsets_topic` of "" means the worker's topic. An `interval_ms` of None means the worker's flush interval.
    """

    offsets_topic: str = ""
    boundary: Boundary = Boundary.POLL
    interval_ms: int | None = None
    support: Support = Support.REQUESTED


def read_exactly_once(values: Mapping[str, Any]) -> ExactlyOnceSource:
    """Return the options from parsed values of OPTIONS.

    An invalid value reads as its default, because its problem was already reported.
    """
    boundary, support = values[BOUNDARY.name], values[SUPPORT.name]
    return ExactlyOnceSource(
        offsets_topic=values[OFFSETS_TOPIC.name],
        boundary=Boundary(boundary) if boundary in set(Boundary) else Boundary.POLL,
        interval_ms=values[INTERVAL.name],
        support=Support(support) if support in set(Support) else Support.REQUESTED,
    )


def ignored(prefix: str, options: Mapping[str, str], *names: str) -> list[Problem]:
    """Return warnings for client options without effect in exactly-once tasks (KIP-618)."""
    return [
        (prefix + name, options[name], "is ignored: a source that is delivered exactly once has its own")
        for name in names
        if name in options
    ]

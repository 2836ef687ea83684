"""Exactly-once options of a source (KIP-618, "Public Interfaces", and Kafka's additions)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.config.errors_policy import topic_name
from engine.config.options import INT_MAX, FormField, Option, Problem, at_least, in_any_case

ISOLATION = "isolation.level"
TRANSACTIONAL_ID = "transactional.id"
IDEMPOTENCE = "enable.idempotence"


class TransactionBoundary(StrEnum):
    """The boundaries of a source's transactions."""

    POLL = "poll"
    INTERVAL = "interval"
    CONNECTOR = "connector"


class ExactlyOnceSupport(StrEnum):
    """A connector's demand for exactly-once support, checked before it runs."""

    REQUESTED = "requested"
    REQUIRED = "required"


OFFSETS_TOPIC = Option(
    "offsets.storage.topic",
    "string",
    "",
    "A separate offsets topic for this connector, on the cluster of its producers. Default: the worker's "
    "offsets topic.",
    topic_name,
    form=FormField("LOW", "offsets.topic", 1, "LONG", "Offsets topic"),
)
BOUNDARY = Option(
    "transaction.boundary",
    "string",
    TransactionBoundary.POLL.value,
    "The end of a transaction: after each `poll`, after an `interval`, or where the `connector` decides.",
    in_any_case(*TransactionBoundary),
    form=FormField("MEDIUM", "Exactly Once Support", 3, "SHORT", "Transaction Boundary"),
)
INTERVAL = Option(
    "transaction.boundary.interval.ms",
    "int",
    None,
    "The length of transactions with boundary `interval`. Default: the worker's `offset.flush.interval.ms`.",
    at_least(1, INT_MAX),
    form=FormField("LOW", "Exactly Once Support", 4, "SHORT", "Transaction boundary interval"),
)
SUPPORT = Option(
    "exactly.once.support",
    "string",
    ExactlyOnceSupport.REQUESTED.value,
    "`required`: reject the connector unless its class supports exactly-once delivery.",
    in_any_case(*ExactlyOnceSupport),
    form=FormField("MEDIUM", "Exactly Once Support", 2, "SHORT", "Exactly once support"),
)
OPTIONS: tuple[Option, ...] = (OFFSETS_TOPIC, BOUNDARY, INTERVAL, SUPPORT)


@dataclass(frozen=True, slots=True)
class ExactlyOnceSource:
    """A source's exactly-once options.

    An `offsets_topic` of "" means the worker's topic. An `interval_ms` of None means the worker's flush interval.
    """

    offsets_topic: str = ""
    boundary: TransactionBoundary = TransactionBoundary.POLL
    interval_ms: int | None = None
    support: ExactlyOnceSupport = ExactlyOnceSupport.REQUESTED


def read_exactly_once(values: Mapping[str, Any]) -> ExactlyOnceSource:
    """Return the options from parsed values of OPTIONS.

    An invalid value reads as its default, because its problem was already reported.
    """
    boundary, support = values[BOUNDARY.name], values[SUPPORT.name]
    return ExactlyOnceSource(
        offsets_topic=values[OFFSETS_TOPIC.name],
        boundary=TransactionBoundary(boundary) if boundary in set(TransactionBoundary) else TransactionBoundary.POLL,
        interval_ms=values[INTERVAL.name],
        support=ExactlyOnceSupport(support) if support in set(ExactlyOnceSupport) else ExactlyOnceSupport.REQUESTED,
    )


def ignored_option_warnings(prefix: str, options: Mapping[str, str], *names: str) -> list[Problem]:
    """Return warnings for client options without effect in exactly-once tasks (KIP-618)."""
    return [
        (prefix + name, options[name], "is ignored: the engine sets this option for exactly-once connectors")
        for name in names
        if name in options
    ]

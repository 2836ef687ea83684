"""The mappings that are in use, and dead letters read with them.

A mapping of a topic comes before the built-in dialects. A letter that it cannot read is left to them. Mappings hold on
all Kafka clusters.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from django.conf import settings

from dlqadmin.deadletters.models import MappingVersion
from engine import dialects
from engine.dialects import mapping
from engine.dialects.facts import DeadLetterFacts
from engine.record.record import RawRecord

FRESH_S = 2.0  # a process uses mappings that are at most this old


@dataclass(frozen=True, slots=True)
class ActiveMapping:
    """A mapping and its version."""

    mapping: mapping.Mapping
    version: int


@dataclass(frozen=True, slots=True)
class ActiveMappings:
    """All mappings in use, by name. The first one that covers a topic reads it."""

    mappings: tuple[ActiveMapping, ...] = ()

    def of(self, topic: str) -> ActiveMapping | None:
        """Return the mapping of a topic, or None."""
        return next((one for one in self.mappings if one.mapping.covers(topic)), None)

    def read(self, message: RawRecord) -> DeadLetterFacts:
        """Return the facts of a letter, with notes on how they were read. Never raises."""
        return self._read(message, dialects.read)

    def read_for_index(self, message: RawRecord) -> DeadLetterFacts:
        """Return the facts that the index stores. Never raises on content."""
        return self._read(message, dialects.read_for_index)

    def _read(self, message: RawRecord, read_built_in: Callable[[RawRecord], DeadLetterFacts]) -> DeadLetterFacts:
        active = self.of(message.topic) if self.mappings else None
        if active is None:
            return read_built_in(message)
        reading = mapping.read(active.mapping, message, active.version)
        if reading.facts is not None:
            return reading.facts
        facts = read_built_in(message)
        told = f"the mapping {active.mapping.name} does not read it: {reading.missing}"
        return msgspec.structs.replace(facts, problems=(told, *facts.problems))


NO_MAPPINGS = ActiveMappings()


def load_active_mappings() -> ActiveMappings:
    """Return the mappings in use now. Queries the database."""
    rows = MappingVersion.objects.filter(cluster=settings.CLUSTER, is_active=True).order_by("name")
    return ActiveMappings(tuple(ActiveMapping(document_of(row), row.version) for row in rows))


def active_mappings() -> ActiveMappings:
    """Return the mappings in use, at most 2 seconds old. Queries the database if they are older."""
    return _cache.read()


def mapped_error_headers(dialect: str) -> frozenset[str]:
    """Return the headers that a mapping of this name reads as facts of the failure, at most 2 seconds old.

    The newest version counts, even if it is not in use any more: its dead letters keep its name. Empty for other
    dialects. Queries the database if the answer is older.
    """
    if not dialect or dialect in dialects.NAMES:
        return frozenset()
    return _cache.error_headers(dialect)


def forget_active_mappings() -> None:
    """Let the next reader of this process query the database."""
    _cache.forget()


def document_of(row: MappingVersion) -> mapping.Mapping:
    """Return the mapping of a stored version."""
    return msgspec.convert(row.document, mapping.Mapping)


class _Cache:
    """The mappings that this process loaded last, with the time. Two threads at once load them twice."""

    def __init__(self) -> None:
        self._loaded: tuple[float, ActiveMappings] | None = None
        self._error_headers: dict[str, tuple[float, frozenset[str]]] = {}

    def read(self) -> ActiveMappings:
        loaded = self._loaded
        if loaded is None or time.monotonic() > loaded[0] + FRESH_S:
            self._loaded = loaded = (time.monotonic(), load_active_mappings())
        return loaded[1]

    def error_headers(self, name: str) -> frozenset[str]:
        known = self._error_headers.get(name)
        if known is None or time.monotonic() > known[0] + FRESH_S:
            row = MappingVersion.objects.filter(cluster=settings.CLUSTER, name=name).order_by("-version").first()
            names = document_of(row).error_headers if row else frozenset()
            self._error_headers[name] = known = (time.monotonic(), names)
        return known[1]

    def forget(self) -> None:
        self._loaded = None
        self._error_headers.clear()


_cache = _Cache()

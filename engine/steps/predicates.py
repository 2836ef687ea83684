"""Predicates, and the transform that applies only if a predicate holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Protocol

from engine.config.java_regex import compile_java
from engine.config.options import Problem, parse
from engine.config.transforms import HAS_HEADER_KEY, RECORD_IS_TOMBSTONE, TOPIC_NAME_MATCHES
from engine.record.record import Record
from engine.steps.options import checked
from engine.steps.unread_support import takes_unread

_TOPICS = 1000  # cached topics, each matched only once


class Predicate(Protocol):
    """A condition on a record."""

    def configure(self, configs: Mapping[str, str]) -> None: ...
    def test(self, record: Record) -> bool: ...


class TopicNameMatches:
    """A predicate for topics whose whole name matches the pattern."""

    OPTIONS = TOPIC_NAME_MATCHES
    takes_unread = True

    def __init__(self) -> None:
        self._matches: Callable[[str], object] = compile_java("").fullmatch

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """Return problems that the options table can't detect: an invalid pattern."""
        pattern = configs.get("pattern", "").strip()
        try:
            compile_java(pattern)
        except ValueError as error:
            return [("pattern", pattern, str(error))]
        return []

    def configure(self, configs: Mapping[str, str]) -> None:
        values = checked(self.OPTIONS, self.problems, configs)
        self._matches = lru_cache(_TOPICS)(compile_java(values["pattern"]).fullmatch)

    def test(self, record: Record) -> bool:
        return self._matches(record.topic) is not None


class HasHeaderKey:
    """A predicate for records with a header of that name."""

    OPTIONS = HAS_HEADER_KEY
    takes_unread = True

    def __init__(self) -> None:
        self._name = ""

    def configure(self, configs: Mapping[str, str]) -> None:
        self._name = parse(self.OPTIONS, configs)["name"]

    def test(self, record: Record) -> bool:
        return any(name == self._name for name, _, _ in record.headers) if record.headers else False


class RecordIsTombstone:
    """A predicate for records whose value is null."""

    OPTIONS = RECORD_IS_TOMBSTONE
    takes_unread = True

    def configure(self, configs: Mapping[str, str]) -> None:
        parse(self.OPTIONS, configs)

    def test(self, record: Record) -> bool:
        return record.value is None


class Conditional:
    """A transform that applies if the predicate holds, or, with `negate`, if it does not."""

    def __init__(self, transform: Any, predicate: Predicate, *, negate: bool) -> None:
        self.transform = transform
        self._predicate = predicate
        self._negate = negate

    @property
    def takes_unread(self) -> bool:
        """Return whether the transform and the predicate both accept unread values."""
        return takes_unread(self.transform) and takes_unread(self._predicate)

    def configure(self, configs: Mapping[str, str]) -> None:
        self.transform.configure(configs)

    def apply(self, record: Record) -> Record | None:
        if (not self._predicate.test(record)) is not self._negate:
            return record
        applied: Record | None = self.transform.apply(record)
        return applied

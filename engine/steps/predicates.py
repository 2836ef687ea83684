"""Predicates, and the transform that applies only where one holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from engine.config.java_regex import Pattern, compile_java
from engine.config.options import Problem, parse
from engine.config.transforms import HAS_HEADER_KEY, RECORD_IS_TOMBSTONE, TOPIC_NAME_MATCHES
from engine.record.record import Record
from engine.steps.options import checked


class Predicate(Protocol):
    """A question about a record."""

    def configure(self, configs: Mapping[str, str]) -> None: ...
    def test(self, record: Record) -> bool: ...


class TopicNameMatches:
    """Does the whole topic name match the pattern?"""

    OPTIONS = TOPIC_NAME_MATCHES

    def __init__(self) -> None:
        self._pattern: Pattern = compile_java("")

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """What the table's rows can't see: a pattern that is none."""
        pattern = configs.get("pattern", "").strip()
        try:
            compile_java(pattern)
        except ValueError as error:
            return [("pattern", pattern, str(error))]
        return []

    def configure(self, configs: Mapping[str, str]) -> None:
        values = checked(self.OPTIONS, self.problems, configs)
        self._pattern = compile_java(values["pattern"])

    def test(self, record: Record) -> bool:
        return self._pattern.fullmatch(record.topic) is not None


class HasHeaderKey:
    """Has the record a header of that name?"""

    OPTIONS = HAS_HEADER_KEY

    def __init__(self) -> None:
        self._name = ""

    def configure(self, configs: Mapping[str, str]) -> None:
        self._name = parse(self.OPTIONS, configs)["name"]

    def test(self, record: Record) -> bool:
        return any(name == self._name for name, _, _ in record.headers)


class RecordIsTombstone:
    """Is the value null?"""

    OPTIONS = RECORD_IS_TOMBSTONE

    def configure(self, configs: Mapping[str, str]) -> None:
        parse(self.OPTIONS, configs)

    def test(self, record: Record) -> bool:
        return record.value is None


class Conditional:
    """Applies a transform where the predicate holds; `negate` turns that round."""

    def __init__(self, transform: Any, predicate: Predicate, *, negate: bool) -> None:
        self.transform = transform
        self._predicate = predicate
        self._negate = negate

    def configure(self, configs: Mapping[str, str]) -> None:
        self.transform.configure(configs)

    def apply(self, record: Record) -> Record | None:
        if bool(self._predicate.test(record)) is self._negate:
            return record
        applied: Record | None = self.transform.apply(record)
        return applied

"""Questions about a record, and a transform that is applied only where the answer is yes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

from engine.config.options import parse
from engine.config.steps import HAS_HEADER_KEY, RECORD_IS_TOMBSTONE, TOPIC_NAME_MATCHES
from engine.record.record import Record


class Predicate(Protocol):
    """Answers one question about a record."""

    def configure(self, configs: Mapping[str, str]) -> None: ...
    def test(self, record: Record) -> bool: ...


class Conditional:
    """A transform under a predicate; records it is not for pass unchanged."""

    def __init__(self, transform: Any, predicate: Predicate, *, negate: bool) -> None:
        self.transform = transform
        self.predicate = predicate
        self.negate = negate

    def apply(self, record: Record) -> Record | None:
        if self.predicate.test(record) == self.negate:
            return record
        result: Record | None = self.transform.apply(record)
        return result


class TopicNameMatches:
    """The whole topic name matches `pattern`."""

    OPTIONS = TOPIC_NAME_MATCHES

    def configure(self, configs: Mapping[str, str]) -> None:
        self.pattern = re.compile(parse(self.OPTIONS, configs)["pattern"])

    def test(self, record: Record) -> bool:
        return self.pattern.fullmatch(record.topic) is not None


class HasHeaderKey:
    """The record has at least one header `name`."""

    OPTIONS = HAS_HEADER_KEY

    def configure(self, configs: Mapping[str, str]) -> None:
        self.name: str = parse(self.OPTIONS, configs)["name"]

    def test(self, record: Record) -> bool:
        return any(name == self.name for name, _, _ in record.headers)


class RecordIsTombstone:
    """The value is null."""

    OPTIONS = RECORD_IS_TOMBSTONE

    def configure(self, configs: Mapping[str, str]) -> None:
        parse(self.OPTIONS, configs)

    def test(self, record: Record) -> bool:
        return record.value is None

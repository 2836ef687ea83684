"""RegexRouter: renames topics by a pattern."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from engine.config.java_regex import Pattern, compile_java, compile_replacement
from engine.config.options import Problem
from engine.config.transforms import REGEX_ROUTER
from engine.record.record import Record
from engine.steps.options import checked

_TOPICS = 1000  # cached topics, each matched only once


class RegexRouter:
    """Kafka Connect's RegexRouter. A topic that matches as a whole is renamed."""

    OPTIONS = REGEX_ROUTER
    takes_unread = True

    def __init__(self) -> None:
        self._pattern: Pattern = compile_java("")
        self._replacement: Callable[[Any], str] = str
        self._route: Callable[[str], str] = self._replaced

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """Return problems that the options table can't detect: invalid patterns and unknown groups."""
        regex, replacement = (configs.get(name, "").strip() for name in ("regex", "replacement"))
        try:
            pattern = compile_java(regex)
        except ValueError as error:
            return [("regex", regex, str(error))]
        try:
            compile_replacement(replacement, pattern)
        except ValueError as error:
            return [("replacement", replacement, str(error))]
        return []

    def configure(self, configs: Mapping[str, str]) -> None:
        values = checked(self.OPTIONS, self.problems, configs)
        self._pattern = compile_java(values["regex"])
        self._replacement = compile_replacement(values["replacement"], self._pattern)
        self._route = lru_cache(_TOPICS)(self._replaced)

    def apply(self, record: Record) -> Record:
        """Return the record with its new topic."""
        topic = self._route(record.topic)
        return record if topic == record.topic else msgspec.structs.replace(record, topic=topic)

    def _replaced(self, topic: str) -> str:
        if self._pattern.fullmatch(topic) is None:
            return topic
        return self._pattern.sub(self._replacement, topic, count=1)

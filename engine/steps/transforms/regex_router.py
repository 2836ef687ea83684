"""RegexRouter: renames topics by a pattern."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from engine.config.java_regex import Pattern, compile_java, compile_replacement
from engine.config.options import Problem
from engine.config.transforms import REGEX_ROUTER
from engine.record.record import Record
from engine.steps.options import checked


class RegexRouter:
    """Kafka Connect's RegexRouter: a topic that matches as a whole gets the replacement's name."""

    OPTIONS = REGEX_ROUTER

    def __init__(self) -> None:
        self._pattern: Pattern = compile_java("")
        self._replacement: Callable[[Any], str] = str

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """What the table's rows can't see: patterns that are none, groups that do not exist."""
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

    def apply(self, record: Record) -> Record:
        """The record, on its new topic."""
        found = self._pattern.fullmatch(record.topic)
        if found is None:
            return record
        return msgspec.structs.replace(record, topic=self._pattern.sub(self._replacement, record.topic, count=1))

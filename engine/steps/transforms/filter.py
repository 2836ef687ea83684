"""Filter: drops records, of use under a predicate."""

from __future__ import annotations

from collections.abc import Mapping

from engine.config.options import parse
from engine.config.transforms import FILTER
from engine.record.record import Record


class Filter:
    """Kafka Connect's Filter: drops every record that comes to it."""

    OPTIONS = FILTER
    takes_unread = True

    def configure(self, configs: Mapping[str, str]) -> None:
        parse(self.OPTIONS, configs)

    def apply(self, record: Record) -> None:
        """Nothing: the record is filtered."""

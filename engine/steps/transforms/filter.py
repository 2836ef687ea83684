"""Filter: drops records, for use with a predicate."""

from __future__ import annotations

from collections.abc import Mapping

from engine.config.options import parse
from engine.config.transforms import FILTER
from engine.record.record import Record


class Filter:
    """Kafka Connect's Filter. It drops every record."""

    OPTIONS = FILTER
    takes_unread = True

    def configure(self, configs: Mapping[str, str]) -> None:
        parse(self.OPTIONS, configs)

    def apply(self, record: Record) -> None:
        """Return None: the record is filtered."""

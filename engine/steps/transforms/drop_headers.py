"""DropHeaders: removes headers."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from engine.config.options import parse
from engine.config.transforms import DROP_HEADERS
from engine.record.record import Record


class DropHeaders:
    """Kafka Connect's DropHeaders. It removes every header with these names."""

    OPTIONS = DROP_HEADERS
    takes_unread = True

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset()

    def configure(self, configs: Mapping[str, str]) -> None:
        self._names = frozenset(parse(self.OPTIONS, configs)["headers"])

    def apply(self, record: Record) -> Record:
        """Return the record without them."""
        return msgspec.structs.replace(
            record, headers=tuple(row for row in record.headers if row[0] not in self._names)
        )

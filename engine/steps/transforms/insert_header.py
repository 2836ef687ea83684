"""InsertHeader: adds a header with a fixed value."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from engine.config.options import parse
from engine.config.transforms import INSERT_HEADER
from engine.record.record import Record
from engine.steps.converters.parse_text import parse_text


class InsertHeader:
    """Kafka Connect's InsertHeader. Headers of the same name stay."""

    OPTIONS = INSERT_HEADER
    takes_unread = True

    def __init__(self) -> None:
        self._header = ("", *parse_text(""))

    def configure(self, configs: Mapping[str, str]) -> None:
        values = parse(self.OPTIONS, configs)
        self._header = (values["header"], *parse_text(values["value.literal"]))

    def apply(self, record: Record) -> Record:
        """Return the record with the header at the end."""
        return msgspec.structs.replace(record, headers=(*record.headers, self._header))

"""Which record a dead letter is of, however often it was sent again: its lineage's root."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import ReplayItem
from dlqadmin.replays.outcome.letters import failure_of, matched
from dlqadmin.replays.parts import parts


class Placed(Protocol):
    """A dead letter, by where it is and where its record came from."""

    @property
    def pk(self) -> int: ...
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def origin_topic(self) -> str: ...
    @property
    def origin_partition(self) -> int | None: ...
    @property
    def origin_offset(self) -> int | None: ...
    @property
    def replay_item(self) -> str | None: ...


def roots(rows: Sequence[Placed]) -> dict[int, str]:
    """The lineage of each dead letter, by its id.

    That of our item whose failure it is; else its origin; else itself. An item's header alone does not make it so:
    a stream job may have copied it to many records.
    """
    found = {row.pk: place(row) for row in rows}
    pairs = list(matched(cast("Any", rows), ReplayItem.objects.prefetch_related("replay")))
    letters: dict[int, DeadLetter] = {}
    for part in parts(sorted({row.pk for _, row in pairs})):
        letters |= DeadLetter.objects.in_bulk(part)
    for item, row in pairs:
        if row.pk in letters and failure_of(item, letters[row.pk]) in ("exact", "placed", "attributed"):
            found[row.pk] = item.lineage
    return found


def place(row: Placed) -> str:
    """Where the record came from, as far as the dead letter tells."""
    if row.origin_topic and row.origin_partition is not None and row.origin_offset is not None:
        return f"{row.origin_topic}/{row.origin_partition}/{row.origin_offset}"
    return f"{row.topic}/{row.partition}/{row.offset}"

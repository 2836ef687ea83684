"""Which record a dead letter is of, however often it was sent again: its lineage's root."""

from __future__ import annotations

from collections.abc import Sequence

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import ReplayItem
from dlqadmin.replays.outcome.letters import failure_of, matched


def roots(rows: Sequence[DeadLetter]) -> dict[int, str]:
    """The lineage of each dead letter, by its id.

    That of our item whose failure it is; else its origin; else itself. An item's header alone does not make it so:
    a stream job may have copied it to many records.
    """
    found = {row.pk: place(row) for row in rows}
    for item, row in matched(rows, ReplayItem.objects.prefetch_related("replay")):
        if failure_of(item, row) in ("exact", "placed", "attributed"):
            found[row.pk] = item.lineage
    return found


def place(row: DeadLetter) -> str:
    """Where the record came from, as far as the dead letter tells."""
    if row.origin_topic and row.origin_partition is not None and row.origin_offset is not None:
        return f"{row.origin_topic}/{row.origin_partition}/{row.origin_offset}"
    return f"{row.topic}/{row.partition}/{row.offset}"

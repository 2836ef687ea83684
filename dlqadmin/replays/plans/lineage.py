"""The lineage of dead letters: the root record, however often it was replayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

from dlqadmin.broker import clusters
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.batches import parts
from dlqadmin.replays.models import ReplayItem
from dlqadmin.replays.outcomes.dead_letter_matches import failure_of, matched


class Placed(Protocol):
    """The coordinates of a dead letter and of its origin."""

    @property
    def pk(self) -> int: ...
    @property
    def cluster(self) -> str: ...
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
    """Return the lineage of each dead letter, by its id.

    If a dead letter is the failure of an item, it has the item's lineage. Otherwise the lineage is its origin, or else
    the dead letter itself. An item token in a header is not enough, because a stream job may copy it to many records.
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
    """Return the coordinates of the origin, or of the dead letter if the origin is unknown."""
    if row.origin_topic and row.origin_partition is not None and row.origin_offset is not None:
        return f"{clusters.qualified(row.origin_topic, row.cluster)}/{row.origin_partition}/{row.origin_offset}"
    return f"{clusters.qualified(row.topic, row.cluster)}/{row.partition}/{row.offset}"

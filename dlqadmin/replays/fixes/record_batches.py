"""Batches of records with their bytes, limited by memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from django.db.models import QuerySet

from dlqadmin.broker import clusters
from dlqadmin.deadletters.models import DeadLetter, Original
from dlqadmin.masking.masks import RecordMasks
from dlqadmin.masking.rules import TopicMask, masks_of
from dlqadmin.replays.fixes.masked_programs import masked_change
from dlqadmin.replays.fixes.record_changes import INVALID, MAX_VALUE_BYTES, Change, Changer
from dlqadmin.replays.items.messages import Outgoing, original
from dlqadmin.replays.models import Selection

AT_ONCE = 100
AT_ONCE_BYTES = 16 * 1024 * 1024
SAMPLE = 20

Masking = Callable[[DeadLetter], RecordMasks | None]
Rows = Callable[[Selection], QuerySet[DeadLetter]]


def masking_by(rules: Sequence[TopicMask]) -> Masking | None:
    """Return the masks of each record by these rules; None without rules."""
    return (lambda row: masks_of(rules, row.cluster, (row.topic, row.origin_topic))) if rules else None


def after(found: QuerySet[DeadLetter], pk: int) -> list[int]:
    """Return the next ids after `pk`, ascending. Values are counted by their stored sizes."""
    chosen: list[int] = []
    size = 0
    rows = found.filter(pk__gt=pk).order_by("pk").values_list("pk", "value_size")[:AT_ONCE]
    for one, bytes_of in rows:
        size += min(bytes_of or 0, MAX_VALUE_BYTES)
        if chosen and size > AT_ONCE_BYTES:
            break
        chosen.append(one)
    return chosen


def sample(found: QuerySet[DeadLetter], most: int = SAMPLE) -> list[int]:
    """Return ids spread over all records, ascending."""
    ids = found.order_by("pk").values_list("pk", flat=True)
    first, last = ids.first(), ids.last()
    if first is None or last is None:
        return []
    step = (last - first) / max(1, most - 1)
    near = (ids.filter(pk__gte=first + round(step * index)).first() for index in range(most))
    chosen = {one for one in near if one is not None}
    if len(chosen) < most:  # few records, or unevenly spread
        chosen |= set(ids.exclude(pk__in=chosen)[: most - len(chosen)])
    return sorted(chosen)


def changes(
    ids: Sequence[int], change: Changer, masking: Masking | None = None
) -> Iterator[tuple[DeadLetter, Outgoing | None, Change]]:
    """Yield each record with its own message and its change, in the order of `ids`.

    The message is None if its bytes are lost or too large. With `masking`, a record with masks is changed as its author
    sees it.
    """
    rows = DeadLetter.objects.in_bulk(list(ids))
    small = [pk for pk, row in rows.items() if (row.value_size or 0) <= MAX_VALUE_BYTES]
    whole = DeadLetter.objects.select_related("body").defer("body__context").in_bulk(small)
    for pk in ids:
        if (row := whole.get(pk)) is None:
            if pk in rows:
                why = f"the value is larger than {MAX_VALUE_BYTES // 1024**2} MB, the limit for bulk fixes"
                yield rows[pk], None, Change(INVALID, why=why)
            continue
        message = original(row)
        if message is None:
            yield row, None, Change(INVALID, why=f"its original bytes are {Original(row.original).label.lower()}")
        else:
            masks = masking(row) if masking else None
            with clusters.on(row.cluster):  # its schema registry encodes the value
                made = change(message) if masks is None else masked_change(masks, message, change)
            yield row, message, made

"""Records with their bytes, so many at once as memory allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from django.db.models import QuerySet

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixing.changing import INVALID, MAX_VALUE_BYTES, Change, Changer
from dlqadmin.replays.models import Selection
from dlqadmin.replays.sending.messages import Outgoing, original

AT_ONCE = 100
AT_ONCE_BYTES = 16 * 1024 * 1024
SAMPLE = 20

Rows = Callable[[Selection], QuerySet[DeadLetter]]


def after(found: QuerySet[DeadLetter], pk: int) -> list[int]:
    """The next ids behind this one, in ascending order; values are told by their sizes, not read."""
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
    """Ids that are spread over all of them, in ascending order."""
    ids = found.order_by("pk").values_list("pk", flat=True)
    first, last = ids.first(), ids.last()
    if first is None or last is None:
        return []
    step = (last - first) / max(1, most - 1)
    near = (ids.filter(pk__gte=first + round(step * index)).first() for index in range(most))
    chosen = {one for one in near if one is not None}
    if len(chosen) < most:  # few, or unevenly spread
        chosen |= set(ids.exclude(pk__in=chosen)[: most - len(chosen)])
    return sorted(chosen)


def changes(ids: Sequence[int], change: Changer) -> Iterator[tuple[DeadLetter, Outgoing | None, Change]]:
    """Each record in the order of ids with its own message (if it is to be had, and not too large) and its change."""
    rows = DeadLetter.objects.in_bulk(list(ids))
    small = [pk for pk, row in rows.items() if (row.value_size or 0) <= MAX_VALUE_BYTES]
    whole = DeadLetter.objects.select_related("body").defer("body__context").in_bulk(small)
    for pk in ids:
        if (row := whole.get(pk)) is None:
            if pk in rows:
                why = f"the value is larger than {MAX_VALUE_BYTES // 1024**2} MB, the most that is changed in bulk"
                yield rows[pk], None, Change(INVALID, why=why)
            continue
        message = original(row)
        if message is None:
            yield row, None, Change(INVALID, why=f"its original bytes are {row.original}")
        else:
            yield row, message, change(message)

"""Follow a topic into the database, storing records and the position in one transaction."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db import transaction
from django.utils import timezone

from dlqadmin.metrics.models import StatusPosition
from engine.record.record import RawRecord

MOST_RECORDS = 20_000

Read = Callable[[str, int, int], Iterable[RawRecord]]
Store = Callable[[Sequence[RawRecord]], None]


@dataclass(frozen=True, slots=True)
class FollowResult:
    """The number of stored records, and whether they reached the partition's end."""

    stored: int
    ended: bool


def follow(topic: str, partition: int, read: Read, store: Store) -> FollowResult:
    """Store the records since the last call.

    Repeated and parallel calls change nothing: the later one stores nothing and reports no end.
    """
    row = StatusPosition.objects.filter(topic=topic, partition=partition).first()
    start = row.position if row else 0
    records = list(islice(read(topic, partition, start), MOST_RECORDS))
    # The position moves first, guarded by its former value: of two processes that read the same records, one stores
    # them.
    with transaction.atomic():
        if not _move(topic, partition, start, records[-1].offset + 1 if records else start):
            return FollowResult(0, ended=False)
        store(records)
    return FollowResult(len(records), ended=len(records) < MOST_RECORDS)


def _move(topic: str, partition: int, start: int, position: int) -> bool:
    """Move the position, if it is still at `start`; return whether it moved."""
    now = timezone.now()
    StatusPosition.objects.get_or_create(
        topic=topic, partition=partition, defaults={"position": 0, "collected_at": now}
    )
    rows = StatusPosition.objects.filter(topic=topic, partition=partition, position=start)
    return rows.update(position=position, collected_at=now) == 1

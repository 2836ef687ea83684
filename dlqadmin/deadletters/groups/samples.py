"""Samples of the newest dead letters of some fingerprints, read in slices."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec
from django.db.models import BinaryField, Case, When
from django.db.models.functions import Coalesce

from dlqadmin.deadletters.models import DeadLetter, Original
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, bounded

MOST = 2000
MOST_FINGERPRINTS = 50
MAX_VALUE_BYTES = 32 * 1024  # larger values are not read
SLICE = 200


class SampledLetter(msgspec.Struct, frozen=True):
    """A dead letter with its original's bytes. `value` is None if it is null, unknown or too large."""

    cluster: str
    topic: str
    origin_topic: str
    origin_partition: int | None
    connector: str
    task_id: str
    original: str
    key_text: str | None
    value_size: int | None
    value: bytes | None
    headers: bytes
    original_headers: bytes | None

    @property
    def known(self) -> bool:
        """Return whether key and value are the original's, so that None means null."""
        return self.original in (Original.EMBEDDED, Original.FETCHED)


def newest(counts: Mapping[int, int], start: datetime, end: datetime, deadline: float) -> Iterator[SampledLetter]:
    """Yield up to 2 000 of the newest dead letters, in proportion to `counts`.

    With more than 50 fingerprints, only the 50 largest are read. Raises QueryTimedOut at the deadline, a time of
    `monotonic`.
    """
    counted = [fingerprint for fingerprint, n in counts.items() if n > 0]
    largest = sorted(counted, key=lambda fingerprint: (-counts[fingerprint], fingerprint))[:MOST_FINGERPRINTS]
    total = sum(counts[fingerprint] for fingerprint in largest)
    for fingerprint in largest:
        # Rounded up, so that each fingerprint has at least one sample.
        part = -(-MOST * counts[fingerprint] // total)
        with bounded(_seconds_left(deadline)):
            found = DeadLetter.objects.filter(fingerprint_id=fingerprint, failed_at__gte=start, failed_at__lt=end)
            ids = list(found.order_by("-failed_at", "-id").values_list("id", flat=True)[:part])
        for first in range(0, len(ids), SLICE):
            with bounded(_seconds_left(deadline)):
                rows = _read(ids[first : first + SLICE])
            yield from rows


def _read(ids: list[int]) -> list[SampledLetter]:
    value = Coalesce("decoded__json", "body__value")
    small = Case(When(value_size__lte=MAX_VALUE_BYTES, then=value), output_field=BinaryField())
    found = DeadLetter.objects.filter(pk__in=ids).values_list(
        "cluster",
        "topic",
        "origin_topic",
        "origin_partition",
        "connector",
        "task_id",
        "original",
        "key_text",
        "value_size",
        small,
        "body__headers",
        "body__original_headers",
    )
    return [SampledLetter(*row[:-3], *(None if part is None else bytes(part) for part in row[-3:])) for row in found]


def _seconds_left(deadline: float) -> float:
    """Return the seconds until the deadline. Raises QueryTimedOut when it has passed."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise QueryTimedOut
    return left

"""Decode values that name a schema after their rows are written, so that their members and words can be searched.

The indexer queues them in the transaction of their rows. A worker decodes them, because a registry may take seconds to
answer or be away: the index goes on without it. A value whose schema can't be had now is tried again, ever more rarely.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone

from dlqadmin.deadletters.index import word_index
from dlqadmin.deadletters.index.column_values import unpack_headers
from dlqadmin.deadletters.models import DeadLetter, DeadLetterText, DecodedValue, Original, QueuedDecoding
from dlqadmin.schemas.registries import all_settings, registry_of
from engine.schemas.decoding import SCHEMA_DECODER, DecoderAttempt, Decoding, decode
from engine.schemas.registry import SchemaRegistry

SLICE = 100
RUN_S = 2.0
MAX_REASON = 300
FIRST_RETRY_S, LAST_RETRY_S = 15, 900

log = logging.getLogger(__name__)


class DecodingBacklog(msgspec.Struct, frozen=True):
    """The number of values that are not decoded yet, and the most frequent reason; "" if none was tried."""

    values: int = 0
    reason: str = ""


def has_backlog() -> bool:
    """Return whether some values are not decoded yet, and a registry could decode them."""
    return has_undecoded() and any(_due(cluster).exists() for cluster in _clusters())


def has_undecoded() -> bool:
    """Return whether some values are not decoded yet. Without a registry they wait for one."""
    return QueuedDecoding.objects.exists()


def backlog() -> DecodingBacklog:
    """Return how many values are not decoded yet, and why."""
    rows = QueuedDecoding.objects.values("reason").annotate(n=Count("pk")).order_by("-n")
    found = [(row["reason"], row["n"]) for row in rows]
    reason = next((reason for reason, _ in found if reason), "")
    return DecodingBacklog(sum(n for _, n in found), reason)


def decode_for(seconds: float) -> int:
    """Decode values that are due until the queue is empty or the time is over; return how many left the queue."""
    ends, done = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        found = [decode_due(timezone.now(), cluster, registry_of(cluster)) for cluster in _clusters()]
        done += sum(left for _, left in found)
        if all(taken < SLICE for taken, _ in found):
            break
    return done


def decode_due(now: datetime, cluster: str, registry: SchemaRegistry | None) -> tuple[int, int]:
    """Decode one slice of a cluster's values that are due; return how many were tried, and how many left the queue."""
    if registry is None:
        return 0, 0  # the values stay due, so a new registry decodes them at once
    due = list(_due(cluster).filter(due_at__lte=now).order_by("due_at").values_list("pk", "tries")[:SLICE])
    if not due:
        return 0, 0
    tries = dict(due)
    rows = DeadLetter.objects.filter(pk__in=tries).values_list(
        "pk", "body__value", "body__headers", "body__original_headers"
    )
    # Outside of a transaction: the registry may take seconds.
    found = {pk: _decoded(registry, pk, value, own, original) for pk, value, own, original in rows}
    later = {pk: decoding for pk, decoding in found.items() if decoding.is_pending}
    with transaction.atomic():
        _store({pk: decoding for pk, decoding in found.items() if pk not in later}, now)
        QueuedDecoding.objects.filter(pk__in=tries.keys() - later.keys()).delete()
        for pk, decoding in later.items():
            wait = min(FIRST_RETRY_S * 2 ** tries[pk], LAST_RETRY_S)
            QueuedDecoding.objects.filter(pk=pk).update(
                tries=tries[pk] + 1, due_at=now + timedelta(seconds=wait), reason=_reason(decoding)
            )
    return len(due), len(due) - len(later)


def _clusters() -> list[str]:
    """Return the clusters with a registry that can be used."""
    return [one.cluster for one in all_settings() if registry_of(one.cluster) is not None]


def _due(cluster: str) -> QuerySet[QueuedDecoding]:
    return QueuedDecoding.objects.filter(dead_letter__cluster=cluster)


def _decoded(
    registry: SchemaRegistry,
    pk: int,
    value: bytes | memoryview | None,
    headers: bytes | memoryview,
    original_headers: bytes | memoryview | None,
) -> Decoding:
    packed = headers if original_headers is None else original_headers
    try:
        return decode(bytes(value or b""), unpack_headers(bytes(packed)), "value", registry)
    except Exception as error:  # noqa: BLE001, one odd value must not stop those behind it
        # The message of the error may quote the value.
        log.error("the value of dead letter %s can't be decoded: %s", pk, type(error).__name__)  # noqa: TRY400 (see above)
        return Decoding(None, (DecoderAttempt("All decoders", "not_decoded", type(error).__name__),))


def _store(found: dict[int, Decoding], now: datetime) -> None:
    """Store the values that a schema decoded, and queue their words again."""
    made = [
        DecodedValue(dead_letter_id=pk, json=decoding.result.json.encode())
        for pk, decoding in found.items()
        if decoding.result is not None and decoding.result.schema is not None and decoding.result.json is not None
    ]
    # The indexer may have removed letters meanwhile. Those that it removes from now on take their values along.
    # Those that were erased meanwhile must not get their values back.
    letters = DeadLetter.objects.select_for_update(of=("self",)).filter(pk__in=[one.dead_letter_id for one in made])
    kept = set(letters.exclude(original=Original.ERASED).values_list("pk", flat=True))
    made = [one for one in made if one.dead_letter_id in kept]
    if not made:
        return
    DecodedValue.objects.bulk_create(made, ignore_conflicts=True)
    _rewrite_words([one.dead_letter_id for one in made], now)


def _rewrite_words(ids: Sequence[int], now: datetime) -> None:
    DeadLetterText.objects.filter(pk__in=ids).delete()
    word_index.queue(ids, now)


def _reason(decoding: Decoding) -> str:
    return next((one.reason for one in decoding.attempts if one.decoder == SCHEMA_DECODER), "")[:MAX_REASON]

"""Erasures: decided, stored, then applied slice by slice."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from dlqadmin.audit.entries import record
from dlqadmin.deadletters.index import word_index
from dlqadmin.deadletters.index.erased_records import key_digest
from dlqadmin.deadletters.index.watermark import complete_up_to
from dlqadmin.deadletters.models import DeadLetter, ErasedKey, Original
from dlqadmin.deadletters.records.details import as_bytes
from dlqadmin.erasures import erased_parts, quoting_rows
from dlqadmin.erasures.chosen_letters import ChosenLetters, keys_of
from dlqadmin.erasures.erased_parts import SendingReplays
from dlqadmin.erasures.models import Erasure, ErasureState
from dlqadmin.jobs.claims import JobKind, held
from dlqadmin.replays.batches import parts
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import ParameterError, StateConflict
from dlqadmin.rest.text import counted

SLICE = 500  # records in one transaction
SITTING_S = 5.0  # of one task, so that other tasks get their turn
LEASE = timedelta(minutes=2)
RETRY = timedelta(seconds=15)  # after a replay was sending some of the records


class ErasureRequest(msgspec.Struct, frozen=True):
    """A person's decision: the reason, the number that the person typed, and whether future letters are erased too."""

    reason: str
    confirm_count: int
    future: bool


def create(chosen: ChosenLetters, asked: ErasureRequest, actor: User, once: RequestKey, now: datetime) -> Erasure:
    """Store the decision. `go_on` applies it.

    Raises ParameterError if the number is another one, and StateConflict while replays have some of the records.
    """
    refuse_unless_free(chosen.ids)
    if len(chosen.ids) != asked.confirm_count:
        raise ParameterError("confirm_count", f"is not the number of records: now there are {len(chosen.ids)}")
    frozen = frozen_selections.digest_of(chosen.ids)
    with transaction.atomic():
        erasure = Erasure.objects.create(
            actor=actor,
            actor_name=actor.get_username(),
            reason=asked.reason,
            title=chosen.title,
            key_digest=chosen.key_digest,
            future=asked.future,
            ids=word_index.pack(chosen.ids),
            count=frozen.count,
            digest=frozen.digest,
            watermark=chosen.watermark,
            created_at=now,
            heartbeat=now,
            idempotency_key=once.key,
            request_digest=once.digest,
        )
        if asked.future:
            # An earlier erasure of this key keeps its rule.
            ErasedKey.objects.get_or_create(digest=chosen.key_digest, defaults={"erasure": erasure.pk, "at": now})
        detail = {
            "records": erasure.count,
            "records_digest": erasure.digest,
            "key_digest": erasure.key_digest,
            "future": asked.future,
            "reason": asked.reason,
            "said": counted(erasure.count, "record"),
        }
        record(actor, "erase", "erasure", str(erasure), detail)
    return erasure


def refuse_unless_free(ids: Sequence[int]) -> None:
    """Raise StateConflict while replays that have not ended have some of these records."""
    if names := erased_parts.running_replays(ids):
        raise StateConflict(erased_parts.described(names, len(ids)))


def go_on(erasure: Erasure, clock: Callable[[], datetime]) -> bool:
    """Apply an erasure that this worker claimed, for a few seconds. Return whether something is left.

    Each slice is one transaction with its progress, so a killed worker loses nothing and counts nothing twice.
    """
    erased_parts.overwrite_deleted()
    ends = time.monotonic() + SITTING_S
    if not _begin(erasure):
        return False
    ids = word_index.unpack(erasure.ids)
    try:
        while erasure.progress < len(ids):
            if not _slice(erasure, ids[erasure.progress : erasure.progress + SLICE], clock()):
                return False
            if time.monotonic() > ends:
                return True
    except SendingReplays as waiting:
        # A heartbeat that is nearly too old frees the job early: the replay may end long before the lease does.
        soon = clock() - LEASE + RETRY
        held(erasure).update(trouble=f"Waits, because {waiting}", tries=0, heartbeat=soon)
        return False
    _finish(erasure, ids, clock())
    erased_parts.truncate_log()
    return False


def _begin(erasure: Erasure) -> bool:
    """Add the letters of the key that were written while the erasure was made, and find what quotes the records.

    Return False if another worker has the job.
    """
    if erasure.prepared:
        return True
    ids = word_index.unpack(erasure.ids)
    if erasure.future:
        watermark = complete_up_to()  # not in the transaction, which on SQLite would block the indexer
        ids = sorted({*ids, *_late_letters(erasure, watermark)})
        erasure.watermark = watermark
    quoted = quoting_rows.find(keys_of(ids), _fingerprints(ids))
    frozen = frozen_selections.digest_of(ids)
    erasure.ids, erasure.count, erasure.digest = word_index.pack(ids), frozen.count, frozen.digest
    erasure.quoted, erasure.prepared = quoted, True
    values = {name: getattr(erasure, name) for name in ("ids", "count", "digest", "watermark", "prepared", "quoted")}
    return bool(held(erasure).filter(prepared=False).update(**values))


def _late_letters(erasure: Erasure, watermark: int) -> list[int]:
    """Return the letters of the key between the two watermarks. Only the HMAC of the key is known."""
    rows = DeadLetter.objects.filter(pk__gt=erasure.watermark, pk__lte=watermark, key_hash__isnull=False)
    rows = rows.exclude(original=Original.ERASED)
    keys = rows.values_list("pk", "body__key").iterator(chunk_size=2000)
    return [pk for pk, key in keys if key_digest(as_bytes(key) or b"") == erasure.key_digest]


def _fingerprints(ids: Sequence[int]) -> set[int]:
    found: set[int] = set()
    for part in parts(ids):
        found.update(DeadLetter.objects.filter(pk__in=part).values_list("fingerprint_id", flat=True))
    return found


def _slice(erasure: Erasure, ids: Sequence[int], now: datetime) -> bool:
    """Erase these dead letters. Return False if another worker has the job."""
    with transaction.atomic():
        mine = held(erasure).filter(state=ErasureState.RUNNING, progress=erasure.progress).select_for_update()
        if (kept := mine.first()) is None:
            return False
        counts = Counter[str](kept.counts) + erased_parts.erase(erasure, ids, now)
        erasure.counts, erasure.progress = dict(counts), erasure.progress + len(ids)
        held(erasure).update(counts=erasure.counts, progress=erasure.progress, heartbeat=now, tries=0, trouble="")
    return True


def _finish(erasure: Erasure, ids: Sequence[int], now: datetime) -> None:
    with transaction.atomic():
        mine = held(erasure).filter(state=ErasureState.RUNNING)
        if not mine.select_for_update().exists():
            return
        counts = Counter[str](erasure.counts)
        counts["exports"] += erased_parts.late_files(erasure, ids[0] if ids else 0, now)
        counts["left_before"] = len(ids) - counts["dead_letters"]  # retention deleted them, or they were erased before
        erased_parts.compact_words()
        mine.update(state=ErasureState.DONE, done_at=now, heartbeat=now, counts=dict(+counts), trouble="")
        detail = {"counts": dict(+counts), "said": counted(counts["dead_letters"], "record")}
        record(erasure.actor or erasure.actor_name, "erased", "erasure", str(erasure), detail)


def _give_up(erasure: Erasure, why: str, now: datetime) -> None:
    """End an erasure that ends its workers. What was erased stays erased."""
    held(erasure).update(state=ErasureState.FAILED, done_at=now, trouble=why)
    detail = {"why": why, "records": erasure.progress}
    record(erasure.actor or erasure.actor_name, "gave up", "erasure", str(erasure), detail)


ERASURES = JobKind(Erasure, unfinished=Q(state=ErasureState.RUNNING), lease=LEASE, give_up=_give_up, related=("actor",))

"""The content of dead letters in each table and file, and its erasure. Rows and counters stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec
from django.db import connection
from django.db.models import QuerySet

from dlqadmin.deadletters.index.column_values import blank_headers, pack_headers, unpack_headers
from dlqadmin.deadletters.index.removal import remove_unused_traces
from dlqadmin.deadletters.models import (
    DeadLetter,
    DeadLetterBody,
    DeadLetterText,
    DecodedValue,
    ErasedRecord,
    Fingerprint,
    Original,
    QueuedDecoding,
    TextBatch,
)
from dlqadmin.deadletters.replay_marks import MARK, WORK
from dlqadmin.deadletters.search.filter_queries import apply
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.erasures.models import Erasure
from dlqadmin.exports import file_expiry
from dlqadmin.exports.models import Export, ExportState
from dlqadmin.replays.batches import parts
from dlqadmin.replays.items import item_states
from dlqadmin.replays.models import (
    BulkFix,
    Fix,
    ItemPayload,
    ItemState,
    Rehearsal,
    ReplacedDraft,
    Replay,
    ReplayItem,
    ReplayStatus,
    Selection,
)
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.text import counted

REASON = "erased"  # of items that are not sent
ENDED = (ReplayStatus.PLANNED, ReplayStatus.CANCELLED, ReplayStatus.DONE)  # no worker reads the bytes of their items
HAS_FILE = (ExportState.RUNNING, ExportState.DONE)


class SendingReplays(Exception):
    """Replays are sending some of the records. `names` are the first of them."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self.names = names

    def __str__(self) -> str:
        return f"{' and '.join(self.names)} {'has' if len(self.names) == 1 else 'have'} not ended."


def erase(erasure: Erasure, ids: Sequence[int], now: datetime) -> Counter[str]:
    """Erase the content of these dead letters, in the caller's transaction. Return the counts by kind.

    Raises SendingReplays, and changes nothing, if a replay is sending some of them.
    """
    _stop_items(erasure, ids, now)
    # A process that writes words holds its batch. So none of them has read the content without having written it.
    list(TextBatch.objects.select_for_update().order_by("pk").values_list("pk", flat=True))
    rows = _lock(ids)
    found = [row.pk for row in rows]
    counts = Counter[str](dead_letters=len(rows))
    exports = list(exports_with(found))  # before the content is gone by which their filters found it
    counts["exports"] = _delete_files(exports, erasure, now)
    counts["bulk_fix_reasons"] = _erase_reasons(bulk_fixes_with(found))
    counts["rehearsals"] = _erase_rehearsals(rehearsals_with(found), erasure)
    counts["replaced_drafts"], _ = ReplacedDraft.objects.filter(fix__dead_letter__in=found).delete()
    counts["drafts"], _ = Fix.objects.filter(dead_letter__in=found).delete()
    counts["item_payloads"], _ = ItemPayload.objects.filter(item__dead_letter__in=found).delete()
    counts["decoded_values"], _ = DecodedValue.objects.filter(pk__in=found).delete()
    QueuedDecoding.objects.filter(pk__in=found).delete()
    counts["texts"] = DeadLetterText.objects.filter(pk__in=found).delete()[0]
    counts["fingerprint_examples"] = _erase_examples({row.fingerprint_id for row in rows})
    _note(erasure, rows, now)
    _blank_bodies(found)
    DeadLetter.objects.filter(pk__in=found).update(
        key_text=None, key_hash=None, message="", original=Original.ERASED, trace=None
    )
    counts["traces"] = remove_unused_traces(row.trace_id for row in rows)
    return +counts


def late_files(erasure: Erasure, first: int, now: datetime) -> int:
    """Delete the files that a worker began while the erasure ran: it may have read content before it was erased.

    `first` is the lowest id of the erasure. Return how many were deleted.
    """
    late = Export.objects.filter(state__in=HAS_FILE, started_at__gte=erasure.created_at, watermark__gte=first)
    return _delete_files(late, erasure, now)


def overwrite_deleted() -> None:
    """Let SQLite overwrite what this connection deletes. PostgreSQL does it when it next vacuums a table."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA secure_delete = ON")


def compact_words() -> None:
    """Merge the index of words, which keeps deleted words until then. PostgreSQL needs no such step."""
    if connection.vendor == "sqlite":
        table = DeadLetterText._meta.db_table
        with connection.cursor() as cursor:
            cursor.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")  # noqa: S608 (a name of ours)


def truncate_log() -> None:
    """Let SQLite forget the former pages in its write-ahead log, unless somebody reads them. Not in a transaction."""
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def running_replays(ids: Sequence[int]) -> list[str]:
    """Return the replays that have not ended and have some of these dead letters."""
    found: set[int] = set()
    open_ = Replay.objects.exclude(status__in=ENDED)
    planning = list(open_.filter(status=ReplayStatus.PLANNING).select_related("selection"))  # they have no items yet
    for part in parts(ids):
        items = ReplayItem.objects.filter(dead_letter__in=part)
        found.update(open_.filter(pk__in=items.values("replay")).values_list("pk", flat=True))
        found.update(one.pk for one in planning if one.pk not in found and _selects(one.selection, part))
    return [f"R-{pk}" for pk in sorted(found)]


def exports_with(ids: Sequence[int]) -> Iterator[Export]:
    """Yield the exports whose files hold some of these dead letters, or may hold them."""
    for export in Export.objects.filter(state__in=HAS_FILE).order_by("pk"):
        there = DeadLetter.objects.filter(pk__in=ids, pk__lte=export.watermark)
        if _matching(export, there).exists():
            yield export


def bulk_fixes_with(ids: Sequence[int]) -> Iterator[BulkFix]:
    """Yield the bulk fixes whose stored reasons may quote these dead letters."""
    for bulk in BulkFix.objects.select_related("selection").order_by("pk"):
        if bulk.counts.get("why") and _selects(bulk.selection, ids):
            yield bulk


def rehearsals_with(ids: Sequence[int]) -> Iterator[Rehearsal]:
    """Yield the rehearsals of these dead letters."""
    wanted = set(ids)
    for rehearsal in Rehearsal.objects.order_by("pk").iterator(chunk_size=100):
        asked = rehearsal.wanted
        named = {*asked.get("dead_letters", ()), asked.get("source")}
        named.update((one.get("dead_letter") or {}).get("id") for one in rehearsal.result)
        if named & wanted and (rehearsal.result or asked.get("value") is not None):
            yield rehearsal


def _stop_items(erasure: Erasure, ids: Sequence[int], now: datetime) -> None:
    """Skip the items that are not sent yet, so that no replay sends half a message."""
    unsent = ReplayItem.objects.filter(dead_letter__in=ids, state__in=item_states.UNSENT)
    for replay in sorted(set(unsent.values_list("replay", flat=True))):
        item_states.hold(replay)
    if busy := sorted(set(unsent.exclude(state=ItemState.PLANNED).values_list("replay", flat=True)))[:3]:
        raise SendingReplays([f"R-{pk}" for pk in busy])
    planned = list(unsent.values_list("pk", flat=True))
    evidence = f"its content was erased by {erasure}"
    item_states.move(planned, ItemState.PLANNED, ItemState.SKIPPED, now, reason=REASON, evidence=evidence)


def _lock(ids: Sequence[int]) -> list[DeadLetter]:
    """Lock and return those that exist and are not erased. Whoever stores content of them waits, or comes too late."""
    rows = DeadLetter.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=ids)
    return list(rows.exclude(original=Original.ERASED).order_by("pk"))


def _note(erasure: Erasure, rows: Sequence[DeadLetter], now: datetime) -> None:
    ErasedRecord.objects.bulk_create(
        (
            ErasedRecord(
                cluster=row.cluster,
                topic=row.topic,
                partition=row.partition,
                offset=row.offset,
                erasure=erasure.pk,
                at=now,
                dead_letter=row.pk,
                failed_at=row.failed_at,
                origin_topic=row.origin_topic,
                origin_partition=row.origin_partition,
                origin_offset=row.origin_offset,
                origin_timestamp=row.origin_timestamp,
            )
            for row in rows
        ),
        batch_size=100,
    )


def _blank_bodies(ids: Sequence[int]) -> None:
    bodies = list(DeadLetterBody.objects.filter(pk__in=ids).only("pk", "headers", "original_headers"))
    for body in bodies:
        body.key = body.value = body.context = body.trace_heads = None
        body.headers = _blank(body.headers)
        body.original_headers = None if body.original_headers is None else _blank(body.original_headers)
    columns = ["key", "value", "context", "trace_heads", "headers", "original_headers"]
    DeadLetterBody.objects.bulk_update(bodies, columns, batch_size=50)


def _blank(packed: bytes | memoryview) -> bytes:
    try:
        return pack_headers(blank_headers(unpack_headers(bytes(packed))))
    except msgspec.MsgspecError:
        return pack_headers(())  # names that can't be read can't be kept


def _erase_examples(fingerprints: set[int]) -> int:
    """Blank the texts that the variable parts of the messages had in the first dead letter."""
    changed = []
    for row in Fingerprint.objects.filter(pk__in=fingerprints).order_by("pk").only("pk", "holes"):
        if any(hole.get("example") for hole in row.holes):
            row.holes = [{**hole, "example": ""} for hole in row.holes]
            changed.append(row)
    Fingerprint.objects.bulk_update(changed, ["holes"], batch_size=100)
    return len(changed)


def _erase_reasons(bulks: Iterable[BulkFix]) -> int:
    """Blank the reasons why records are invalid, which may quote them. Their numbers stay."""
    changed = 0
    for bulk in bulks:
        locked = BulkFix.objects.select_for_update().get(pk=bulk.pk)
        why = [{**row, "text": f"reason erased ({number})"} for number, row in enumerate(locked.counts["why"], 1)]
        if why != locked.counts["why"]:
            locked.counts = {**locked.counts, "why": why}
            locked.save(update_fields=["counts"])
            changed += 1
    return changed


def _erase_rehearsals(rehearsals: Iterable[Rehearsal], erasure: Erasure) -> int:
    changed = list(rehearsals)
    for row in changed:
        row.result, row.trouble = [], f"The content of a record was erased by {erasure}."
        if "value" in row.wanted:
            row.wanted = {**row.wanted, "value": None}
        row.save(update_fields=["result", "trouble", "wanted"])
    return len(changed)


def _delete_files(exports: Iterable[Export], erasure: Erasure, now: datetime) -> int:
    """Delete these files, and cancel the exports that a worker is writing: it then deletes its part."""
    deleted = 0
    why = f"{erasure} erased records that the file may have, so the file was deleted."
    for export in exports:
        writing = Export.objects.filter(pk=export.pk, state=ExportState.RUNNING)
        if writing.update(state=ExportState.CANCELLED, done_at=now) or file_expiry.forget(export, now):
            Export.objects.filter(pk=export.pk).update(trouble=why)
            deleted += 1
    return deleted


def _matching(export: Export, rows: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
    """Return the rows that the file has, or may have.

    Some filters would match other rows now than when the file was written: by words, by bytes, and by work or replay
    state. Of these the time range alone counts.
    """
    filters = msgspec.convert(export.filters, Filters)
    if filters.probed or filters.worded or filters.names & {MARK, WORK}:
        filters = Filters(filters.start, filters.end)
    return apply(filters, rows)


def _selects(selection: Selection, ids: Sequence[int]) -> bool:
    if "ids" in selection.filters:
        return not set(ids).isdisjoint(selection.filters["ids"])
    return frozen_selections.rows(selection).filter(pk__in=ids).exists()


def described(names: Sequence[str], records: int) -> str:
    """Return the refusal of an erasure whose records are in replays that have not ended."""
    shown = ", ".join(names[:5]) + (" and others" if len(names) > 5 else "")
    verb = "has" if len(names) == 1 else "have"
    return f"Some of these {counted(records, 'record')} are in {shown}, which {verb} not ended. Wait or cancel first."

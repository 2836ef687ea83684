"""The items of a plan: inserted slice by slice, and adjusted once all are inserted."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from django.db import connection
from django.db.models import Count, F, Window
from django.db.models.expressions import OrderBy
from django.db.models.functions import FirstValue, RowNumber

from dlqadmin.deadletters.index import erased_records
from dlqadmin.deadletters.index.bulk_insert import BulkTable, bulk
from dlqadmin.deadletters.index.column_values import pack_headers
from dlqadmin.deadletters.index.removal import hold_all
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.items.item_states import MAX_EVIDENCE
from dlqadmin.replays.models import ItemPayload, ItemState, Replay, ReplayItem
from dlqadmin.replays.plans.item_choice import Decided
from dlqadmin.replays.plans.tally import PlanTally
from dlqadmin.replays.plans.targets import Targets

PART = 2_000
ITEMS = BulkTable(
    ReplayItem,
    {
        "id": "int8",
        "replay_id": "int8",
        "ordinal": "int4",
        "dead_letter_id": "int8",
        "lineage": "text",
        "watched": "text",
        "target_topic": "text",
        "target_partition": "int4",
        "edited": "bool",
        "state": "text",
        "reason": "text",
        "evidence": "text",
        "state_at": "timestamptz",
        "attempt": "int4",
        "sent_digest": "text",
        "history": "jsonb",
    },
)
PAYLOADS = BulkTable(
    ItemPayload, {"item_id": "int8", "key": "bytea", "value": "bytea", "headers": "bytea", "digest": "text"}
)
LEFT_OUT = BulkTable(
    ReplayItem, {"id": "int8", "state": "text", "reason": "text", "evidence": "text", "target_partition": "int4"}
)


def clear(replay: Replay) -> None:
    """Delete the items of an earlier plan. None of them was ever sent."""
    items, payloads = ReplayItem._meta.db_table, ItemPayload._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"DELETE FROM {payloads} WHERE item_id IN (SELECT id FROM {items} WHERE replay_id = %s)",  # noqa: S608 (names of ours)
            [replay.pk],
        )
        cursor.execute(f"DELETE FROM {items} WHERE replay_id = %s", [replay.pk])  # noqa: S608 (names of ours)


def write(replay: Replay, first: int, found: Sequence[Decided], targets: Targets, now: datetime) -> None:
    """Insert the items of one slice, with the bytes of edited messages.

    The ordinals start at `first`. Runs in the caller's transaction. Raises IntegrityError if a dead letter has left the
    index.
    """
    there = bulk()
    hold_all([row.candidate.dead_letter for row in found])
    ids = there.ids(ReplayItem, len(found))
    empty: Any = [] if connection.vendor == "postgresql" else "[]"
    there.insert(
        ITEMS,
        (
            (
                pk, replay.pk, first + number, row.candidate.dead_letter, row.candidate.lineage,
                targets.watched(row.candidate.target, row.candidate.connector), row.candidate.target, row.partition,
                row.candidate.edited is not None, (ItemState.SKIPPED if row.reason else ItemState.PLANNED).value,
                row.reason, row.evidence[:MAX_EVIDENCE], now, row.attempt, "", empty,
            )
            for number, (pk, row) in enumerate(zip(ids, found, strict=True))
        ),
    )  # fmt: skip
    # Without its bytes an item is never sent. So an edit of a record that was erased meanwhile is left out.
    kept = erased_records.lock_unerased(row.candidate.dead_letter for row in found if row.candidate.edited is not None)
    edits = ((pk, row.candidate) for pk, row in zip(ids, found, strict=True) if row.candidate.dead_letter in kept)
    there.insert(
        PAYLOADS,
        (
            (pk, edited.key, edited.value, pack_headers(edited.headers), one.digest)
            for pk, one in edits
            if (edited := one.edited) is not None
        ),
    )


def one_of_each(replay: Replay, tally: PlanTally) -> None:
    """Keep one dead letter of each lineage and target.

    Edited dead letters are preferred, then the newest one.
    """
    place: dict[str, Any] = {
        "partition_by": [F("lineage"), F("target_topic")],
        "order_by": [F("edited").desc(), F("ordinal").desc()],
    }
    ranked = _planned(replay).annotate(
        place=Window(RowNumber(), **place),
        chosen=Window(FirstValue("dead_letter"), **place),
        as_edited=Window(FirstValue("edited"), **place),
    )
    found = ranked.filter(place__gt=1).order_by("ordinal").values_list("pk", "ordinal", "chosen", "as_edited")
    for part in _parts(found, 4):
        names = DeadLetter.objects.only("topic", "partition", "offset").in_bulk([chosen for _, _, chosen, _ in part])
        _leave_out(
            [
                (pk, ordinal, f"{names[chosen]} is the same record, {'as edited' if edited else 'dead-lettered later'}")
                for pk, ordinal, chosen, edited in part
            ],
            "same_lineage",
            tally,
        )


def last_of_each_key(replay: Replay, tally: PlanTally) -> None:
    """Keep one record of each key: the one with the highest offset in its origin topic."""
    place: dict[str, Any] = {
        "partition_by": [F("target_topic"), F("dead_letter__origin_topic"), F("dead_letter__origin_partition"),
                         F("dead_letter__key_hash")],
        "order_by": [OrderBy(F("dead_letter__origin_offset"), descending=True, nulls_last=True), F("ordinal").desc()],
    }  # fmt: skip
    ranked = _planned(replay).filter(dead_letter__key_hash__isnull=False)
    ranked = ranked.annotate(place=Window(RowNumber(), **place), chosen=Window(FirstValue("dead_letter"), **place))
    found = ranked.filter(place__gt=1).order_by("ordinal").values_list("pk", "ordinal", "chosen")
    for part in _parts(found, 3):
        names = DeadLetter.objects.only("topic", "partition", "offset").in_bulk([chosen for _, _, chosen in part])
        said = [(pk, ordinal, f"{names[chosen]} has the same key and is newer") for pk, ordinal, chosen in part]
        _leave_out(said, "superseded", tally)


Cell = tuple[str, int | None, str, bool, str, int]  # topic, partition, watched, edited, reason, count


def cells(replay: Replay) -> list[Cell]:
    """Return the number of items by target topic, partition, watched reader, edit and reason."""
    kinds = ("target_topic", "target_partition", "watched", "edited", "reason")
    return list(replay.items.order_by().values_list(*kinds).annotate(n=Count("pk")))


def _planned(replay: Replay) -> Any:
    return ReplayItem.objects.filter(replay=replay, state=ItemState.PLANNED)


def _leave_out(rows: Sequence[tuple[int, int, str]], reason: str, tally: PlanTally) -> None:
    bulk().change(LEFT_OUT, [(pk, ItemState.SKIPPED.value, reason, said[:MAX_EVIDENCE], None) for pk, _, said in rows])
    for _, ordinal, _ in rows:
        tally.leave_out(ordinal, reason)


def _parts(rows: Any, columns: int) -> Iterator[Sequence[Any]]:
    """Yield rows of `columns` numbers in batches.

    All rows are read first, into a compact array, because the caller changes them.
    """
    kept = array("q", chain.from_iterable(rows.iterator(chunk_size=PART)))
    size = PART * columns
    for start in range(0, len(kept), size):
        part = iter(kept[start : start + size])
        yield list(zip(*[part] * columns, strict=True))

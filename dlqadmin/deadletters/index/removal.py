"""Remove dead letters from the index, with their bytes, words and marks.

Dead letters that other rows refer to stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, ForeignObjectRel, Model, OuterRef, QuerySet

from dlqadmin.deadletters.models import (
    DeadLetter,
    DeadLetterBody,
    DeadLetterText,
    DecodedValue,
    QueuedDecoding,
    ReplayMark,
    Trace,
)

DELETED = (DeadLetterBody, DeadLetterText, DecodedValue, QueuedDecoding)
PARTS = (*DELETED, ReplayMark)


def free(rows: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
    """Return the rows that only their own parts refer to: no replay, no outcome, no draft."""
    for model, field in references():
        rows = rows.filter(~Exists(model._default_manager.filter(**{field: OuterRef("pk")})))
    return rows


def references() -> Iterator[tuple[type[Model], str]]:
    """Yield the models and fields that refer to dead letters and are not parts of them."""
    for relation in DeadLetter._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel) and relation.related_model not in PARTS:
            yield relation.related_model, relation.field.name


def lock_free(rows: QuerySet[DeadLetter], *, skip_locked: bool = False) -> list[DeadLetter]:
    """Lock and return those rows that are free. Other transactions cannot refer to them until the commit.

    Rows that another transaction has locked are waited for, or left out with `skip_locked`.
    """
    locked = rows.select_for_update(skip_locked=skip_locked).order_by("pk").values_list("pk", flat=True)
    # Checked after the lock: before it, another transaction could still have made a replay item of the row.
    return list(free(DeadLetter.objects.filter(pk__in=list(locked))))


def hold(ids: Iterable[int]) -> set[int]:
    """Let nobody remove these dead letters until the commit; return those that exist.

    For references that PostgreSQL does not check: a check is a query for each row, of 40 µs if dead letters have
    partitions. SQLite has one writer, and checks them.
    """
    if connection.vendor != "postgresql":
        return set(ids)
    table = DeadLetter._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM {table} WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE",  # noqa: S608 (a name of ours)
            [sorted(set(ids))],
        )
        return {pk for (pk,) in cursor.fetchall()}


def hold_all(ids: Collection[int]) -> None:
    """Hold these dead letters as `hold` does. Raises IntegrityError if some have left the index."""
    if gone := set(ids) - hold(ids):
        raise IntegrityError(f"{len(gone)} of the dead letters have left the index")


def remove(ids: Sequence[int]) -> int:
    """Delete these dead letters. Counters, groups and traces stay unchanged.

    A trigger deletes their marks. It counts them as removed by their work state.
    """
    for table in DELETED:
        table._default_manager.filter(pk__in=ids).delete()
    _, deleted = DeadLetter.objects.filter(pk__in=ids).delete()
    return deleted.get(DeadLetter._meta.label, 0)


@transaction.atomic
def remove_unused_traces(digests: Iterable[str | None]) -> int:
    """Delete those of these traces that no dead letter has any more. Return how many."""
    given = {digest for digest in digests if digest}
    unused = Trace.objects.filter(~Exists(DeadLetter.objects.filter(trace=OuterRef("pk"))))
    locked = unused.select_for_update(skip_locked=True).filter(pk__in=given).values_list("pk", flat=True)
    # Checked again under the lock: an indexer may have written a dead letter with this trace since the first check.
    return unused.filter(pk__in=list(locked)).only("pk").delete()[0]

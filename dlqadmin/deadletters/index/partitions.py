"""Partitions of the index on PostgreSQL: each holds a range of ids of dead letters, with their bytes and words.

New rows have the highest ids. So only the indexes of the newest partition grow, however many dead letters there are,
and old dead letters leave with their partition (`old_partitions`). SQLite has no partitions.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from django.conf import settings
from django.db import DatabaseError, connection, models, transaction

from dlqadmin.deadletters.index.bulk_insert import bulk
from dlqadmin.deadletters.models import DeadLetter, DeadLetterBody, DeadLetterText, DecodedValue
from dlqadmin.deadletters.schema_partitions import Partitioned, add_partition

LETTERS = DeadLetter._meta.db_table
# Each has a partition for each range of ids. The first is that of the dead letters.
TABLES: tuple[type[models.Model], ...] = (DeadLetter, DeadLetterBody, DeadLetterText, DecodedValue)
LOCK = 0x646C71_02  # an advisory lock; who adds or drops partitions holds it
WAIT_S = 3.0  # for writers of other tables, who wait meanwhile
AGAIN_S = 30.0
# A unique index cannot span partitions, and need not: the positions of the indexer already forbid repeats.
UNIQUE = ("dead_letter_coordinates", '"cluster", "topic", "partition", "offset"')

log = logging.getLogger(__name__)


class Partition(msgspec.Struct, frozen=True):
    """A partition: its number, which ends the names of its tables, and its ids from `first` to below `end`."""

    number: int
    first: int
    end: int

    def table(self, model: type[models.Model]) -> str:
        """Return the name of its table of this model."""
        return f"{model._meta.db_table}_p{self.number}"


class _KnownIds:
    """The ids and partitions that this process knows of.

    `reached` is the last id that it took, and each id below `end` has a partition. After a failure it adds none before
    `again` (s, of the monotonic clock), so that a writer that holds a table up does not hold the index up too.
    """

    reached: int | None = None
    end = 0
    again = 0.0


def reserve_ids(n: int) -> Sequence[int]:
    """Reserve ids for `n` dead letters, in ascending order. `make_room` comes before the transaction."""
    ids = bulk().ids(DeadLetter, n)
    _KnownIds.reached = ids[-1]
    return ids


def make_room(n: int) -> None:
    """Add partitions until there is room for `n` dead letters and half a partition more.

    If that is impossible now, it is tried again later. Raises DatabaseError if there is no room for `n`.
    """
    if connection.vendor != "postgresql":
        return
    reached = _reached()
    _KnownIds.end = _KnownIds.end or end()
    wanted = reached + n + settings.INDEX_PARTITION_RECORDS // 2
    if wanted < _KnownIds.end or (reached + n < _KnownIds.end and time.monotonic() < _KnownIds.again):
        return
    try:
        with transaction.atomic(), limited_wait() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            added = _extend(cursor, wanted)
        transaction.on_commit(lambda: _note_end(added))  # a caller's transaction may be rolled back
    except DatabaseError as error:
        _KnownIds.end, _KnownIds.again = end(), time.monotonic() + AGAIN_S
        if reached + n >= _KnownIds.end:
            raise
        log.warning("no partition was added to the index, it is tried again: %s", str(error).strip())


def _note_end(added: int) -> None:
    _KnownIds.end = added


def forget() -> None:
    """Forget what this process knows, because the database is another one."""
    _KnownIds.reached, _KnownIds.end, _KnownIds.again = None, 0, 0.0


def partitions() -> list[Partition]:
    """Return the partitions, oldest first; [] on SQLite."""
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT inhrelid::regclass::text, pg_get_expr(relpartbound, oid) FROM pg_inherits "
            "JOIN pg_class ON oid = inhrelid WHERE inhparent = %s::regclass",
            [LETTERS],
        )
        return sorted((_partition(*row) for row in cursor.fetchall()), key=lambda one: one.first)


def end() -> int:
    """Return the id below which each id has a partition."""
    return max(one.end for one in partitions())


def last_id() -> int:
    """Return the last id that was taken, by whomever."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [LETTERS])
        [sequence] = cursor.fetchone()
        cursor.execute(f"SELECT last_value FROM {sequence}")  # noqa: S608 (a name of the catalog)
        [last] = cursor.fetchone()
    assert isinstance(last, int)
    return last


@contextmanager
def limited_wait() -> Iterator[Any]:
    """Yield a cursor whose statements end with an OperationalError if they wait longer than WAIT_S for a lock.

    Everyone who comes later waits behind a statement that waits for a whole table.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = {int(WAIT_S * 1000)}")
        yield cursor
        cursor.execute("SET LOCAL lock_timeout TO DEFAULT")


def _reached() -> int:
    if _KnownIds.reached is None:
        _KnownIds.reached = last_id()
    return _KnownIds.reached


def _extend(cursor: Any, wanted: int) -> int:
    """Add partitions until `wanted` has one; return the new end."""
    known = partitions()
    number, first = _highest_number(cursor) + 1, known[-1].end
    while first <= wanted:
        _add(cursor, Partition(number, first, first + settings.INDEX_PARTITION_RECORDS))
        number, first = number + 1, first + settings.INDEX_PARTITION_RECORDS
    return first


def _highest_number(cursor: Any) -> int:
    """Return the highest number of a partition, or of one that has left the index and is not dropped yet."""
    cursor.execute(
        r"SELECT max(substring(relname FROM '_p(\d+)$')::int) FROM pg_class WHERE relkind = 'r' "
        r"AND relname ~ ('^' || %s || '_p\d+$') AND pg_table_is_visible(oid)",
        [LETTERS],
    )
    [highest] = cursor.fetchone()
    assert isinstance(highest, int)
    return highest


def _add(cursor: Any, new: Partition) -> None:
    for model in TABLES:
        key = model._meta.pk.get_attname_column()[1]
        one = Partitioned(model._meta.db_table, str(key), UNIQUE if model is DeadLetter else None)
        add_partition(cursor, one, new.number, new.first, new.end)


def _partition(name: str, bound: str) -> Partition:
    found = re.fullmatch(r"FOR VALUES FROM \((?:MINVALUE|'(\d+)')\) TO \('(\d+)'\)", bound)
    assert found is not None
    return Partition(int(name.rpartition("_p")[2]), int(found[1] or 0), int(found[2]))

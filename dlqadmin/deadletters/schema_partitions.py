"""Migration operations that make tables of PostgreSQL partitioned by ranges of ids.

A table with millions of rows becomes the first partition as it is. Only the catalog changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

FIRST = "_p0"  # the ending of the first partition's name, and of its indexes
LIMIT = "ids_of_first_partition"  # a check of the existing rows, so that PostgreSQL need not read them to attach them
WATERMARK = 0x646C71_01  # see `index.watermark`


class Partitioned(NamedTuple):
    """A table, its primary key, and the constraint (name, columns) that each partition has for itself."""

    table: str
    key: str
    unique: tuple[str, str] | None = None


class _CatalogOperation(Operation):
    """An operation on the catalog of PostgreSQL. The models and other databases do not change."""

    def __init__(self, tables: Sequence[Partitioned]) -> None:
        self.tables = tables

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Leave the models unchanged."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql" and not schema_editor.collect_sql:
            with schema_editor.connection.cursor() as cursor:
                self.forwards(cursor)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql" and not schema_editor.collect_sql:
            with schema_editor.connection.cursor() as cursor:
                self.backwards(cursor)

    def forwards(self, cursor: Any) -> None:
        """Change the catalog."""
        raise NotImplementedError

    def backwards(self, cursor: Any) -> None:
        """Change it back."""


class LimitIds(_CatalogOperation):
    """Check that all ids are below a limit, while others read and write. Its migration must not be atomic.

    The limit leaves room for as many rows as others write until `PartitionById`.
    """

    atomic = False

    def __init__(self, tables: Sequence[Partitioned], room: int) -> None:
        super().__init__(tables)
        self.room = room

    def forwards(self, cursor: Any) -> None:
        """Add the check to each table, and compare the rows with it."""
        first = self.tables[0]
        [(last,)] = _rows(cursor, f"SELECT coalesce(max({first.key}), 0) FROM {first.table}")  # noqa: S608 (names of ours)
        below = (last // self.room + 1) * self.room + self.room // 2
        for table, key, *_ in self.tables:
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {LIMIT}")  # of a migration that was ended
            cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {LIMIT} CHECK ({key} < {below}) NOT VALID")
            cursor.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {LIMIT}")

    def backwards(self, cursor: Any) -> None:
        """Drop the checks."""
        for table, *_ in self.tables:
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {LIMIT}")


class PartitionById(_CatalogOperation):
    """Make each table the first partition of a partitioned table of its name. `LimitIds` comes before.

    A second partition has room for `size` rows, which the last release can write too: it adds none. Indexes, triggers,
    statistics, defaults and foreign keys become those of the partitioned table. Foreign keys that refer to it are not
    checked again: VALIDATE them later. A unique index cannot span partitions unless it contains the key, so each
    partition has an own one. Backwards, all rows are copied into one table.
    """

    def __init__(self, tables: Sequence[Partitioned], size: int) -> None:
        super().__init__(tables)
        self.size = size

    def forwards(self, cursor: Any) -> None:
        """Swap the tables."""
        _stop_writers(cursor)
        for one in self.tables:
            below = _split(cursor, one)
            add_partition(cursor, one, 1, below, below + self.size)

    def backwards(self, cursor: Any) -> None:
        """Merge the partitions."""
        _stop_writers(cursor)
        for one in reversed(self.tables):
            _merge(cursor, one)


class ValidateReferences(_CatalogOperation):
    """Check the foreign keys that refer to these tables, while others read and write."""

    atomic = False

    def forwards(self, cursor: Any) -> None:
        """Check the rows of those keys that are not checked yet."""
        for table, *_ in self.tables:
            for key in _references(cursor, table):
                cursor.execute(f"ALTER TABLE {key.table} VALIDATE CONSTRAINT {key.name}")


class _Named(NamedTuple):
    """A part of the catalog: its table, its quoted name, and the statement or clause that makes it."""

    table: str
    name: str
    definition: str


def add_partition(cursor: Any, one: Partitioned, number: int, first: int, end: int) -> None:
    """Add an empty partition to a partitioned table, for the ids from `first` to below `end`."""
    name = f"{one.table}_p{number}"
    # Made apart and attached: CREATE TABLE … PARTITION OF would wait for all readers.
    cursor.execute(f"CREATE TABLE {name} (LIKE {one.table} INCLUDING ALL EXCLUDING DEFAULTS)")
    if one.unique:
        constraint, columns = one.unique
        cursor.execute(f"ALTER TABLE {name} ADD CONSTRAINT {constraint}_p{number} UNIQUE ({columns})")
    cursor.execute(f"ALTER TABLE {one.table} ATTACH PARTITION {name} FOR VALUES FROM ({first}) TO ({end})")


def _split(cursor: Any, one: Partitioned) -> int:
    """Make the table a partition of a new one; return the id below which it takes rows."""
    table, first = one.table, f"{one.table}{FIRST}"
    [(check,)] = _rows(
        cursor,
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = %s::regclass AND conname = %s",
        [table, LIMIT],
    )
    below = int("".join(character for character in check if character.isdigit()))
    sequence = _take_sequence(cursor, one)
    triggers, statistics, references = _triggers(cursor, table), _statistics(cursor, table), _references(cursor, table)
    indexes, keys = _indexes(cursor, table), foreign_keys(cursor, table)
    for trigger in triggers:
        cursor.execute(f"DROP TRIGGER {trigger.name} ON {table}")
    for key in references:
        cursor.execute(f"ALTER TABLE {key.table} DROP CONSTRAINT {key.name}")
    cursor.execute(f"ALTER TABLE {table} RENAME TO {first}")
    for index in (*indexes, *_unique_constraints(cursor, first)):
        cursor.execute(f"ALTER INDEX {index.name} RENAME TO {index.name}{FIRST}")
    for kind in statistics:
        cursor.execute(f"ALTER STATISTICS {kind.name} RENAME TO {kind.name}{FIRST}")
    cursor.execute(
        f"CREATE TABLE {table} (LIKE {first} INCLUDING ALL EXCLUDING CONSTRAINTS EXCLUDING IDENTITY "
        f"EXCLUDING INDEXES EXCLUDING STATISTICS) PARTITION BY RANGE ({one.key})"
    )
    cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {table}_pkey PRIMARY KEY ({one.key})")
    for index in indexes:
        cursor.execute(index.definition)
    for key in keys:
        cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {key.name} {key.definition}")
    cursor.execute(f"ALTER TABLE {table} ATTACH PARTITION {first} FOR VALUES FROM (MINVALUE) TO ({below})")
    cursor.execute(f"ALTER TABLE {first} DROP CONSTRAINT {LIMIT}")
    _give_sequence(cursor, one, sequence)
    for part in (*statistics, *triggers):
        cursor.execute(part.definition)
    for key in references:
        cursor.execute(f"ALTER TABLE {key.table} ADD CONSTRAINT {key.name} {key.definition} NOT VALID")
    return below


def _merge(cursor: Any, one: Partitioned) -> None:
    """Copy all rows into one table, which takes the name of the partitioned one."""
    table, whole = one.table, f"{one.table}_whole"
    sequence = _take_sequence(cursor, one)
    triggers, statistics, references = _triggers(cursor, table), _statistics(cursor, table), _references(cursor, table)
    indexes, keys = _indexes(cursor, table), foreign_keys(cursor, table)
    for key in references:
        cursor.execute(f"ALTER TABLE {key.table} DROP CONSTRAINT {key.name}")
    cursor.execute(
        f"CREATE TABLE {whole} (LIKE {table} INCLUDING ALL EXCLUDING INDEXES EXCLUDING IDENTITY EXCLUDING STATISTICS)"
    )
    cursor.execute(f"INSERT INTO {whole} SELECT * FROM {table}")  # noqa: S608 (names of ours)
    cursor.execute(f"DROP TABLE {table}")
    cursor.execute(f"ALTER TABLE {whole} RENAME TO {table}")
    cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {table}_pkey PRIMARY KEY ({one.key})")
    if one.unique:
        name, columns = one.unique
        cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} UNIQUE ({columns})")
    for part in (*indexes, *statistics, *triggers):
        cursor.execute(part.definition)
    for key in keys:
        cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {key.name} {key.definition}")
    if sequence is not None:
        cursor.execute(f"ALTER TABLE {table} ALTER {one.key} DROP DEFAULT")
        cursor.execute(f"ALTER TABLE {table} ALTER {one.key} ADD GENERATED BY DEFAULT AS IDENTITY")
        cursor.execute("SELECT setval(pg_get_serial_sequence(%s, %s), %s)", [table, one.key, sequence])
    for key in references:
        cursor.execute(f"ALTER TABLE {key.table} ADD CONSTRAINT {key.name} {key.definition} NOT VALID")


def _stop_writers(cursor: Any) -> None:
    """Let nobody take an id until the commit: the sequence of ids is made anew."""
    cursor.execute("SELECT pg_advisory_xact_lock(%s)", [WATERMARK])


def _take_sequence(cursor: Any, one: Partitioned) -> int | None:
    """Take the sequence from the key's column; return its last number, or None if the column has none."""
    cursor.execute(f"LOCK TABLE {one.table} IN ACCESS EXCLUSIVE MODE")
    [(sequence,)] = _rows(cursor, "SELECT pg_get_serial_sequence(%s, %s)", [one.table, one.key])
    if sequence is None:
        return None
    [(last,)] = _rows(cursor, f"SELECT last_value FROM {sequence}")  # noqa: S608 (a name of the catalog)
    [(identity,)] = _rows(
        cursor,
        "SELECT attidentity <> '' FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s",
        [one.table, one.key],
    )
    cursor.execute(f"ALTER TABLE {one.table} ALTER {one.key} DROP {'IDENTITY' if identity else 'DEFAULT'}")
    return int(last)


def _give_sequence(cursor: Any, one: Partitioned, last: int | None) -> None:
    """Number the rows on from `last`. Before PostgreSQL 17, a partition cannot have an identity column."""
    if last is not None:
        name = f"{one.table}_{one.key}_seq"
        cursor.execute(f"CREATE SEQUENCE {name} OWNED BY {one.table}.{one.key}")
        cursor.execute("SELECT setval(%s, %s)", [name, last])
        cursor.execute(f"ALTER TABLE {one.table} ALTER {one.key} SET DEFAULT nextval('{name}')")


def _indexes(cursor: Any, table: str) -> list[_Named]:
    """Return the indexes that no constraint stands for."""
    return _parts(
        cursor,
        "SELECT indrelid::regclass, indexrelid::regclass, replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') "
        "FROM pg_index WHERE indrelid = %s::regclass "
        "AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u')) ORDER BY 2",
        table,
    )


def _unique_constraints(cursor: Any, table: str) -> list[_Named]:
    """Return the primary key and the unique constraints."""
    return _constraints(cursor, "conrelid = %s::regclass AND contype IN ('p', 'u')", table)


def foreign_keys(cursor: Any, table: str) -> list[_Named]:
    """Return the foreign keys of this table."""
    return _constraints(cursor, "conrelid = %s::regclass AND contype = 'f'", table)


def _references(cursor: Any, table: str) -> list[_Named]:
    """Return the foreign keys of other tables that refer to this one."""
    return _constraints(cursor, "confrelid = %s::regclass AND contype = 'f' AND conparentid = 0", table)


def _constraints(cursor: Any, which: str, table: str) -> list[_Named]:
    select = "SELECT conrelid::regclass, quote_ident(conname), replace(pg_get_constraintdef(oid), ' NOT VALID', '')"
    return _parts(cursor, f"{select} FROM pg_constraint WHERE {which} ORDER BY 2", table)


def _triggers(cursor: Any, table: str) -> list[_Named]:
    return _parts(
        cursor,
        "SELECT tgrelid::regclass, quote_ident(tgname), pg_get_triggerdef(oid) FROM pg_trigger "
        "WHERE tgrelid = %s::regclass AND NOT tgisinternal ORDER BY 2",
        table,
    )


def _statistics(cursor: Any, table: str) -> list[_Named]:
    return _parts(
        cursor,
        "SELECT stxrelid::regclass, quote_ident(stxname), pg_get_statisticsobjdef(oid) FROM pg_statistic_ext "
        "WHERE stxrelid = %s::regclass ORDER BY 2",
        table,
    )


def _parts(cursor: Any, sql: str, table: str) -> list[_Named]:
    return [_Named(*map(str, row)) for row in _rows(cursor, sql, [table])]


def _rows(cursor: Any, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
    cursor.execute(sql, parameters)
    return list(cursor.fetchall())

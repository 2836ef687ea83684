"""SqlSink: inserts rows into an existing table, one transaction per put, and names each rejected row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import postgresql, sqlite

from engine.config.options import REQUIRED, Option, one_of
from engine.connectors.sql.database import (
    ConnectionLimits,
    check_constraints,
    database_url,
    driver_error,
    is_of_world,
    open_engine,
    words,
)
from engine.connectors.sql.put_data import PUT_OPTION
from engine.errors import ConfigError, DataError, EngineError, RecordError, RetriableError
from engine.record.record import Record
from engine.worker_messages import Delivery

INSERT_MODES = ("insert", "upsert")
PK_MODES = ("none", "record_key", "record_value")
OPTIONS = (
    Option(
        "connection.url",
        "string",
        REQUIRED,
        "The URL of the database, in SQLAlchemy's format.",
        database_url,
        secret=True,
    ),
    Option("table.name", "string", REQUIRED, "The table to write to. It must exist."),
    Option(
        "insert.mode",
        "string",
        "insert",
        "`insert`: add a row. `upsert`: add a row, or replace the row with the same primary key.",
        one_of(*INSERT_MODES),
    ),
    Option(
        "pk.mode",
        "string",
        "none",
        "The source of the primary key: `none`, `record_key` or `record_value`.",
        one_of(*PK_MODES),
    ),
    Option("pk.fields", "list", (), "The columns of the primary key."),
    Option(
        "fields.whitelist",
        "list",
        (),
        "The fields of the value to write. If empty, all fields that have a column are written.",
    ),
    Option(
        "delivery.guarantee",
        "string",
        Delivery.AT_LEAST_ONCE,
        "`at_least_once` or `exactly_once`. With `exactly_once`, offsets and dead letters are stored in the tables "
        "`engine_offsets` and `engine_letters` of the same database. Missing tables are created (only SQLite and "
        "PostgreSQL).",
        one_of(*Delivery),
    ),
    Option(
        PUT_OPTION,
        "boolean",
        False,
        "Allow rehearsals of puts: the driver writes rows in one transaction and rolls it back. Triggers run, locks "
        "are held for up to 3 s, and sequences keep the numbers that they gave out.",
    ),
)
UPSERTS: dict[str, Callable[[sa.Table], postgresql.Insert | sqlite.Insert]] = {
    "postgresql": postgresql.insert,
    "sqlite": sqlite.insert,
}
# Drivers also raise Python's own exceptions, for integers out of range or text that can't be encoded.
ROW_ERRORS = (exc.StatementError, OverflowError, TypeError, ValueError)

Row = dict[str, Any]


class SqlSink:
    """Writes each record's value as a row.

    `writing` opens the transaction of a put. A caller that replaces it must commit by itself.
    """

    put_is_idempotent = False  # the sink names the rejected rows itself
    writes_to = "a database"

    def __init__(self, root: str | None = None, limits: ConnectionLimits | None = None) -> None:
        """Allow only SQLite files below `root`; None allows no file. `limits` are the connections' time limits."""
        self._root = root
        self._limits = limits

    @classmethod
    def rehearse(cls, config: Mapping[str, str], record: Record) -> Row:
        """Return the row as far as it is known without the table.

        Only the database knows the table's columns. Raises DataError for a record that no table would take.
        """
        sink = cls()
        sink._configure(config)
        value = _fields_of(record)
        row = {name: value[name] for name in value if not sink._whitelist or name in sink._whitelist}
        return row | sink._key_of(record.key) if sink._pk_mode == "record_key" and sink._pk_fields else row

    def start(self, config: Mapping[str, str]) -> None:
        self._configure(config)
        self.engine = open_engine(self._url, begin="BEGIN IMMEDIATE", root=self._root, limits=self._limits)
        self.writing: Callable[[], AbstractContextManager[sa.Connection]] = self.engine.begin
        self._statements: dict[frozenset[str], sa.Insert] = {}
        try:
            self.table = self._reflected(config["table.name"])
            self._columns = {column.name for column in self.table.columns}
            self._check_keys()
        except EngineError:
            self.stop()
            raise

    def put(self, records: Sequence[Record]) -> None:
        rows, errors = self._rows(records)
        if errors:
            raise ExceptionGroup("records that can't be converted to rows", errors)
        try:
            with self.writing() as connection:
                for columns, batch in groupby(rows, frozenset):
                    connection.execute(self._statement(columns), list(batch))
        except ROW_ERRORS as error:
            if is_of_world(error):
                raise RetriableError(words(error)) from None
        else:
            return
        # Outside the except block: the batch's error would become the context of each row's error.
        raise self._guilty(rows)

    def flush(self) -> None:
        """Do nothing: each put has committed already."""

    def stop(self) -> None:
        self.engine.dispose()

    def _configure(self, config: Mapping[str, str]) -> None:
        self._url = config["connection.url"]
        self._upsert = config.get("insert.mode") == "upsert"
        self._pk_mode = config.get("pk.mode", "none")
        self._pk_fields = _names(config.get("pk.fields", ""))
        self._whitelist = set(_names(config.get("fields.whitelist", "")))

    def _reflected(self, name: str) -> sa.Table:
        try:
            return sa.Table(name, sa.MetaData(), autoload_with=self.engine)
        except exc.NoSuchTableError:
            raise ConfigError(
                (("table.name", name, "is not a table of the database; create the table, or correct the name"),)
            ) from None
        except exc.DBAPIError as error:
            raise RetriableError(words(error)) from None

    def _check_keys(self) -> None:
        missing = [name for name in self._pk_fields if name not in self._columns]
        if missing:
            raise ConfigError((("pk.fields", ",".join(missing), f"is not a column of the table {self.table.name}"),))
        if self._pk_mode != "none" and not self._pk_fields:
            self._pk_fields = tuple(column.name for column in self.table.primary_key)
        if self._upsert and not self._pk_fields:
            raise ConfigError(
                (("pk.fields", None, "is required for insert.mode=upsert, because the table has no primary key"),)
            )

    def _rows(self, records: Sequence[Record]) -> tuple[list[Row], list[RecordError]]:
        rows: list[Row] = []
        errors: list[RecordError] = []
        for index, record in enumerate(records):
            try:
                rows.append(self.row_of(record))
            except DataError as error:
                errors.append(RecordError(index, error))
        return rows, errors

    def row_of(self, record: Record) -> Row:
        """Return the record's row. Raises DataError for a record that is none."""
        value = _fields_of(record)
        wanted = self._whitelist or self._columns
        row = {name: value[name] for name in value if name in wanted and name in self._columns}
        if self._pk_mode == "record_key":
            row |= self._key_of(record.key)
        if not row:
            raise DataError(f"no field of the value is a column of the table {self.table.name}")
        return row

    def _key_of(self, key: Any) -> Row:
        if isinstance(key, Mapping):
            missing = [name for name in self._pk_fields if name not in key]
            if missing:
                raise DataError(f"the record key does not have the fields {', '.join(missing)} of pk.fields")
            return {name: key[name] for name in self._pk_fields}
        if len(self._pk_fields) != 1:
            raise DataError(f"the record key must have the fields {', '.join(self._pk_fields)} of pk.fields")
        return {self._pk_fields[0]: key}

    def _statement(self, columns: frozenset[str]) -> sa.Insert:
        statement = self._statements.get(columns)
        if statement is None:
            statement = self._statements[columns] = self._build(columns)
        return statement

    def _build(self, columns: frozenset[str]) -> sa.Insert:
        if not self._upsert:
            return self.table.insert()
        insert = UPSERTS.get(self.engine.dialect.name)
        if insert is None:
            raise ConfigError(
                (
                    (
                        "insert.mode",
                        "upsert",
                        f"is not supported on {self.engine.dialect.name}; use PostgreSQL or SQLite",
                    ),
                )
            )
        statement = insert(self.table)
        rest = {name: statement.excluded[name] for name in sorted(columns.difference(self._pk_fields))}
        keys = list(self._pk_fields)
        if not rest:
            return statement.on_conflict_do_nothing(index_elements=keys)
        return statement.on_conflict_do_update(index_elements=keys, set_=rest)

    def _guilty(self, rows: list[Row]) -> Exception:
        """Try each row alone, in a transaction that is rolled back, and return the rows' errors."""
        errors: list[RecordError] = []
        try:
            with self.engine.connect() as connection, connection.begin() as transaction:
                # From here on, each row raises its own error instead of the commit.
                check_constraints(connection)
                for index, row in enumerate(rows):
                    cause = self._try_row(connection, row)
                    if cause is not None:
                        errors.append(RecordError(index, cause))
                transaction.rollback()
        except exc.DBAPIError as error:
            return RetriableError(words(error))
        if not errors:
            # Two rows of the batch may collide, or another client has just removed the obstacle. No row can be blamed.
            return RetriableError(
                "the database rejected the batch but accepts each of its rows; the batch will be retried"
            )
        return ExceptionGroup("rows that the database rejected", errors)

    def write_row(self, connection: sa.Connection, row: Row) -> None:
        """Write one row, in the connection's transaction."""
        connection.execute(self._statement(frozenset(row)), row)

    def _try_row(self, connection: sa.Connection, row: Row) -> BaseException | None:
        try:
            with connection.begin_nested():
                self.write_row(connection, row)
        except ROW_ERRORS as error:
            if is_of_world(error):
                raise
            return driver_error(error)
        return None


def _fields_of(record: Record) -> Mapping[str, Any]:
    if not isinstance(record.value, Mapping):
        raise DataError(f"the record value must have fields, but its type is {type(record.value).__name__}")
    return record.value


def _names(value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",") if name.strip())

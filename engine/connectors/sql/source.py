"""SqlSource: reads new rows of tables by a growing column, as Kafka Connect's JDBC sources do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from engine.config.errors_policy import topic_name
from engine.config.options import INT_MAX, LONG_MAX, REQUIRED, Option, Problem, at_least, no_duplicates, one_of, read
from engine.connectors.sql.columns import Convert, field_of, select_column, value_of
from engine.connectors.sql.complete_rows import DELAY, OpenWriters, check_primary, check_sequence
from engine.connectors.sql.database import database_url, is_of_world, open_engine, words
from engine.errors import VALUE, ConfigError, DataError, Message, RetriableError
from engine.ports import SourcePosition
from engine.record.record import Record
from engine.record.schema import Field, Schema

OPTIONS = (
    Option(
        "connection.url",
        "string",
        REQUIRED,
        "The URL of the database, in SQLAlchemy's format.",
        database_url,
        secret=True,
    ),
    Option(
        "table.whitelist",
        "list",
        REQUIRED,
        "The tables to read, as `table` or `schema.table`.",
        no_duplicates,
        aliases=("tables",),
    ),
    Option("mode", "string", "incrementing", "The way to find new rows.", one_of("incrementing")),
    Option(
        "incrementing.column.name",
        "string",
        "",
        "A column with whole numbers that grow with each row. It must be unique and never NULL. If empty, the primary "
        "key is used, which must have one column.",
    ),
    Option("topic.prefix", "string", REQUIRED, "The prefix of topic names. The table name follows it."),
    Option("poll.interval.ms", "int", 5000, "The time between polls when there are no new rows.", at_least(1, INT_MAX)),
    Option("batch.max.rows", "int", 100, "The maximum number of rows per poll.", at_least(1, INT_MAX)),
    Option(
        "timestamp.column.name",
        "string",
        "",
        f"A column with the time of each row's INSERT, which must be NOT NULL. Only `{DELAY}` needs it.",
    ),
    Option(
        DELAY,
        "long",
        0,
        "PostgreSQL: rows younger than this wait, with all rows after them, instead of waiting for open transactions. "
        "Transactions that last longer lose rows, so delivery is not exactly once. 0 waits for open transactions.",
        at_least(0, LONG_MAX),
    ),
)


@dataclass(slots=True)
class TableCursor:
    """A table and its read position. `last` is None before the first row."""

    partition: dict[str, Any]
    topic: str
    schema: Schema
    converts: tuple[Convert, ...]
    query: sa.Select[Any]
    column: sa.Column[Any]
    last: int | None
    writers: OpenWriters | None  # PostgreSQL only: SQLite has one writer at a time
    has_age: bool  # the last value of each row says whether the row is too young

    @property
    def place(self) -> int:
        """The index of the growing column in a row."""
        return [field.name for field in self.schema.fields].index(self.column.name)


class SqlSource:
    """Reads tables in turn, each row as a STRUCT; later changes of a row are not seen."""

    def __init__(self, root: str | None = None) -> None:
        """Allow only SQLite files below `root`; None allows no file."""
        self._root = root
        self.idle_ms = 0
        self._engine: sa.Engine | None = None

    @staticmethod
    def task_configs(properties: Mapping[str, str], tasks_max: int) -> list[dict[str, str]]:
        """Return the tables of each task."""
        # The driver calls this without the values that config providers supply for other options.
        tables = _own_values(properties)[0]["table.whitelist"]
        spellings = [name for name in ("table.whitelist", "tables") if name in properties]
        count = min(tasks_max, len(tables))
        return [dict.fromkeys(spellings, ",".join(tables[task::count])) for task in range(count)]

    @staticmethod
    def exactly_once_support(config: Mapping[str, str]) -> bool:
        """Return whether no row can be missed: not with a delay, which a transaction may outlast."""
        return bool(_own_values(config)[0][DELAY] == 0)

    @staticmethod
    def can_define_transaction_boundaries(config: Mapping[str, str]) -> bool:  # noqa: ARG004, as above
        """Return False: a table has no transactions that the engine could use."""
        return False

    @staticmethod
    def targets(values: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return the topic of each table, with the option that names it."""
        return [
            ("topic.prefix", _topic(values["topic.prefix"] or "", name)) for name in values["table.whitelist"] or ()
        ]

    def start(self, config: Mapping[str, str], position: Callable[[SourcePosition], SourcePosition | None]) -> None:
        values = parse_own(config)
        self.idle_ms = values["poll.interval.ms"]
        self._batch: int = values["batch.max.rows"]
        self._engine = open_engine(values["connection.url"], root=self._root)
        connector = config.get("name", "")
        self._tables = [
            _rows(self._engine, name, values, _last(position({"table": name})), connector)
            for name in values["table.whitelist"]
        ]

    def poll(self) -> Sequence[Record]:
        for _ in range(len(self._tables)):
            # Rotate, so that a busy table does not starve the others.
            table = self._tables.pop(0)
            self._tables.append(table)
            records = self._next(table)
            if records:
                return records
        return ()

    def commit_record(self, record: Record) -> None:
        """Do nothing: the engine commits the offsets."""

    def commit(self) -> None:
        """Do nothing: the engine commits the offsets."""

    def stop(self) -> None:
        if self._engine is not None:
            self._engine.dispose()

    def _next(self, table: TableCursor) -> list[Record]:
        query = table.query
        if table.last is not None:
            # Some SQLite keys may be NULL: select such a row too, so that it raises an error instead of being lost.
            beyond = table.column > table.last
            query = query.where(beyond | table.column.is_(None) if table.column.nullable else beyond)
        assert self._engine is not None
        try:
            with _autocommit(self._engine).connect() as connection:
                if table.writers is not None:
                    complete = table.writers.complete_up_to(connection, table.last)
                    if complete is None:
                        return []
                    query = query.where(table.column <= complete)
                rows = connection.execute(query.limit(self._batch)).all()
        except exc.DBAPIError as error:
            if is_of_world(error):
                raise RetriableError(words(error)) from None
            raise
        if table.writers is not None and len(rows) < self._batch:
            table.writers.forget()
        place, records = table.place, []
        for row in rows:
            if table.has_age and row[-1]:
                break
            last = row[place]
            if not isinstance(last, int):
                raise DataError(
                    Message(
                        f"column {table.column} has the value {VALUE}, which is not a whole number",
                        f"{last!r:.60}",
                    )
                )
            records.append(_record(table, row, last))
            table.last = last
        return records


def parse_own(config: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the source's own options. Raises ConfigError."""
    values, problems = _own_values(config)
    if problems:
        raise ConfigError(tuple(problems))
    return values


def _own_values(config: Mapping[str, str]) -> tuple[dict[str, Any], list[Problem]]:
    names = {name for option in OPTIONS for name in option.spellings}
    return read(OPTIONS, {name: value for name, value in config.items() if name in names})


def _record(table: TableCursor, row: sa.Row[Any], last: int) -> Record:
    fields = table.schema.fields
    value = {
        field.name: value_of(convert, held) for field, convert, held in zip(fields, table.converts, row, strict=False)
    }
    return Record(
        table.topic,
        None,
        None,
        None,
        value,
        value_schema=table.schema,
        source_partition=table.partition,
        source_offset={"incrementing": last},
    )


def _topic(prefix: str, table: str) -> str:
    return prefix + table.rpartition(".")[2]


def _autocommit(engine: sa.Engine) -> sa.Engine:
    """Return an engine for PostgreSQL whose statements see all that is committed, whatever the URL sets."""
    return engine.execution_options(isolation_level="AUTOCOMMIT") if engine.dialect.name == "postgresql" else engine


def _rows(engine: sa.Engine, name: str, values: Mapping[str, Any], last: int | None, connector: str) -> TableCursor:
    """Reflect a table from the database. Raises ConfigError or RetriableError."""
    schema_name, _, short = name.rpartition(".")
    topic = _topic(values["topic.prefix"], name)
    problem = topic_name(topic)
    if problem:
        raise ConfigError((("topic.prefix", values["topic.prefix"], f"the topic name {topic} {problem}"),))
    table = _reflected(engine, name, schema_name or None, short)
    column = _growing(table, values["incrementing.column.name"])
    dialect = engine.dialect.name
    fields = [
        (one.name, *field_of(one, dialect, nullable=one is not column and bool(one.nullable))) for one in table.columns
    ]
    query = sa.select(*(select_column(one, dialect) for one in table.columns)).order_by(column)
    writers = None
    if values[DELAY]:
        query = query.add_columns(_is_young(table, dialect, values["timestamp.column.name"], values[DELAY]))
    elif dialect == "postgresql":
        writers = OpenWriters(table, column, connector, values["connection.url"])
        _check_server(engine, table, column)
    return TableCursor(
        partition={"table": name},
        topic=topic,
        schema=Schema("STRUCT", name=short, fields=tuple(Field(field, schema) for field, schema, _ in fields)),
        converts=tuple(convert for _, _, convert in fields),
        query=query,
        column=column,
        last=last,
        writers=writers,
        has_age=values[DELAY] > 0,
    )


def _is_young(table: sa.Table, dialect: str, name: str, delay_ms: int) -> sa.ColumnElement[Any]:
    """Return whether a row is younger than the delay, by the clock of the database. Raises ConfigError."""
    if dialect != "postgresql":
        raise ConfigError(((DELAY, str(delay_ms), "is for PostgreSQL; SQLite commits rows in order, so remove it"),))
    column = table.columns.get(name)
    if column is None or column.nullable or not isinstance(column.type, sa.DateTime):
        text = f"must be a NOT NULL column of {table.name} with dates and times, because {DELAY} is set"
        raise ConfigError((("timestamp.column.name", name or None, text),))
    # As elsewhere, a timestamp without a zone is UTC.
    moment = column if column.type.timezone else sa.func.timezone("UTC", column)
    return moment > sa.func.clock_timestamp() - timedelta(milliseconds=delay_ms)


def _check_server(engine: sa.Engine, table: sa.Table, column: sa.Column[Any]) -> None:
    try:
        with engine.connect() as connection:
            check_primary(connection)
            check_sequence(connection, table, column)
    except exc.DBAPIError as error:
        raise RetriableError(words(error)) from None


def _reflected(engine: sa.Engine, name: str, schema: str | None, short: str) -> sa.Table:
    try:
        return sa.Table(short, sa.MetaData(), schema=schema, autoload_with=engine)
    except exc.NoSuchTableError:
        raise ConfigError(
            (("table.whitelist", name, "is not a table of the database; create the table, or correct the name"),)
        ) from None
    except exc.DBAPIError as error:
        raise RetriableError(words(error)) from None


def _growing(table: sa.Table, name: str) -> sa.Column[Any]:
    """Return the column that orders the rows. Raises ConfigError if there is none."""
    option = "incrementing.column.name"
    if not name:
        keys = list(table.primary_key.columns)
        if len(keys) != 1:
            raise ConfigError(
                ((option, None, f"is required, because the primary key of {table.name} is not a single column"),)
            )
        name = keys[0].name
    column = table.columns.get(name)
    if column is None:
        raise ConfigError(((option, name, f"is not a column of the table {table.name}"),))
    if not isinstance(column.type, sa.Integer):
        raise ConfigError(
            ((option, name, f"must be a column of whole numbers; its type in {table.name} is {column.type}"),)
        )
    if not _is_own_to_each_row(table, column):
        text = f"must be the primary key of {table.name}, or unique and NOT NULL; otherwise rows would be missed"
        raise ConfigError(((option, name, text),))
    return column


def _is_own_to_each_row(table: sa.Table, column: sa.Column[Any]) -> bool:
    """Return whether the database guarantees that the column is unique and never NULL."""
    if list(table.primary_key.columns) == [column]:
        return True
    if column.nullable:
        return False
    if any(isinstance(one, sa.UniqueConstraint) and list(one.columns) == [column] for one in table.constraints):
        return True
    return any(
        index.unique and list(index.expressions) == [column] and not _is_partial(index) for index in table.indexes
    )


def _is_partial(index: sa.Index) -> bool:
    return any(index.dialect_kwargs.get(f"{dialect}_where") is not None for dialect in ("sqlite", "postgresql"))


def _last(offset: SourcePosition | None) -> int | None:
    if offset is None:
        return None
    last = offset.get("incrementing")
    if not isinstance(last, int) or isinstance(last, bool):
        raise DataError(
            f"the committed offset {dict(offset)} has no valid `incrementing`; reset or alter the connector's offsets"
        )
    return last

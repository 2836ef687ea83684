from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pytest
import sqlalchemy as sa

from engine.connectors.sql.database import open_engine
from engine.connectors.sql.source import OPTIONS, SqlSource
from engine.errors import ConfigError, ConversionError, DataError, RetriableError
from engine.record.record import Record
from engine.record.schema import Schema
from engine.steps.converters.json import JsonConverter

LOGICAL = "org.apache.kafka.connect.data."
ORDERS = "CREATE TABLE orders (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, price NUMERIC(10, 2))"
Start = Callable[..., SqlSource]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with `orders`."""
    place = tmp_path / "shop.db"
    fill(place, ORDERS)
    return place


def fill(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def add(path: Path, *names: str) -> None:
    fill(path, *(f"INSERT INTO orders (name, price) VALUES ('{name}', 1.5)" for name in names))


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a source, and stops it in the end."""
    started: list[SqlSource] = []

    def start_one(url: Path | str, offsets: Mapping[str, Any] | None = None, **more: str) -> SqlSource:
        source = SqlSource("/")
        started.append(source)
        named = {name.replace("_", "."): value for name, value in more.items()}
        place = url if isinstance(url, str) else f"sqlite:///{url}"
        config = {"connection.url": place, "tables": "orders", "topic.prefix": "shop-", "name": "c", **named}
        source.start(config, lambda partition: (offsets or {}).get(partition["table"]))
        return source

    yield start_one
    for source in started:
        source.stop()


def test_each_row_is_a_struct_with_its_schema_and_its_place(path: Path, start: Start) -> None:
    add(path, "tea")
    [record] = start(path).poll()
    assert record.value == {"id": 1, "name": "tea", "price": Decimal("1.50")}
    assert (record.topic, record.partition, record.key) == ("shop-orders", None, None)
    assert (record.source_partition, record.source_offset) == ({"table": "orders"}, {"incrementing": 1})
    schema = record.value_schema
    assert schema is not None
    assert (schema.type, schema.name) == ("STRUCT", "orders")
    assert {field.name: field.schema for field in schema.fields} == {
        "id": Schema("INT64", optional=False),
        "name": Schema("STRING"),
        "price": Schema("BYTES", optional=True, name=f"{LOGICAL}Decimal", version=1, parameters={"scale": "2"}),
    }


def test_only_rows_beyond_the_last_one_are_read(path: Path, start: Start) -> None:
    add(path, "a", "b", "c")
    source = start(path, {"orders": {"incrementing": 1}})
    assert [record.value["name"] for record in source.poll()] == ["b", "c"]
    assert source.poll() == ()
    add(path, "d")
    assert [record.value["name"] for record in source.poll()] == ["d"]


def test_rows_below_zero_are_read_as_well(path: Path, start: Start) -> None:
    fill(path, "INSERT INTO orders (id, name) VALUES (-5, 'debt')")
    assert [record.source_offset for record in start(path).poll()] == [{"incrementing": -5}]


def test_a_poll_never_gives_more_than_a_batch(path: Path, start: Start) -> None:
    add(path, *"abcde")
    source = start(path, batch_max_rows="2")
    assert [len(source.poll()) for _ in range(4)] == [2, 2, 1, 0]


def test_tables_take_turns(path: Path, start: Start) -> None:
    fill(path, "CREATE TABLE bills (id INTEGER PRIMARY KEY)", "INSERT INTO bills VALUES (1), (2)")
    add(path, "a", "b")
    source = start(path, tables="orders,bills", batch_max_rows="1")
    assert [source.poll()[0].topic for _ in range(4)] == ["shop-orders", "shop-bills", "shop-orders", "shop-bills"]


def test_tasks_share_the_tables() -> None:
    base = {"connection.url": "sqlite://", "topic.prefix": "p"}
    assert SqlSource.task_configs({**base, "tables": "a,b,c"}, 2) == [{"tables": "a,c"}, {"tables": "b"}]
    assert SqlSource.task_configs({**base, "table.whitelist": "a"}, 9) == [{"table.whitelist": "a"}]


def test_another_column_may_grow(path: Path, start: Start) -> None:
    fill(
        path,
        "CREATE TABLE log (name TEXT PRIMARY KEY, at INTEGER NOT NULL UNIQUE)",
        "INSERT INTO log VALUES ('x', 9), ('y', 7)",
    )
    source = start(path, tables="log", incrementing_column_name="at")
    assert [record.value["at"] for record in source.poll()] == [7, 9]
    assert source.poll() == ()


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize(
    ("column", "more", "is_own"),
    [
        ("at INTEGER NOT NULL UNIQUE", "", True),
        ("at INTEGER NOT NULL", "CREATE UNIQUE INDEX {table}_at ON {table} (at)", True),
        ("at INTEGER PRIMARY KEY", "", True),
        ("at INTEGER", "", False),
        ("at INTEGER NOT NULL", "", False),
        ("at INTEGER UNIQUE", "", False),
        ("at INTEGER NOT NULL, UNIQUE (at, name)", "", False),
        ("at INTEGER NOT NULL, PRIMARY KEY (at, name)", "", False),
        ("at INTEGER NOT NULL", "CREATE INDEX {table}_at ON {table} (at)", False),
        ("at INTEGER NOT NULL", "CREATE UNIQUE INDEX {table}_at ON {table} (at) WHERE at > 5", False),
    ],
)
def test_a_column_whose_numbers_may_be_missing_or_double_is_refused(
    database: str, tmp_path: Path, start: Start, request: pytest.FixtureRequest, column: str, more: str, is_own: bool
) -> None:
    url = f"sqlite:///{tmp_path}/own.db" if database == "sqlite" else request.getfixturevalue("postgres_url")
    table = f"own_{uuid4().hex[:8]}"
    execute(url, f"CREATE TABLE {table} (name VARCHAR(9), {column})")
    if more:
        execute(url, more.format(table=table))
    if is_own:
        assert start(url, tables=table, incrementing_column_name="at").poll() == ()
        return
    with pytest.raises(ConfigError, match=r"must be the primary key of \w+, or unique and NOT NULL"):
        start(url, tables=table, incrementing_column_name="at")


@pytest.mark.parametrize("last", [None, 5])
def test_a_row_whose_key_is_null_as_sqlite_allows_stops_the_source(path: Path, start: Start, last: int | None) -> None:
    fill(path, "CREATE TABLE odd (id BIGINT PRIMARY KEY)", "INSERT INTO odd VALUES (7), (NULL)")
    source = start(path, None if last is None else {"odd": {"incrementing": last}}, tables="odd")
    with pytest.raises(DataError, match=r"column odd\.id has the value '<withheld>', which is not a whole number"):
        source.poll()


@pytest.mark.parametrize(
    ("more", "option"),
    [
        ({"tables": "nothing"}, "table.whitelist"),
        ({"tables": "orders,orders"}, "tables"),
        ({"incrementing_column_name": "colour"}, "incrementing.column.name"),
        ({"incrementing_column_name": "name"}, "incrementing.column.name"),
        ({"tables": "pairs"}, "incrementing.column.name"),
        ({"topic_prefix": "not a topic"}, "topic.prefix"),
        ({"mode": "bulk"}, "mode"),
        ({"connection_url": "nonsense"}, "connection.url"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(path: Path, start: Start, more: dict[str, str], option: str) -> None:
    fill(path, "CREATE TABLE pairs (a INTEGER, b INTEGER, PRIMARY KEY (a, b))")
    with pytest.raises(ConfigError) as caught:
        start(path, **more)
    assert [problem[0] for problem in caught.value.problems] == [option]


def test_a_url_is_never_repeated() -> None:
    [check] = [option.check for option in OPTIONS if option.name == "connection.url"]
    assert check is not None
    assert "secret" not in (check("mysterious://u:secret@host/db") or "")
    assert check("postgresql://u:secret@host/db") is None


def test_a_database_that_is_busy_is_tried_again(path: Path, start: Start) -> None:
    source = start(f"sqlite:///{path}?timeout=0.05")
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    with pytest.raises(RetriableError):
        source.poll()
    blocker.close()
    assert source.poll() == ()


def test_an_offset_without_a_number_is_refused(path: Path, start: Start) -> None:
    with pytest.raises(DataError):
        start(path, {"orders": {"incrementing": "7"}})


BAD = """CREATE TABLE orders2 (id INTEGER PRIMARY KEY, name TEXT, price NUMERIC(10, 2), day DATE, paid BOOLEAN,
    at TIMESTAMP, rate REAL, raw BLOB, clock TIME)"""


@pytest.mark.parametrize(
    ("column", "literal"),
    [
        ("name", "X'FF'"), ("name", "CAST(X'FF' AS TEXT)"), ("price", "1.005"), ("price", "'much'"), ("day", "'soon'"),
        ("day", "5"), ("paid", "2"), ("paid", "'maybe'"), ("at", "'later'"), ("rate", "'high'"), ("raw", "'text'"),
        ("raw", "5"), ("clock", "'noon'"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_comes_as_it_is_and_only_its_row_is_rejected(
    path: Path, start: Start, column: str, literal: str
) -> None:
    insert = "INSERT INTO orders2 (id, {column}) VALUES ({id}, {literal})"
    fill(
        path,
        BAD,
        insert.format(id=1, column="name", literal="'good'"),
        insert.format(id=2, column=column, literal=literal),
        insert.format(id=3, column="name", literal="'good'"),
    )
    first, bad, last = start(path, tables="orders2").poll()
    assert written(first)["payload"]["name"] == written(last)["payload"]["name"] == "good"
    with pytest.raises(ConversionError, match=r"is not a valid (\S*\.)?[A-Z]"):
        written(bad)


def written(record: Record) -> dict[str, Any]:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "true"}, is_key=False)
    found: dict[str, Any] = orjson.loads(converter.from_connect("t", record.value_schema, record.value) or b"null")
    return found


TYPES: list[tuple[str, str, str, str, str | None, Any]] = [
    # type, in SQLite, in PostgreSQL: literal; Connect's type, logical name, value
    ("SMALLINT", "7", "int64", "int16", None, 7),
    ("INTEGER", "7", "int64", "int32", None, 7),
    ("BIGINT", "9007199254740993", "int64", "int64", None, 9007199254740993),
    ("BOOLEAN", "TRUE", "boolean", "boolean", None, True),
    ("DOUBLE PRECISION", "1.5", "double", "double", None, 1.5),
    ("NUMERIC(20, 3)", "12.5", "bytes", "bytes", "Decimal", Decimal("12.500")),
    ("NUMERIC(5)", "12", "bytes", "bytes", "Decimal", Decimal(12)),
    ("NUMERIC", "1.25", "string", "string", None, "1.25"),
    ("DATE", "'2024-02-29'", "int32", "int32", "Date", date(2024, 2, 29)),
    ("TIME", "'12:34:56.789'", "int32", "int32", "Time", time(12, 34, 56, 789000)),
    (
        "TIMESTAMP", "'2024-02-29 12:34:56.789'", "int64", "int64", "Timestamp",
        datetime(2024, 2, 29, 12, 34, 56, 789000, UTC),
    ),
    ("TEXT", "'Grüße'", "string", "string", None, "Grüße"),
]  # fmt: skip


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_every_type_of_column_has_its_schema(
    database: str, tmp_path: Path, start: Start, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/types.db" if database == "sqlite" else request.getfixturevalue("postgres_url")
    table = f"types_{uuid4().hex[:8]}"
    columns = ", ".join(f"c{place} {row[0]}" for place, row in enumerate(TYPES))
    values = ", ".join(row[1] for row in TYPES)
    execute(url, f"CREATE TABLE {table} (id BIGINT PRIMARY KEY, {columns})")
    execute(url, f"INSERT INTO {table} VALUES (1, {values})")
    [record] = start(url, tables=table).poll()
    assert [record.value[f"c{place}"] for place in range(len(TYPES))] == [row[5] for row in TYPES]
    fields = written(record)["schema"]["fields"][1:]
    place = 2 if database == "sqlite" else 3
    assert [(field["type"], field.get("name")) for field in fields] == [
        (row[place], None if row[4] is None else LOGICAL + row[4]) for row in TYPES
    ]
    assert all(field["optional"] for field in fields)


def test_what_only_postgresql_has_comes_through(postgres_url: str, start: Start) -> None:
    table = f"own_{uuid4().hex[:8]}"
    execute(
        postgres_url,
        f"CREATE TABLE {table} (id SERIAL PRIMARY KEY, j JSONB, u UUID, a INTEGER[], z TIMESTAMPTZ, b BYTEA, d DATE)",
    )
    execute(
        postgres_url,
        f"INSERT INTO {table} (j, u, a, z, b, d) VALUES ('{{\"k\": [1]}}', '{'0' * 8}-0000-0000-0000-000000000001',"
        " '{1,2}', '2024-01-01 00:00:00+02', '\\x00ff', 'infinity')",
    )
    [record] = start(postgres_url, tables=f"public.{table}").poll()
    assert record.topic == f"shop-{table}"
    assert record.value == {
        "id": 1,
        "j": '{"k":[1]}',
        "u": "00000000-0000-0000-0000-000000000001",
        "a": "[1,2]",
        "z": datetime(2023, 12, 31, 22, tzinfo=UTC),
        "b": b"\x00\xff",
        "d": "infinity",  # no date of ours: its row alone is rejected
    }
    with pytest.raises(ConversionError):
        written(record)


def execute(url: str, statement: str) -> None:
    engine = open_engine(url, root="/")
    with engine.begin() as connection:
        connection.execute(sa.text(statement.replace(":", r"\:")))
    engine.dispose()

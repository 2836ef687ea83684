"""Rows of PostgreSQL that become visible out of order, because many transactions write at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import uuid4

import psycopg
import pytest

from engine.connectors.sql.complete_rows import still_open
from engine.connectors.sql.source import SqlSource
from engine.errors import ConfigError

WRITERS, ROWS = 8, 30  # 240 in all
pytestmark = pytest.mark.slow  # a poll waits half a second for writers


@dataclass
class Shop:
    """A table of a real server, and sources of it."""

    url: str
    table: str
    sources: list[SqlSource]

    def connect(self, *, autocommit: bool = False) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.url, autocommit=autocommit)

    def execute(self, *statements: str) -> None:
        with self.connect(autocommit=True) as server:
            for statement in statements:
                server.execute(statement.format(t=self.table).encode())

    def start(self, last: int | None = None, **more: str) -> SqlSource:
        source = SqlSource("/")
        self.sources.append(source)
        own = {name.replace("_", "."): value for name, value in more.items()}
        config = {"name": "c", "connection.url": self.url, "tables": self.table, "topic.prefix": "shop-", **own}
        source.start(config, lambda _: None if last is None else {"incrementing": last})
        return source


@pytest.fixture
def shop(postgres_url: str) -> Iterator[Shop]:
    made = Shop(postgres_url, f"orders_{uuid4().hex[:8]}", [])
    made.execute("CREATE TABLE {t} (id SERIAL PRIMARY KEY, name TEXT, at TIMESTAMPTZ NOT NULL DEFAULT now())")
    yield made
    for source in made.sources:
        source.stop()


def ids(source: SqlSource) -> list[int]:
    return [record.value["id"] for record in source.poll()]


def insert(server: psycopg.Connection[tuple[object, ...]], shop: Shop) -> None:
    server.execute(f"INSERT INTO {shop.table} (name) VALUES ('tea')".encode())


def write(shop: Shop, seed: int) -> None:
    """Write rows in transactions of one to four, some of them long."""
    dice, left = random.Random(seed), ROWS
    with shop.connect() as server:
        while left:
            for _ in range(min(left, dice.randint(1, 4))):
                insert(server, shop)
                left -= 1
                time.sleep(dice.choice((0, 0, 0.01, 0.3)))
            server.commit()


def test_eight_writers_with_long_transactions_lose_no_row(shop: Shop) -> None:
    read: list[int] = []
    with ThreadPoolExecutor(WRITERS) as threads:
        done = [threads.submit(write, shop, seed) for seed in range(WRITERS)]
        while not all(one.done() for one in done):
            # Each source is a lease of its own.
            source = shop.start(read[-1] if read else None)
            read += [number for _ in range(3) for number in ids(source)]
            source.stop()
        for one in done:
            one.result()
    source = shop.start(read[-1] if read else None)
    while found := ids(source):
        read += found
    assert read == list(range(1, WRITERS * ROWS + 1))


def test_a_transaction_that_is_older_than_its_rows_hides_nothing(shop: Shop) -> None:
    """Its row is older by `xmin` than a row with a lower number: ids of transactions do not order numbers."""
    with shop.connect() as older, shop.connect() as late:
        older.execute(b"SELECT pg_current_xact_id()")
        insert(late, shop)
        insert(older, shop)
        older.commit()
        source = shop.start()
        assert ids(source) == []
        late.commit()
        assert ids(source) == [1, 2]


def test_a_statement_that_has_drawn_its_number_but_no_transaction_id_is_waited_for(shop: Shop) -> None:
    shop.execute("INSERT INTO {t} (name) VALUES ('first')")  # the sequence logs, which takes an id, only now and then
    began = threading.Event()

    def write_slowly() -> None:
        with shop.connect() as server:
            server.execute(b"SELECT 1")
            began.set()
            slow = f"INSERT INTO {shop.table} (id, name) SELECT nextval('{shop.table}_id_seq'), pg_sleep(1)::text"
            server.execute(slow.encode())

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(write_slowly)
        began.wait(10)
        time.sleep(0.2)
        shop.execute("INSERT INTO {t} (name) VALUES ('third')")
        source = shop.start(1)
        first = ids(source)
        done.result()
    assert first + ids(source) == [2, 3]


def test_long_transactions_that_overlap_do_not_starve_leases(shop: Shop) -> None:
    with shop.connect() as one, shop.connect() as other:
        insert(one, shop)
        insert(other, shop)
        other.commit()
        assert ids(shop.start()) == []
        insert(other, shop)
        one.commit()
        assert ids(shop.start()) == [1, 2]  # `other` is open, but began after these rows


def test_a_writer_of_a_partition_is_waited_for(shop: Shop) -> None:
    parent, leaf = f"{shop.table}_all", f"{shop.table}_leaf"
    shop.execute(
        f"CREATE TABLE {parent} (id SERIAL PRIMARY KEY, name TEXT) PARTITION BY RANGE (id)",
        f"CREATE TABLE {leaf} PARTITION OF {parent} DEFAULT",
    )
    with shop.connect() as late:
        late.execute(f"INSERT INTO {leaf} (name) VALUES ('tea')".encode())
        shop.execute(f"INSERT INTO {parent} (name) VALUES ('tea')")
        source = shop.start(tables=parent)
        assert ids(source) == []
        late.commit()
        assert ids(source) == [1, 2]


def test_a_program_that_locks_the_table_may_draw_numbers_before_it_inserts(shop: Shop) -> None:
    with shop.connect() as late:
        late.execute(f"LOCK TABLE {shop.table} IN ROW EXCLUSIVE MODE".encode())
        late.execute(f"SELECT nextval('{shop.table}_id_seq')".encode())
        shop.execute("INSERT INTO {t} (name) VALUES ('tea')")
        source = shop.start()
        assert ids(source) == []
        late.execute(f"INSERT INTO {shop.table} (id) VALUES (1)".encode())
        late.commit()
    assert ids(source) == [1, 2]


def test_readers_and_writers_of_other_tables_hold_nothing_up(shop: Shop) -> None:
    shop.execute("INSERT INTO {t} (name) VALUES ('tea')", "CREATE TABLE {t}_other (id SERIAL PRIMARY KEY, name TEXT)")
    with shop.connect() as reader, shop.connect() as writer:
        reader.execute(f"SELECT * FROM {shop.table} FOR UPDATE".encode())
        writer.execute(f"INSERT INTO {shop.table}_other (name) VALUES ('tea')".encode())
        assert ids(shop.start()) == [1]


def test_a_url_that_freezes_snapshots_loses_nothing(shop: Shop) -> None:
    shop.url += "?options=-cdefault_transaction_isolation%3Dserializable"
    with shop.connect() as late:
        insert(late, shop)
        shop.execute("INSERT INTO {t} (name) VALUES ('tea')")
        source = shop.start()
        assert ids(source) == []
        late.commit()
    assert ids(source) == [1, 2]


def test_numbers_that_are_missing_do_not_stop_the_source(shop: Shop) -> None:
    source = shop.start()
    shop.execute("INSERT INTO {t} (name) SELECT 'tea' FROM generate_series(1, 3)", "DELETE FROM {t} WHERE id > 1")
    assert [ids(source), ids(source)] == [[1], []]
    shop.execute("INSERT INTO {t} (name) VALUES ('tea')")
    assert ids(source) == [4]


@pytest.mark.parametrize(
    ("change", "says"),
    [("CACHE 20", "ALTER SEQUENCE .* CACHE 1"), ("CYCLE", "cycles"), ("INCREMENT -1 MINVALUE -9", "falls")],
)
def test_a_sequence_whose_numbers_do_not_grow_is_refused(shop: Shop, change: str, says: str) -> None:
    shop.execute("ALTER SEQUENCE {t}_id_seq " + change)
    with pytest.raises(ConfigError, match=rf"(?s)takes its numbers from the sequence .*{says}"):
        shop.start()
    shop.start(timestamp_column_name="at", timestamp_delay_interval_ms="1000")


@pytest.mark.parametrize("kind", ["TIMESTAMPTZ", "TIMESTAMP"])
def test_a_delay_leaves_young_rows_and_all_rows_after_them(shop: Shop, kind: str) -> None:
    now = "now()" if kind == "TIMESTAMPTZ" else "now() AT TIME ZONE 'UTC'"
    shop.execute(
        f"ALTER TABLE {{t}} ALTER at TYPE {kind}",
        *(f"INSERT INTO {{t}} (at) VALUES ({now} - interval '{hours} hours')" for hours in (3, 0, 3)),
    )
    source = shop.start(timestamp_column_name="at", timestamp_delay_interval_ms="3600000")
    assert ids(source) == [1]
    assert ids(shop.start(1, timestamp_column_name="at", timestamp_delay_interval_ms="1")) == [2, 3]


@pytest.mark.parametrize("name", ["", "name", "nothing"])
def test_a_delay_needs_a_column_with_the_time_of_each_row(shop: Shop, name: str) -> None:
    with pytest.raises(ConfigError, match="must be a NOT NULL column of"):
        shop.start(timestamp_column_name=name, timestamp_delay_interval_ms="1")


def test_only_a_source_that_waits_for_transactions_claims_exactly_once() -> None:
    claims: Callable[[dict[str, str]], bool] = SqlSource.exactly_once_support
    assert claims({"topic.prefix": "p"})
    assert not claims({"topic.prefix": "p", "timestamp.delay.interval.ms": "1"})


def test_a_transaction_that_is_prepared_is_still_waited_for() -> None:
    """PREPARE TRANSACTION moves the lock from 3/7 to -1/740."""
    open_now = still_open(frozenset({"3/7", "4/1"}), frozenset({"-1/740", "4/1", "5/5"}))
    assert open_now == {"-1/740", "4/1"}
    assert still_open(open_now, frozenset({"-1/740", "-1/800", "4/1"})) == {"-1/740", "4/1"}
    assert still_open(frozenset({"-1/740"}), frozenset({"-1/800", "5/5"})) == frozenset()

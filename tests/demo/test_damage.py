"""The demo's input: what is in it and which stage each damaged record fails at, by construction."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from demo import damage, table

SENT, DELIVERED = 1732, 1237


@pytest.fixture(scope="module")
def batch() -> list[damage.Event]:
    return damage.batch()


def test_the_batch_is_1732_records_25_of_them_damaged(batch: list[damage.Event]) -> None:
    assert len(batch) == SENT
    assert sum(bool(event.damage) for event in batch) == damage.DAMAGED == 25


def test_the_batch_is_the_same_at_every_run(batch: list[damage.Event]) -> None:
    assert damage.batch() == batch


def test_every_intact_event_is_sent_once_byte_for_byte(batch: list[damage.Event]) -> None:
    sent = [event.value for event in batch if not event.damage]
    assert sent == damage.DATA.read_bytes().splitlines()


def test_each_damage_hits_an_event_of_its_own(batch: list[damage.Event]) -> None:
    keys = [event.key for event in batch if event.damage]
    assert len(set(keys)) == damage.DAMAGED


def test_18_values_are_not_json(batch: list[damage.Event]) -> None:
    broken = Counter(event.damage for event in batch if not is_json(event.value))
    assert broken == {"missing quote": 9, "truncated": 6, "wrong encoding": 3}


def test_one_value_is_example_4_of_kip_298(batch: list[damage.Event]) -> None:
    assert [event.value for event in batch].count(b'{"a: 10}') == 1


def test_7_values_are_json_with_a_magnitude_that_is_no_number(batch: list[damage.Event]) -> None:
    magnitudes = [json.loads(event.value)["properties"]["mag"] for event in batch if is_json(event.value)]
    assert magnitudes.count("n/a") == 7


def test_the_table_refuses_470_of_what_remains(batch: list[damage.Event], tmp_path: Path) -> None:
    database = tmp_path / "demo.sqlite3"
    table.create(database)
    refused: Counter[str] = Counter()
    with closing(sqlite3.connect(database)) as connection:
        for event in batch:
            if is_json(event.value) and event.damage != "wrong magnitude":
                try:
                    insert(connection, event)
                except sqlite3.IntegrityError as error:
                    refused[str(error)] += 1
        (rows,) = connection.execute("SELECT count(*) FROM earthquakes").fetchone()
    prefix = "NOT NULL constraint failed: earthquakes."
    assert refused == {f"{prefix}gap": 303, f"{prefix}nst": 160, f"{prefix}rms": 5, f"{prefix}dmin": 2}
    assert rows == DELIVERED == SENT - 470 - 18 - 7


def is_json(value: bytes) -> bool:
    try:
        orjson.loads(value)
    except orjson.JSONDecodeError:
        return False
    return True


def insert(connection: sqlite3.Connection, event: damage.Event) -> None:
    properties = json.loads(event.value)["properties"]
    row = {name.lower(): value for name, value in properties.items()}
    row.update(id=event.key.decode(), mag_type=properties["magType"], time_ms=properties["time"])
    columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(earthquakes)")]
    marks = ", ".join(f":{name}" for name in columns)
    connection.execute(f"INSERT INTO earthquakes VALUES ({marks})", {name: row[name] for name in columns})

from __future__ import annotations

import sqlite3

import psycopg
import pytest

from engine.errors import VALUE, ConversionError, Message, TransformError
from engine.record.trace import describe
from engine.record.withheld import WITHHELD, without_content


def raised(sql: str, *values: object) -> sqlite3.Error:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (a TEXT NOT NULL UNIQUE CHECK (a <> 'no'))")
    database.execute(
        "CREATE TRIGGER r BEFORE INSERT ON t WHEN NEW.a = 'x' "
        "BEGIN SELECT RAISE(ABORT, 'UNIQUE constraint failed: x'); END"
    )
    try:
        database.execute(sql, values)
    except sqlite3.Error as error:
        return error
    finally:
        database.close()
    raise AssertionError(sql)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (raised("INSERT INTO t VALUES (?)", None), "NOT NULL constraint failed: t.a"),
        (raised("INSERT INTO t VALUES (?)", "no"), "CHECK constraint failed: a <> 'no'"),
        (raised("INSERT INTO t VALUES (?)", ["no"]), "Error binding parameter 1: type 'list' is not supported"),
        (raised("INSERT INTO u VALUES (?)", "no"), "no such table: u"),
        (raised("INSERT INTO t VALUES (?)", "x"), WITHHELD),  # a trigger says what it likes
        (sqlite3.OperationalError("of a plugin"), WITHHELD),
        (psycopg.OperationalError("connection refused"), "connection refused"),
        (psycopg.DataError("of a client"), WITHHELD),
        (psycopg.errors.UniqueViolation("of a plugin"), f"SQLSTATE 23505; {WITHHELD}"),
        (ValueError("bad"), WITHHELD),
    ],
)
def test_of_a_foreign_message_the_facts_are_told(error: Exception, told: str) -> None:
    assert without_content(error, str(error)) == told


def test_a_message_has_its_values_apart_and_those_of_another_message_too() -> None:
    inner = ConversionError(Message(f"{VALUE} is no STRUCT", "'x'"))
    outer = Message(f"field {VALUE}: {VALUE}: {VALUE}", "a", inner, ValueError("y"))
    assert str(outer) == f"field {VALUE}: {VALUE} is no STRUCT: {VALUE}"
    assert outer.content == "field a: 'x' is no STRUCT: y"


def test_a_message_with_fewer_values_than_places_keeps_the_places() -> None:
    assert Message(f"{VALUE} and {VALUE}", "a").content == f"a and {VALUE}"


def test_a_class_of_the_engine_is_trusted_only_where_the_engine_raised_it() -> None:
    assert describe(TransformError("bad x")).message == WITHHELD
    assert describe(TransformError(Message("bad x"))).message == "bad x"

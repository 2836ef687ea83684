from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlqadmin.deadletters.index.fingerprint import fingerprint, normalise
from dlqadmin.deadletters.index.moved_frames import FORMER_FILES
from engine.errors import VALUE
from engine.record.withheld import WITHHELD

KEPT = [
    "NOT NULL constraint failed: earthquakes.gap",
    "UNIQUE constraint failed: a.id, a.net",
    'null value in column "gap" of relation "earthquakes" violates not-null constraint',
    "violates check constraint 'mag_range_2018'",
    "Unknown field 'mag2018': not in schema",
    '"properties.mag" field is missing',
]
FILLED = [
    ("unexpected character: line 1 column 51 (char 50)", "unexpected character: line <n> column <n> (char <n>)"),
    ("could not convert string to float: 'n/a'", "could not convert string to float: <quoted>"),
    ("value of usgs.earthquakes / 0 / 48573 is not JSON", "value of usgs.earthquakes / <n> / <n> is not JSON"),
    ("no route to 10.0.0.12:9092 after 3.5 s", "no route to <ip> after <n> s"),
    ("at 2026-11-21T03:12:30.123Z for ci37868135", "at <time> for <id>"),
    ("id 6f9619ff-8b86-d011-b42d-00c04fc964ff", "id <uuid>"),
    ("digest 0xCAFE in /var/lib/kafka/data-1/", "digest <hex> in <path>"),
    ("GET https://example.org/a?b=1 by a.b@example.org", "GET <url> by <email>"),
    ("Key (id)=(ci1) already exists.", "Key (id)=<value> already exists."),
    ("DETAIL: Failing row contains (ci1, null, (2)).", "DETAIL: Failing row contains <row>."),
    ("it can't be what it doesn't say", "it can't be what it doesn't say"),
    ("a\n  b\t c", "a b c"),
]


@pytest.mark.parametrize("message", KEPT)
def test_names_of_columns_constraints_and_fields_are_kept(message: str) -> None:
    assert normalise(message) == (message, ())


@pytest.mark.parametrize(("message", "expected"), FILLED)
def test_what_varies_becomes_a_named_hole(message: str, expected: str) -> None:
    assert normalise(message)[0] == expected


def test_holes_tell_what_stood_there() -> None:
    assert [(hole.name, hole.example) for hole in normalise("line 1 is 'x'")[1]] == [("n", "1"), ("quoted", "'x'")]


def test_each_part_makes_another_fingerprint() -> None:
    made = {
        fingerprint(*parts).digest
        for parts in [
            ("E", "S", "m", "f"), ("E2", "S", "m", "f"), ("E", "S2", "m", "f"), ("E", "S", "m2", "f"),
            ("E", "S", "m", "f2"), ("E", "S", "mf", ""),
        ]
    }  # fmt: skip
    assert len(made) == 6
    assert all(digest.startswith("v1:") for digest in made)


def test_a_fingerprint_is_the_same_for_ever() -> None:
    made = fingerprint("sqlite3.IntegrityError", "TASK_PUT", KEPT[0], "engine/connectors/sql/sink.py:put")
    assert made.digest == "v1:86b3a1516f3653d813ec12d9"
    assert made.frame == "engine/connectors/sql/sink.py:put"


def test_a_moved_file_of_the_engine_keeps_its_fingerprints() -> None:
    now, before = (
        fingerprint("sqlite3.IntegrityError", "TASK_PUT", KEPT[0], f"{file}:put")
        for file in ("engine/connectors/sql/sink.py", "engine/kafka/sinks/sql.py")
    )
    assert now.digest == before.digest


def test_only_files_that_are_there_are_named_as_moved() -> None:
    root = Path(__file__).parents[4]
    assert [file for file in FORMER_FILES if not Path(root, file).is_file()] == []
    assert [file for file in FORMER_FILES.values() if Path(root, file).is_file()] == []


@given(st.integers(0), st.integers(0))
def test_numbers_do_not_tell_failures_apart(one: int, other: int) -> None:
    assert normalise(f"line {one} of {other}")[0] == "line <n> of <n>"


@given(st.text(max_size=3000))
def test_any_text_is_normalised_to_one_line_without_fault(message: str) -> None:
    text, holes = normalise(message)
    assert "\n" not in text
    assert all(f"<{hole.name}>" in text for hole in holes)


@given(st.text(alphabet="ab1'\" .:/x-", max_size=60))
def test_every_hole_holds_what_it_replaced(message: str) -> None:
    text, holes = normalise(message)
    for hole in holes:
        text = text.replace(f"<{hole.name}>", hole.example, 1)
    assert text == " ".join(message.split())


def test_a_withheld_value_leaves_the_fingerprint_as_it_was_with_a_quoted_one() -> None:
    told, withheld = (f"field mag: {value} can't be cast to float64" for value in ("'n/a'", VALUE))
    assert normalise(told)[0] == normalise(withheld)[0]


def test_withheld_messages_are_alike() -> None:
    assert normalise(WITHHELD) == (WITHHELD, ())

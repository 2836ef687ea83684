from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dlqadmin.deadletters.index.fingerprint import digest_of, fingerprint, normalise
from dlqadmin.deadletters.index.former_fingerprints import former_digests
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
    assert all(digest.startswith("v2:") for digest in made)


def test_a_fingerprint_is_the_same_for_ever() -> None:
    made = fingerprint("sqlite3.IntegrityError", "TASK_PUT", KEPT[0], "engine/connectors/sql/sink.py:put")
    assert made.digest == "v2:22054d055f029086003677c7"
    assert made.frame == "engine/connectors/sql/sink.py:put"


def test_a_former_fingerprint_is_the_same_for_ever() -> None:
    facts = ("sqlite3.IntegrityError", "TASK_PUT", KEPT[0], "engine/connectors/sql/sink.py:put")
    assert former_digests(*facts) == ("v1:86b3a1516f3653d813ec12d9",)
    jackson = "bad value 'x'\nat [Source: (byte[])\"{}\"; line: 1, column: 2]"
    assert former_digests("E", "S", jackson, "") == former_digests("E", "S", "bad value 'y'", "")


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


TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=60)
FIELD = st.from_regex(r"[a-z_][a-z0-9_]{0,15}", fullmatch=True)
PRINTED = (
    'null value in column "gap" of relation "quakes" violates not-null constraint DETAIL: Failing row contains ({}).',
    "Duplicate entry '{}' for key 'orders.PRIMARY'",
    "Key (id)=({}) already exists.",
    "String or binary data would be truncated in table 'a.b.c', column 'd'. Truncated value: '{}'.",
    (
        "Violation of UNIQUE KEY constraint 'a'. Cannot insert duplicate key in object 'b'. "
        "The duplicate key value is ({})."
    ),
    "Incorrect integer value: '{}' for column 'qty' at row 1",
    'For input string: "{}"',
    'invalid input syntax for type integer: "{}"',
    "could not convert string to float: '{}'",
    "1 validation error for Order\nqty\n  Input should be a number [type=number, input_value='{}', input_type=str]",
)


@pytest.mark.slow
@pytest.mark.parametrize("printed", PRINTED)
@given(TEXT, TEXT)
@example("a). b", "(c")
@example('it\'s "x"', "`")
def test_any_value_that_a_message_prints_leaves_the_fingerprint_alone(printed: str, one: str, other: str) -> None:
    made = [fingerprint("E", "S", printed.replace("{}", value), "") for value in (f"v{one}v", f"v{other}v")]
    assert made[0].digest == made[1].digest


@pytest.mark.slow
@pytest.mark.parametrize(
    "printed",
    [
        "NOT NULL constraint failed: quakes.{}",
        "Column '{}' cannot be null",
        'violates unique constraint "{}"',
        'Order["a"] (through reference chain: Order["a"]->Line["{}"])',
        "json: cannot unmarshal string into Go struct field Order.{} of type int",
        "Cannot read properties of undefined (reading '{}')",
        "data/{} must be integer",
    ],
)
@given(FIELD, FIELD)
def test_fields_tell_failures_apart_in_the_root_cause_and_around_it(printed: str, one: str, other: str) -> None:
    texts = [printed.replace("{}", field) for field in (one, other)]
    roots = [fingerprint("E", "S", text, "").digest for text in texts]
    wrapped = [fingerprint("E", "S", "no", "", [("W", "failed"), ("J", text)]).digest for text in texts]
    assert (roots[0] == roots[1]) == (wrapped[0] == wrapped[1]) == (one == other)


def test_the_text_of_a_wrapper_counts_only_by_the_field_that_it_names() -> None:
    bare, wrapped = (fingerprint("E", "S", "no", "", outer) for outer in ((), [("W", "could not place order 17")]))
    assert wrapped.digest == bare.digest


def test_an_origin_of_its_own_makes_a_group_of_its_own() -> None:
    made = [fingerprint("E", "S", "no", "", origin=origin) for origin in ("", "orders", "payments")]
    assert len({one.digest for one in made}) == 3
    assert digest_of(made[1], "") == made[0].digest


def test_a_withheld_value_leaves_the_fingerprint_as_it_was_with_a_quoted_one() -> None:
    told, withheld = (f"field mag: {value} can't be cast to float64" for value in ("'n/a'", VALUE))
    assert normalise(told)[0] == normalise(withheld)[0]


def test_withheld_messages_are_alike() -> None:
    assert normalise(WITHHELD) == (WITHHELD, ())

"""The query language, without a database: what parses to what, and where it says that something is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlqadmin.deadletters.search.query_compiler import compile_query
from dlqadmin.deadletters.search.query_fields import FIELDS, Kind
from dlqadmin.deadletters.search.query_parser import Clause, Value, parse, read_value, write, write_value
from dlqadmin.rest.problems import ParameterError

NOW = datetime(2026, 11, 21, 3, 12, 30, tzinfo=UTC)
NAMES = {"topic": ["orders.dlq", "orders-eu.dlq", "payments.dlq"]}


def resolve(field: str, beginning: str) -> Sequence[str]:
    return [name for name in NAMES.get(field, []) if name.startswith(beginning)]


def compiled(text: str) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    found = compile_query(text, resolve, NOW)
    return found.include, found.exclude


@pytest.mark.parametrize(
    ("text", "include", "exclude"),
    [
        ("", {}, {}),
        ("  \t ", {}, {}),
        ("topic:orders.dlq", {"topic": ("orders.dlq",)}, {}),
        ("-stage:TASK_PUT", {}, {"stage": ("TASK_PUT",)}),
        ("topic:a,b topic:c", {"topic": ("a", "b", "c")}, {}),
        ("topic:a topic:a", {"topic": ("a",)}, {}),
        ("topic:orders*", {"topic": ("orders.dlq", "orders-eu.dlq")}, {}),
        ('topic:"orders.d"*', {"topic": ("orders.dlq",)}, {}),
        ("topic:nothing*", {"topic": ("nothing*",)}, {}),
        ('connector:"a*, b"', {"connector": ("a*, b",)}, {}),
        ("exception:DataException", {"exception": ("DataException",)}, {}),
        ("partition:3 offset:>100", {"partition": ("3",), "offset": (">100",)}, {}),
        ("offset:10..20,30", {"offset": ("10..20", "30")}, {}),
        ("is:unreadable", {"readable": ("false",)}, {}),
        ("-is:unreadable", {}, {"readable": ("false",)}),
        ("replay:failed_again group:12", {"replay_state": ("failed_again",), "group": ("12",)}, {}),
        ("null pointer", {"words": ("null", "pointer")}, {}),
        ('"null pointer" -colu*', {"words": ('"null pointer"',)}, {"words": ("colu*",)}),
        ("failed: gap", {"words": ('"failed:"', "gap")}, {}),
        ("a,b", {"words": ('"a,b"',)}, {}),
        ("value.gap:null", {"value.gap": ("null",)}, {}),
        ('value.a.0:"null",7', {"value.a.0": ('"null"', "7")}, {}),
        ("-header.trace-id:ab*", {}, {"header.trace-id": ("ab*",)}),
        ('key:"a \\"b\\" \\\\"', {"key": ('a "b" \\',)}, {}),
        ("value.größe:1", {"value.größe": ("1",)}, {}),
        ("(12)", {"words": ("(12)",)}, {}),
    ],
)
def test_a_query_narrows(text: str, include: dict[str, tuple[str, ...]], exclude: dict[str, tuple[str, ...]]) -> None:
    assert compiled(text) == (include, exclude)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("", None, None),
        ("after:-6h", NOW - timedelta(hours=6), None),
        ("after:now-6h before:-1h", NOW - timedelta(hours=6), NOW - timedelta(hours=1)),
        ("after:2026-11-20", datetime(2026, 11, 20, tzinfo=UTC), None),
        ("before:2026-11-20T10:30+02:00", None, datetime(2026, 11, 20, 8, 30, tzinfo=UTC)),
    ],
)
def test_a_query_bounds_the_time(text: str, start: datetime | None, end: datetime | None) -> None:
    found = compile_query(text, resolve, NOW)
    assert (found.start, found.end) == (start, end)


@pytest.mark.parametrize(
    ("text", "at", "sentence"),
    [
        ("topic:a stag:TASK_PUT", (8, 12), "`stag` is no field; did you mean `stage`?"),
        ("-exeption:X", (1, 9), "`exeption` is no field; did you mean `exception`?"),
        ("http://x", (0, 4), "`http` is no field; quote the text to search for it"),
        ("topic:", (0, 5), "`topic:` needs a value"),
        ("value.:1", (0, 6), "`value.` needs a name behind the dot"),
        ('stage:"x', (6, 8), "this quote is not closed"),
        ('"a"b', (3, 4), "a blank belongs after the quote"),
        ("topic:a,,b", (7, 8), "a value is missing here"),
        ("topic:a,", (7, 8), "a value is missing here"),
        ("topic:o*s", (7, 8), "`*` stands only at the end of a value; quote it to search for it"),
        ("topic:*", (6, 7), "`*` needs the beginning of a value before it"),
        ("key:a*", (5, 6), "`key` takes no `*`"),
        ('"a b"*', (5, 6), "`*` may follow a word, not a phrase"),
        ("a -", (2, 3), "`-` needs a filter or a word behind it"),
        ("partition:x", (10, 11), "`partition` takes a whole number: 3, >100 or 10..20"),
        ("offset:>99999999999999999999", (7, 28), "`offset` takes a whole number: 3, >100 or 10..20"),
        ("group:>1", (6, 8), "`group` takes a whole number"),
        ("group:٣", (6, 7), "`group` takes a whole number"),
        ("is:broken", (3, 9), "`is` is one of readable, unreadable"),
        (
            "replay:x",
            (7, 8),
            "`replay` is one of none, queued, sent, passed, failed_again, unknown, discarded, parked, handled",
        ),
        ("after:yesterday", (6, 15), "`after` takes -6h, -7d, 2026-01-31 or 2026-01-31T12:00Z"),
        ("after:-6h after:-1h", (10, 19), "`after` takes one time"),
        ("-after:-6h", (0, 10), "`-after` is no filter; say `before`"),
        ("after:-1h before:-6h", (0, 20), "`after` must be before `before`"),
        ("...", (0, 3), "a search needs a letter or a digit"),
        ('topic:""', (6, 8), "`topic` needs a value"),
        ("a\0b", (1, 2), "holds NUL"),
        ("x" * 4001, (4000, 4001), "is longer than 4000 characters"),
        ("key:" + "k" * 1001, (4, 1005), "a value has at most 1000 characters"),
        ("😀 stag:x", (2, 6), "`stag` is no field; did you mean `stage`?"),
    ],
)
def test_an_error_points_at_its_place(text: str, at: tuple[int, int], sentence: str) -> None:
    with pytest.raises(ParameterError) as caught:
        compile_query(text, resolve, NOW)
    assert (caught.value.at, caught.value.detail) == (at, {"q": [sentence]})


def test_a_beginning_that_too_many_names_share_is_refused() -> None:
    with pytest.raises(ParameterError, match="more than 100 names begin so"):
        compile_query("topic:t*", lambda field, beginning: [f"t{n}" for n in range(101)], NOW)


FIELD_NAMES = [*FIELDS, "value.a.b", "header.trace-id"]
values = st.builds(
    lambda text, prefix: Value(text, quoted=not text.isascii() or not text.isalnum(), prefix=prefix),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
    st.booleans(),
)
clauses = st.one_of(
    st.builds(Clause, st.none(), st.tuples(values), st.booleans()),
    st.builds(Clause, st.sampled_from(FIELD_NAMES), st.lists(values, min_size=1, max_size=3).map(tuple), st.booleans()),
)


@given(st.lists(clauses, max_size=6))
def test_what_is_written_parses_to_the_same(found: list[Clause]) -> None:
    assert [placed.clause for placed in parse(write(found))] == found


@given(values)
def test_a_value_that_is_kept_is_read_again(value: Value) -> None:
    assert read_value(write_value(value)) == value


NOISE = st.lists(st.sampled_from([*FIELD_NAMES, *'-:,"*\\ .>', "-6h", "null", "12", "after", "nope", "\0", "é"]))


@given(st.one_of(st.text(max_size=60), NOISE.map("".join)))
def test_any_text_compiles_or_says_where_it_is_wrong(text: str) -> None:
    place = None
    try:
        compile_query(text, resolve, NOW)
    except ParameterError as error:
        place = error.at or (1, 0)
    start, end = place or (0, 0)
    assert 0 <= start <= end <= len(text)


@given(st.lists(clauses, min_size=1, max_size=6))
def test_every_place_holds_its_clause(found: list[Clause]) -> None:
    text = write(found)
    for placed in parse(text):
        assert write([placed.clause]) == text[placed.at.start : placed.at.end]


def test_every_field_says_what_it_is() -> None:
    assert all(field.doc and (field.filter or field.kind is Kind.TIME) for field in FIELDS.values())

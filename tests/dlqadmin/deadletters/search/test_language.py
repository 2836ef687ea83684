"""The query language, without a database: what parses to what, and where it says that something is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlqadmin.deadletters.search.fields import TERMS
from dlqadmin.deadletters.search.query_compiler import compile_query
from dlqadmin.deadletters.search.query_parser import Clause, parse, write
from dlqadmin.deadletters.search.query_values import ClauseValue, read_value, write_value
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
        ("partition:3 offset:>100", {"origin_partition": ("3",), "origin_offset": (">100",)}, {}),
        ("dlq_partition:3 -dlq_offset:>100", {"partition": ("3",)}, {"offset": (">100",)}),
        ("origin_partition:3 partition:4", {"origin_partition": ("3", "4")}, {}),
        ("offset:10..20,30", {"origin_offset": ("10..20", "30")}, {}),
        ("is:unreadable", {"readable": ("false",)}, {}),
        ("-is:unreadable", {}, {"readable": ("false",)}),
        ("replay:failed_again group:12", {"replay_state": ("failed_again",), "group": ("12",)}, {}),
        ("null pointer", {"words": ("null", "pointer")}, {}),
        ('"null pointer" -colu*', {"words": ('"null pointer"',)}, {"words": ("colu*",)}),
        ("failed: gap", {"words": ('"failed:"', "gap")}, {}),
        ("a,b", {"words": ('"a,b"',)}, {}),
        ("key:a,b* message:gap", {"key": ("a", "b*"), "message": ("gap",)}, {}),
        ('message:"null gap",colu*', {"message": ('"null gap"', "colu*")}, {}),
        ("value.gap:null", {"value.gap": ("null",)}, {}),
        ('value.a.0:"null",7', {"value.a.0": ('"null"', "7")}, {}),
        ("-header.trace-id:ab*", {}, {"header.trace-id": ("ab*",)}),
        ('key:"a \\"b\\" \\\\"', {"key": ('"a \\"b\\" \\\\"',)}, {}),
        ("value.größe:1", {"value.größe": ("1",)}, {}),
        ("(12)", {"words": ("12",)}, {}),
        ("f(x) f((12))", {"words": ('"f(x)"', '"f((12))"')}, {}),
        ("(topic:f(x))", {"topic": ("f(x)",)}, {}),
        ('"OR" or AND and', {"words": ('"OR"', "or", "and")}, {}),
        ("(stage:A OR stage:B) -topic:a", {"stage": ("A", "B")}, {"topic": ("a",)}),
        ("stage:A,B OR (stage:C)", {"stage": ("A", "B", "C")}, {}),
        ("(value.a:1 OR value.a:2) stage:A AND topic:b", {"stage": ("A",), "topic": ("b",), "value.a": ("1", "2")}, {}),
        ("-(stage:A OR topic:a,b OR gap)", {}, {"stage": ("A",), "topic": ("a", "b"), "words": ("gap",)}),
        ("(stage:A -topic:a) connector:c", {"connector": ("c",), "stage": ("A",)}, {"topic": ("a",)}),
        ("offset:1 OR offset:5..7", {"origin_offset": ("1", "5..7")}, {}),
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
        ("topic:a stag:TASK_PUT", (8, 12), "Unknown field `stag`. Did you mean `stage`?"),
        ("-exeption:X", (1, 9), "Unknown field `exeption`. Did you mean `exception`?"),
        ("http://x", (0, 4), "Unknown field `http`. To search for this text, quote it"),
        ("topic:", (0, 5), "`topic:` needs a value"),
        ("value.:1", (0, 6), "`value.` needs a name after the dot"),
        ('stage:"x', (6, 8), "this quote is not closed"),
        ('"a"b', (3, 4), "put a space after the quote"),
        ("topic:a,,b", (7, 8), "a value is missing here"),
        ("topic:a,", (7, 8), "a value is missing here"),
        ("topic:o*s", (7, 8), "`*` is allowed only at the end of a value. To search for it, quote the value"),
        ("topic:*", (6, 7), "`*` must follow the beginning of a value"),
        ("dialect:a*", (9, 10), "`dialect` does not accept `*`"),
        ('"a b"*', (5, 6), "`*` may follow a word, not a phrase"),
        ("a -", (2, 3), "`-` must be followed by a filter or a word"),
        ("partition:x", (10, 11), "`partition` must be a whole number or a range, such as 3, >100 or 10..20"),
        (
            "offset:>99999999999999999999",
            (7, 28),
            "`offset` must be a whole number or a range, such as 3, >100 or 10..20",
        ),
        ("group:>1", (6, 8), "`group` must be a whole number"),
        ("group:٣", (6, 7), "`group` must be a whole number"),
        ("is:broken", (3, 9), "`is` must be one of readable, unreadable"),
        (
            "replay:x",
            (7, 8),
            "`replay` must be one of none, queued, sent, passed, failed_again, unknown, discarded, parked, handled",
        ),
        ("after:yesterday", (6, 15), "`after` must be a time, such as -6h, -7d, 2026-01-31 or 2026-01-31T12:00Z"),
        ("after:-6h after:-1h", (10, 19), "`after` accepts only one time"),
        ("-after:-6h", (0, 10), "`-after` is not a filter. Use `before`"),
        ("after:-1h before:-6h", (0, 20), "the time range is empty: `after` must be before `before`"),
        ("...", (0, 3), "a search term needs a letter or a digit"),
        ("message:...", (8, 11), "a search term needs a letter or a digit"),
        ('key:""', (4, 6), "`key` needs a value"),
        ('topic:""', (6, 8), "`topic` needs a value"),
        ("a\0b", (1, 2), "contains NUL"),
        ("stage:A OR", (8, 10), "`OR` must stand between two filters. To search for it, quote it"),
        ("OR a", (0, 2), "`OR` must stand between two filters. To search for it, quote it"),
        ("a OR OR b", (2, 4), "`OR` must stand between two filters. To search for it, quote it"),
        ("AND a", (0, 3), "`AND` must stand between two filters. To search for it, quote it"),
        ("(a AND) b", (3, 6), "`AND` must stand between two filters. To search for it, quote it"),
        ("a (b OR c", (2, 3), "this `(` is not closed"),
        ("a -(", (2, 4), "this `(` is not closed"),
        ("a ()", (3, 4), "the parentheses are empty"),
        ("a) b", (1, 2), "this `)` has no `(`. To search for it, quote the value"),
        ("(a) )", (4, 5), "this `)` has no `(`. To search for it, quote the value"),
        ("(a)b", (3, 4), "put a space after the parenthesis"),
        ("(" * 11 + "a" + ")" * 11, (10, 11), "parentheses can be nested 10 deep"),
        ("a OR (stag:x)", (6, 10), "Unknown field `stag`. Did you mean `stage`?"),
        ("a OR b after:-6h", (7, 16), "put the alternatives in parentheses, and `after:` behind them"),
        (
            "stage:A (value.a:1 OR stage:B)",
            (8, 30),
            "`value.` and `header.` can be alternatives of the same member or header only",
        ),
        ("x" * 4001, (4000, 4001), "is longer than 4000 characters"),
        ("key:" + "k" * 1001, (4, 1005), "a value has at most 1000 characters"),
        ("😀 stag:x", (2, 6), "Unknown field `stag`. Did you mean `stage`?"),
    ],
)
def test_an_error_points_at_its_place(text: str, at: tuple[int, int], sentence: str) -> None:
    with pytest.raises(ParameterError) as caught:
        compile_query(text, resolve, NOW)
    assert (caught.value.at, caught.value.detail) == (at, {"q": [sentence]})


def test_a_beginning_that_too_many_names_share_is_refused() -> None:
    with pytest.raises(ParameterError, match="more than 100 names have this prefix"):
        compile_query("topic:t*", lambda field, beginning: [f"t{n}" for n in range(101)], NOW)


FIELD_NAMES = [*TERMS, "value.a.b", "header.trace-id"]
values = st.builds(
    lambda text, prefix: ClauseValue(text, quoted=not text.isascii() or not text.isalnum(), prefix=prefix),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
    st.booleans(),
)
clauses = st.one_of(
    st.builds(Clause, st.none(), st.tuples(values), st.booleans()),
    st.builds(Clause, st.sampled_from(FIELD_NAMES), st.lists(values, min_size=1, max_size=3).map(tuple), st.booleans()),
)


@given(st.lists(clauses, max_size=6))
def test_what_is_written_parses_to_the_same(found: list[Clause]) -> None:
    assert [placed.clause for placed in parse(write(found)).clauses] == found


@given(values)
def test_a_value_that_is_kept_is_read_again(value: ClauseValue) -> None:
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
    for placed in parse(text).clauses:
        assert write([placed.clause]) == text[placed.at.start : placed.at.end]

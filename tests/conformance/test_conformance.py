"""What the side-by-side run relies on; the run itself is `make conformance`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.conformance.case import Case, values
from tests.conformance.cases import CASES
from tests.conformance.compare import differences
from tests.conformance.documented import PAGE, documented, gone, undocumented
from tests.conformance.recorder import plain
from tests.conformance.seen import FAILED, REFUSED, RUNNING, STUCK, End, Seen
from tests.conformance.steps import STEPS, half_shown, showing
from tests.support.topics import Record

CASE = Case("one", values(first=b"1", second=b"2"))
DELIVERY: dict[str, Any] = {"topic": b"t", "partition": 0, "timestamp": (5, "CREATE_TIME"), "key": None, "headers": []}


def delivered(*bodies: bytes | None) -> Seen:
    rows = {offset: [DELIVERY | {"value": body}] for offset, body in enumerate(bodies)}
    return Seen(End(RUNNING), len(bodies), rows)


def dead(**headers: bytes) -> Seen:
    told = tuple((f"__connect.errors.{name.replace('_', '.')}", value) for name, value in headers.items())
    letters = {0: [Record(0, 0, b"k", b"1", told, 5)]}
    return replace(delivered(), position=2, letters=letters)


def test_there_are_at_least_sixty_configurations_each_with_its_own_name_and_input() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60
    assert all(case.inputs for case in CASES)


@pytest.mark.parametrize("step", STEPS)
def test_every_converter_transform_and_predicate_is_shown(step: str) -> None:
    assert showing(step, CASES)


def test_a_step_is_half_shown_when_nothing_was_refused() -> None:
    assert half_shown([CASE], {"one": delivered(b"1", b"2")}) == list(STEPS)
    assert set(STEPS) - set(half_shown([CASE], {"one": delivered(b"1")})) == set(CASE.properties.values()) & set(STEPS)


def test_names_can_stand_in_patterns() -> None:
    assert not [name for case in CASES for name in (case.name, *case.inputs) if set(name) & set("*?[]/ `|")]


def test_each_row_of_the_page_has_patterns_and_a_reason() -> None:
    text = PAGE.read_text()
    rows = documented(text)
    assert len(rows) == sum(line.startswith("| `") for line in text.splitlines())
    assert all(row.patterns and row.reason.strip() for row in rows)


def test_a_difference_that_no_row_covers_is_undocumented_and_a_row_that_covers_none_is_gone() -> None:
    rows = documented("| `a/* value`, `b state` | x | y | z |\n| `c position` | x | y | z |")
    assert undocumented(["a/1 value", "a/1 key", "b state"], rows) == ["a/1 key"]
    assert gone(["a/1 value", "c position"], rows) == ["b state"]


@pytest.mark.parametrize(
    ("theirs", "ours", "where"),
    [
        (delivered(b"1", b"2"), delivered(b"1", b"2"), []),
        (delivered(b"1", b"2"), delivered(b"1", b"3"), ["one/second value"]),
        (delivered(b"1", b"2"), delivered(b"1", None), ["one/second value"]),
        (delivered(b'{"a":1,"b":2}'), delivered(b'{"b":2,"a":1}'), ["one/first value order"]),
        (delivered(b'{"a":1,"b":2}'), delivered(b'{"b":2,"a":1.0}'), ["one/first value"]),
        (delivered(b"[1,2]"), delivered(b"[2,1]"), ["one/first value"]),
        (delivered(b"1", b"2"), delivered(b"1"), ["one position", "one/second fate"]),
        (delivered(b"1"), replace(delivered(b"1"), end=End(FAILED, "trace")), ["one state"]),
        (delivered(b"1"), Seen(End(REFUSED, "unknown option"), 0), ["one state"]),
        (Seen(End(REFUSED, "this"), 0), Seen(End(REFUSED, "that"), 0), []),
        (Seen(End(STUCK), 0), Seen(End(STUCK), 0), ["one state"]),
        (delivered(b"1", b"2"), dead(), ["one/first fate", "one/second fate"]),
        (dead(stage=b"VALUE_CONVERTER"), dead(stage=b"KEY_CONVERTER"), ["one/first letter stage"]),
        (dead(task_id=b"0"), dead(), ["one/first letter context"]),
        (dead(connector_name=b"theirs.one"), dead(connector_name=b"ours.one"), []),
    ],
)
def test_what_differs_is_named(theirs: Seen, ours: Seen, where: list[str]) -> None:
    found = [one.where for one in differences(CASE, theirs, ours)]
    assert [name for name in found if not name.endswith("letter original")] == where


def test_a_record_that_was_put_twice_differs_from_one_that_was_put_once() -> None:
    once = delivered(b"1", b"2")
    twice = replace(once, delivered={**once.delivered, 1: once.delivered[1] * 2})
    assert [one.where for one in differences(CASE, once, twice)] == ["one/second times delivered"]


@pytest.mark.parametrize(
    ("value", "text"),
    [({"b": [None, True], "a": b"\x00"}, '{a="AA==", b=[null, true]}'), ([[[]]], "[[[]]]"), (1.5, "1.5")],
)
def test_what_no_converter_can_write_is_recorded_as_text(value: Any, text: str) -> None:
    assert plain(value) == text

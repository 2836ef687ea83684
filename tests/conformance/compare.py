"""Where two sides differ. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.record.error_context_json import decode
from tests.conformance.case import Case
from tests.conformance.seen import CONTEXT, REFUSED, STUCK, Seen
from tests.support.topics import Record


@dataclass(frozen=True, slots=True)
class Difference:
    """`where` is `case/input aspect`, as `docs/differences.md` names it."""

    where: str
    theirs: object
    ours: object


def differences(case: Case, theirs: Seen, ours: Seen) -> list[Difference]:
    """All differences of one case; a connector that never got through counts as one, even where both are stuck."""
    states = {theirs.end.state, ours.end.state}
    ended = [Difference(f"{case.name} state", theirs.end, ours.end)] if len(states) == 2 or STUCK in states else []
    if ended and REFUSED in states:
        return ended
    rows: list[tuple[str, Any, Any]] = [
        (f"{case.name} position", theirs.position, ours.position),
        (f"{case.name} output", theirs.output, ours.output),
        (f"{case.name} dead letters", len(theirs.letters.get(-1, ())), len(ours.letters.get(-1, ()))),
    ]
    for offset, label in enumerate(case.inputs):
        rows += [(f"{case.name}/{label} {aspect}", *pair) for aspect, *pair in _of_record(offset, theirs, ours)]
    return ended + [Difference(*row) for row in rows if row[1] != row[2]]


def _of_record(offset: int, theirs: Seen, ours: Seen) -> Iterator[tuple[str, Any, Any]]:
    if theirs.fate(offset) != ours.fate(offset):
        yield "fate", theirs.told(offset), ours.told(offset)
        return
    their_values, our_values = theirs.delivered.get(offset, []), ours.delivered.get(offset, [])
    their_letters, our_letters = theirs.letters.get(offset, []), ours.letters.get(offset, [])
    yield "times delivered", len(their_values), len(our_values)
    yield "times dead-lettered", len(their_letters), len(our_letters)
    for one, other in zip(their_values, our_values, strict=False):
        yield from ((_aspect(name, one[name], other[name]), one[name], other[name]) for name in one)
    for letter, another in zip(their_letters, our_letters, strict=False):
        yield from _of_letter(letter, another)


def _of_letter(theirs: Record, ours: Record) -> Iterator[tuple[str, Any, Any]]:
    told = decode(ours.value).context
    yield "letter key", theirs.key, ours.key
    yield "letter value", theirs.value, ours.value
    yield "letter original", theirs.value, told and told.original and told.original.value
    yield "letter timestamp", theirs.timestamp, ours.timestamp
    yield "letter headers", _own(theirs), _own(ours)
    one, other = _context(theirs), _context(ours)
    yield "letter context", list(one), list(other)
    yield from ((f"letter {name}", one[name], other[name]) for name in one.keys() & other.keys())


def _own(letter: Record) -> list[tuple[str, bytes | None]]:
    return [(name, value) for name, value in letter.headers if not name.startswith(CONTEXT)]


def _context(letter: Record) -> dict[str, str | None]:
    """What its `__connect.errors.*` headers say, but for the side's own name."""
    rows = {name: value for name, value in letter.headers if name.startswith(CONTEXT)}
    return {
        name.removeprefix(CONTEXT): None
        if value is None
        else value.decode().removeprefix("theirs.").removeprefix("ours.")
        for name, value in rows.items()
    }


def _aspect(name: str, theirs: Any, ours: Any) -> str:
    """The name of what differs; two JSON texts that differ in nothing but the order of members are told apart."""
    both = (theirs, ours)
    if theirs == ours or not all(isinstance(text, bytes) for text in both):
        return name
    one, other = map(_sorted, both)
    return f"{name} order" if one is not None and one == other else name


def _sorted(text: bytes) -> str | None:
    """The JSON with its members sorted and its numbers as they were written; None if it is none."""
    try:
        document = json.loads(text, parse_float=_number, parse_int=_number)
    except ValueError:
        return None
    return json.dumps(document, sort_keys=True)


def _number(text: str) -> list[str]:
    return ["number", text]

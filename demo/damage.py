"""The damaged records of the demo: 25 modified copies of intact events, the same in every run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).with_name("usgs-earthquakes-2018w06.jsonl")
KIP_298_EXAMPLE_4 = b'{"a: 10}'
LOST_QUOTES, CUT_SHORT, WRONG_ENCODING, WRONG_MAGNITUDE = 9, 6, 3, 7
DAMAGED = LOST_QUOTES + CUT_SHORT + WRONG_ENCODING + WRONG_MAGNITUDE
NEEDED = ("gap", "dmin", "nst", "rms")


class Event(NamedTuple):
    """One record to send: the event's id, and a GeoJSON line, intact or damaged."""

    key: bytes
    value: bytes
    damage: str = ""  # the kind of damage, or ""


def intact_event() -> list[Event]:
    """Return the real events in the feed's order."""
    lines = DATA.read_bytes().splitlines()
    return [Event(json.loads(line)["id"].encode(), line) for line in lines]


def batch() -> list[Event]:
    """Return the first batch: every intact event, and the damaged copies evenly among them."""
    events = intact_event()
    copies = list(damaged_events(events))
    step = len(events) // (len(copies) + 1)
    for number, copy in reversed(list(enumerate(copies, start=1))):
        events.insert(number * step, copy)
    return events


def damaged_events(events: Sequence[Event]) -> Iterator[Event]:
    """Yield damaged copies, each of a different event that the table would accept undamaged."""
    complete = [event for event in events if is_accepted(event)]
    sources = iter(complete[:: len(complete) // DAMAGED])
    for number in range(LOST_QUOTES):
        source = next(sources)
        yield source._replace(
            value=KIP_298_EXAMPLE_4 if number == 0 else lose_quote(source.value), damage="missing quote"
        )
    for number in range(CUT_SHORT):
        yield cut_short(next(sources), number)
    for _ in range(WRONG_ENCODING):
        yield encode_wrongly(next(sources))
    for _ in range(WRONG_MAGNITUDE):
        yield spoil_magnitude(next(sources))


def is_accepted(event: Event) -> bool:
    """Return whether the table accepts the event: no needed property is null."""
    properties: dict[str, Any] = json.loads(event.value)["properties"]
    return all(properties[name] is not None for name in NEEDED)


def lose_quote(value: bytes) -> bytes:
    """Drop the quote that closes the field name `place`, as in KIP-298's Example 4."""
    return value.replace(b'"place":', b'"place:', 1)


def cut_short(event: Event, number: int) -> Event:
    """Keep the first part of the value. The share depends on `number`."""
    share = (3 + number % 6) / 10
    return event._replace(value=event.value[: int(len(event.value) * share)], damage="truncated")


def encode_wrongly(event: Event) -> Event:
    """Put a Latin-1 name into `place`. JSON is UTF-8, and the byte of `ñ` is not."""
    value = event.value.replace(b'"place":"', '"place":"Cañon, '.encode("latin-1"), 1)
    return event._replace(value=value, damage="wrong encoding")


def spoil_magnitude(event: Event) -> Event:
    """Replace the magnitude with the text "n/a": valid JSON, but not a number."""
    return event._replace(value=re.sub(rb'"mag":[^,]+', b'"mag":"n/a"', event.value, count=1), damage="wrong magnitude")

"""What the dead letters of a group have in common that others don't have."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec
import orjson

from dlqadmin.deadletters.bounding import TimedOut
from dlqadmin.deadletters.sampling import Row, newest
from dlqadmin.deadletters.shares import by_fingerprint
from dlqadmin.deadletters.values import unpack_headers

SECONDS = 1.5
FEWEST = 5  # dead letters; of fewer nothing is said
MOST_ROWS = 8
MIN_SHARE, MIN_DIFFERENCE, MIN_LIFT = 0.3, 0.2, 1.5
ALONE_SHARE = 0.9  # where nothing else failed
MAX_DEPTH, MAX_FIELDS, MAX_CHARACTERS = 4, 100, 80
MISSING = "missing"
# Headers that tell of the failure, not of the record.
CONTEXT = ("__connect.errors.", "__streams.errors.", "kafka_dlt-", "kafka_exception", "x-exception", "dlq.replay.")

Feature = tuple[str, str]  # a field, and what it is


class Trait(msgspec.Struct, frozen=True):
    """A field that has one value in many dead letters of the group and in few others."""

    field: str
    value: str
    here: int
    elsewhere: int


class Common(msgspec.Struct, frozen=True):
    """The traits, the strongest first, with how many dead letters were looked at."""

    traits: list[Trait]
    here: int
    elsewhere: int
    partial: bool


class Tally:
    """How many dead letters have each feature."""

    def __init__(self) -> None:
        self.total = 0
        self.features: Counter[Feature] = Counter()
        self.objects: Counter[str] = Counter()  # by path: how often there is an object
        self.members: Counter[tuple[str, str]] = Counter()  # by path and name: how often it has this member

    def add(self, row: Row) -> None:
        """Count one dead letter."""
        self.total += 1
        self.features.update({*_facts(row), *_headers(row)})
        document = _document(row.value)
        if isinstance(document, dict):
            self._walk("value", document)
        elif row.value is not None:
            self.features["value", "not a JSON object"] += 1
        elif row.value_size is None and row.known:
            self.features["value", "null"] += 1

    def add_missing(self, members: Iterable[tuple[str, str]]) -> None:
        """Count how often an object lacks each of these members."""
        for path, name in members:
            self.features[f"{path}.{name}", MISSING] = self.objects[path] - self.members[path, name]

    def _walk(self, path: str, document: Mapping[str, Any], depth: int = 1) -> None:
        self.objects[path] += 1
        for name, value in list(document.items())[:MAX_FIELDS]:
            self.members[path, name] += 1
            if isinstance(value, dict):
                if depth < MAX_DEPTH:
                    self._walk(f"{path}.{name}", value, depth + 1)
            elif (text := _literal(value)) is not None:
                self.features[f"{path}.{name}", text] += 1


def common(fingerprints: Iterable[int], start: datetime, end: datetime) -> Common:
    """Compare the newest dead letters of these fingerprints with the newest of all others in the same time."""
    began = time.monotonic()
    own = set(fingerprints)
    counts = by_fingerprint(start, end)
    here, rest = Tally(), Tally()
    mine = newest({pk: n for pk, n in counts.items() if pk in own}, start, end, began + SECONDS / 2)
    others = newest({pk: n for pk, n in counts.items() if pk not in own}, start, end, began + SECONDS)
    partial = not all([_fill(here, mine), _fill(rest, others)])
    return Common(traits(here, rest), here.total, rest.total, partial)


def traits(here: Tally, rest: Tally) -> list[Trait]:
    """Pure: the best value of each field that is markedly more frequent here, the largest difference first."""
    if here.total < FEWEST:
        return []
    members = here.members.keys() | rest.members.keys()
    here.add_missing(members)
    rest.add_missing(members)
    best: dict[str, tuple[float, Trait]] = {}
    for (field, value), count in here.features.items():
        trait = Trait(field, value, count, rest.features[field, value])
        difference = _difference(trait, here.total, rest.total)
        if difference is not None and (field not in best or difference > best[field][0]):
            best[field] = (difference, trait)
    ranked = sorted(best.values(), key=lambda row: (-row[0], row[1].field))
    return [trait for _, trait in ranked[:MOST_ROWS]]


def _fill(tally: Tally, rows: Iterable[Row]) -> bool:
    """Count the rows; False when the time was over before."""
    try:
        for row in rows:
            tally.add(row)
    except TimedOut:
        return False
    return True


def _difference(trait: Trait, here: int, rest: int) -> float | None:
    """By how much its share is larger here; None when that says nothing."""
    share = trait.here / here
    if rest < FEWEST:
        return share if share >= ALONE_SHARE else None
    other = (trait.elsewhere + 1) / (rest + 2)  # a few others prove little
    if share < MIN_SHARE or share - other < MIN_DIFFERENCE or share < MIN_LIFT * other:
        return None
    return share - other


def _facts(row: Row) -> Iterator[Feature]:
    named = (
        ("topic", row.topic),
        ("origin topic", row.origin_topic),
        ("origin partition", row.origin_partition),
        ("connector", row.connector),
        ("task", row.task_id),
        ("key", "null" if row.key_text is None and row.known else row.key_text),
    )
    return ((name, str(value)[:MAX_CHARACTERS]) for name, value in named if value not in (None, ""))


def _headers(row: Row) -> Iterator[Feature]:
    """The original record's headers as text; where it was sent in the dead letter, without those of the failure."""
    for name, value in unpack_headers(row.headers if row.original_headers is None else row.original_headers):
        if not name.startswith(CONTEXT):
            yield f"header {name[:MAX_CHARACTERS]}", _text(value)


def _text(value: bytes | None) -> str:
    if value is None:
        return "null"
    text = value[: 4 * MAX_CHARACTERS].decode("utf-8", "replace")[:MAX_CHARACTERS]
    return text if text.isprintable() else "0x" + value[: MAX_CHARACTERS // 2].hex()


def _document(value: bytes | None) -> Any:
    try:
        return None if value is None else orjson.loads(value)
    except orjson.JSONDecodeError:
        return None


def _literal(value: Any) -> str | None:
    """A scalar as JSON writes it; None for a list."""
    return None if isinstance(value, list) else orjson.dumps(value).decode()[:MAX_CHARACTERS]

"""Field values that are frequent in the dead letters of a group and rare in others."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec
import orjson

from dlqadmin.deadletters.groups.fingerprint_counts import by_fingerprint
from dlqadmin.deadletters.groups.samples import SampledLetter, newest
from dlqadmin.deadletters.index.column_values import unpack_headers
from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.deadletters.search.member_paths import write_step
from dlqadmin.deadletters.search.time_limits import QueryTimedOut
from dlqadmin.rest.documents import Document

SECONDS = 1.5
FEWEST = 5  # dead letters; with fewer, no traits are returned
MOST_ROWS = 8
MIN_SHARE, MIN_DIFFERENCE, MIN_LIFT = 0.3, 0.2, 1.5
ALONE_SHARE = 0.9  # the required share if nothing else failed
MAX_DEPTH, MAX_FIELDS, MAX_CHARACTERS = 4, 100, 80
MISSING = "missing"
# headers that describe the failure, not the record
CONTEXT = ("__connect.errors.", "__streams.errors.", "kafka_dlt-", "kafka_exception", "x-exception", "dlq.replay.")

Feature = tuple[str, str]  # field and value


class Trait(Document):
    """A field with one value in many dead letters of the group and in few others."""

    field: str
    value: str
    here: int
    elsewhere: int


class CommonTraits(msgspec.Struct, frozen=True):
    """The traits, strongest first, and the number of dead letters that were compared."""

    traits: list[Trait]
    here: int
    elsewhere: int
    partial: bool


class FeatureCounts:
    """The number of dead letters with each feature. Content that the reader may not read is not counted."""

    def __init__(self, reader: PayloadReader) -> None:
        self._reader = reader
        self.total = 0
        self.features: Counter[Feature] = Counter()
        self.objects: Counter[str] = Counter()  # by path: the number of objects
        self.members: Counter[tuple[str, str]] = Counter()  # by path and name: the number of objects with this member

    def add(self, row: SampledLetter) -> None:
        """Count one dead letter."""
        self.total += 1
        self.features.update(_facts(row))
        if not self._reader.of(row).reads_all:
            return
        self.features.update({*_key(row), *_headers(row)})
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
            self.features[f"{path}.{write_step(name)}", MISSING] = self.objects[path] - self.members[path, name]

    def _walk(self, path: str, document: Mapping[str, Any], depth: int = 1) -> None:
        self.objects[path] += 1
        for name, value in list(document.items())[:MAX_FIELDS]:
            self.members[path, name] += 1
            if isinstance(value, dict):
                if depth < MAX_DEPTH:
                    self._walk(f"{path}.{write_step(name)}", value, depth + 1)
            elif (text := _json_scalar(value)) is not None:
                self.features[f"{path}.{write_step(name)}", text] += 1


def common(fingerprints: Iterable[int], start: datetime, end: datetime, reader: PayloadReader) -> CommonTraits:
    """Compare the newest dead letters of these fingerprints with the newest others.

    Both must have failed in the time range.

    Keys, values and headers are compared only where the reader may read them.
    """
    began = time.monotonic()
    own = set(fingerprints)
    counts = by_fingerprint(start, end)
    here, rest = FeatureCounts(reader), FeatureCounts(reader)
    mine = newest({pk: n for pk, n in counts.items() if pk in own}, start, end, began + SECONDS / 2)
    others = newest({pk: n for pk, n in counts.items() if pk not in own}, start, end, began + SECONDS)
    partial = not all([_fill(here, mine), _fill(rest, others)])
    return CommonTraits(traits(here, rest), here.total, rest.total, partial)


def traits(here: FeatureCounts, rest: FeatureCounts) -> list[Trait]:
    """Return the best value of each field that is more frequent here, largest difference first.

    Pure.
    """
    if here.total < FEWEST:
        return []
    members = here.members.keys() | rest.members.keys()
    here.add_missing(members)
    rest.add_missing(members)
    best: dict[str, tuple[float, Trait]] = {}
    for (field, value), count in here.features.items():
        trait = Trait(field, value, count, rest.features[field, value])
        difference = _share_difference(trait, here.total, rest.total)
        if difference is not None and (field not in best or difference > best[field][0]):
            best[field] = (difference, trait)
    ranked = sorted(best.values(), key=lambda row: (-row[0], row[1].field))
    return [trait for _, trait in ranked[:MOST_ROWS]]


def _fill(tally: FeatureCounts, rows: Iterable[SampledLetter]) -> bool:
    """Count the rows; return False if the time ran out."""
    try:
        for row in rows:
            tally.add(row)
    except QueryTimedOut:
        return False
    return True


def _share_difference(trait: Trait, here: int, rest: int) -> float | None:
    """Return by how much the share is larger here, or None if that is not significant."""
    share = trait.here / here
    if rest < FEWEST:
        return share if share >= ALONE_SHARE else None
    other = (trait.elsewhere + 1) / (rest + 2)  # smoothed: a few other dead letters prove little
    if share < MIN_SHARE or share - other < MIN_DIFFERENCE or share < MIN_LIFT * other:
        return None
    return share - other


def _facts(row: SampledLetter) -> set[Feature]:
    named = (
        ("topic", row.topic),
        ("origin topic", row.origin_topic),
        ("origin partition", row.origin_partition),
        ("connector", row.connector),
        ("task", row.task_id),
    )
    return {(name, str(value)[:MAX_CHARACTERS]) for name, value in named if value not in (None, "")}


def _key(row: SampledLetter) -> set[Feature]:
    key = "null" if row.key_text is None and row.known else row.key_text
    return {("key", key[:MAX_CHARACTERS])} if key else set()


def _headers(row: SampledLetter) -> Iterator[Feature]:
    """Yield the original record's headers as text.

    A dead letter that carries the original's headers adds its own headers about the failure. They are left
    out.
    """
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


def _json_scalar(value: Any) -> str | None:
    """Return a scalar as JSON, or None for a list."""
    return None if isinstance(value, list) else orjson.dumps(value).decode()[:MAX_CHARACTERS]

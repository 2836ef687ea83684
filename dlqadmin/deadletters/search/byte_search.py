"""Search in the bytes of records: compare members of the JSON value, or headers, with values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import orjson

from dlqadmin.deadletters.index.column_values import unpack_headers
from dlqadmin.deadletters.search.member_paths import HEADER, is_path, read_path
from dlqadmin.deadletters.search.query_values import ClauseValue, read_value

LITERALS = ("null", "true", "false")
LONG = re.compile(rb"\d{19}")  # orjson turns whole numbers beyond 64 bits into floats


class SearchedBytes(msgspec.Struct, frozen=True):
    """The parts of a record that a search reads."""

    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


class Probe(msgspec.Struct, frozen=True):
    """A member or header, and the values to compare with it.

    One of the values must match, or with `negated` none. `steps` are the path of a member, or the name of a
    header alone.
    """

    name: str
    steps: tuple[str, ...]
    values: tuple[ClauseValue, ...]
    negated: bool

    @property
    def is_header(self) -> bool:
        """Return whether it looks at a header."""
        return self.name.startswith(HEADER)

    def is_present(self, record: SearchedBytes) -> bool:
        """Return whether the record has the member or header."""
        return any(True for _ in self._held(record))

    def passes(self, record: SearchedBytes) -> bool:
        """Return whether the record matches. A missing member or header matches no value."""
        equals = _equals_text if self.is_header else _equals_json
        return any(equals(held, value) for held in self._held(record) for value in self.values) != self.negated

    def _held(self, record: SearchedBytes) -> Iterator[Any]:
        return _headers(record, self.steps[0]) if self.is_header else _members(record.value, self.steps)


def probes(include: Mapping[str, Sequence[str]], exclude: Mapping[str, Sequence[str]]) -> list[Probe]:
    """Return the probes that the filters require."""
    found = []
    for side, negated in ((include, False), (exclude, True)):
        for name, values in side.items():
            if is_path(name):
                # Filters of selections were stored before the quotes of steps were checked.
                steps = read_path(name) or (name.partition(".")[2],)
                found.append(Probe(name, steps, tuple(read_value(value) for value in values), negated))
    return found


def read_bytes(value: Any, headers: Any, original_headers: Any) -> SearchedBytes:
    """Convert the columns of a body, independent of the database driver."""
    packed = [bytes(column) for column in (original_headers, headers) if column is not None]
    found = [pair for column in packed for pair in unpack_headers(column)]
    return SearchedBytes(None if value is None else bytes(value), found)


def _members(value: bytes | None, steps: Sequence[str]) -> Iterator[Any]:
    if value is None:
        return
    try:
        document = _parsed(value)
    except orjson.JSONDecodeError:
        return
    yield from _values_at(document, steps)


def _parsed(text: bytes) -> Any:
    """Parse a JSON document with exact whole numbers. Raises orjson's JSONDecodeError."""
    document = orjson.loads(text)
    if LONG.search(text):
        try:
            return json.loads(text)
        except (RecursionError, ValueError):  # nested too deeply for json, or thousands of digits
            return document
    return document


def _values_at(document: Any, steps: Sequence[str]) -> Iterator[Any]:
    """Yield the values at the end of the path. In lists, follow every element or the one at an index.

    The loop is iterative, because orjson reads lists that are nested deeper than Python's recursion limit.
    """
    waiting = [(document, 0)]
    while waiting:
        held, done = waiting.pop()
        if done == len(steps):
            yield held
        elif isinstance(held, dict):
            if steps[done] in held:
                waiting.append((held[steps[done]], done + 1))
        elif isinstance(held, list):
            step = steps[done]
            numbered = step.isascii() and step.isdigit() and len(step) < 10
            if not numbered:
                waiting += ((element, done) for element in reversed(held))
            elif int(step) < len(held):
                waiting.append((held[int(step)], done + 1))


def _headers(record: SearchedBytes, name: str) -> Iterator[str | None]:
    for key, value in record.headers:
        if key == name:
            yield None if value is None else value.decode("utf-8", "replace")


def _equals_text(held: str | None, wanted: ClauseValue) -> bool:
    """Return whether a header, text or null, equals the wanted value."""
    if held is None:
        return wanted == ClauseValue("null")
    return held.startswith(wanted.text) if wanted.prefix else held == wanted.text and wanted != ClauseValue("null")


def _equals_json(held: Any, wanted: ClauseValue) -> bool:
    """Return whether a JSON value equals the wanted value.

    Unquoted `null`, `true` and `false` match only these literals. A number also matches its text. A quoted
    value matches only text.
    """
    if wanted.prefix:
        return isinstance(held, str) and held.startswith(wanted.text)
    if isinstance(held, str):
        return held == wanted.text and (wanted.quoted or wanted.text not in LITERALS)
    if wanted.quoted or isinstance(held, dict | list):
        return False
    try:
        literal = _parsed(wanted.text.encode())
    except orjson.JSONDecodeError:
        return False
    return isinstance(held, bool) == isinstance(literal, bool) and bool(held == literal)

"""Typed values from header text, inferred like Kafka Connect: numbers, booleans, dates, lists, maps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, time
from typing import Any

from engine.record.schema import Schema
from engine.steps.converters.scalars import (
    FLOAT32,
    STRING,
    TIMESTAMP,
    WORDS,
    Typed,
    crowded,
    moment_from,
    moment_of,
    number_of,
    stamp,
)
from engine.steps.converters.values_as_text import millis
from engine.steps.java.numbers import float32, shortest_float32

_RANK = {kind: rank for rank, kind in enumerate(("INT8", "INT16", "INT32", "INT64", "FLOAT32", "FLOAT64"))}

_BLANK = "".join(map(chr, range(33)))
_DELIMITER = re.compile(r'[\\:,{}\[\]"]')
_TOKEN = re.compile(r'[:,{}\[\]"]|(?:\\.|\\\Z|[^\\:,{}\[\]"])+', re.DOTALL)


class _NoFit(Exception):
    """Text that turns out to be no list or map."""


def parse_text(text: str) -> Typed:
    """Return schema and value. Text of no other type stays text. `null` has neither."""
    plain = text.strip(_BLANK)
    first = plain[:1]
    if not first or not (first.isdecimal() or first in "+-[{tfn"):
        return STRING, text
    if not _DELIMITER.search(text):
        return (
            WORDS.get(plain) or (moment_of(plain) if first.isdecimal() else None) or number_of(plain) or (STRING, text)
        )
    try:
        return _value(_Tokens(text), inside=False)
    except RecursionError:
        return STRING, text


class _Tokens:
    """The tokens of a text: delimiters, and the text between them. A backslash escapes a delimiter."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = [(found.start(), found[0]) for found in _TOKEN.finditer(text)]
        self.at = 0

    def more(self) -> bool:
        return self.at < len(self._tokens)

    def next(self) -> str:
        self.at += 1
        return self._tokens[self.at - 1][1]

    def next_four(self) -> str | None:
        taken = self._tokens[self.at : self.at + 4]
        if len(taken) < 4:
            return None
        self.at += 4
        return "".join(token for _, token in taken)

    def take(self, wanted: str) -> bool:
        """Skip the wanted token and blank tokens before it.

        Blank tokens are skipped even without a match, except the last token.
        """
        while self.at + 1 < len(self._tokens) and not self._tokens[self.at][1].strip(_BLANK):
            self.at += 1
        if self.more() and self._tokens[self.at][1].strip(_BLANK) == wanted:
            self.at += 1
            return True
        return False


def _value(tokens: _Tokens, *, inside: bool) -> Typed:
    if not tokens.more():
        return None, None
    if inside and tokens.take('"'):
        return _quoted(tokens)
    for literal, typed in WORDS.items():
        start = tokens.at
        if tokens.take(literal) and (inside or not tokens.more()):
            return typed
        tokens.at = start
    start = tokens.at
    try:
        if tokens.take("["):
            return _list(tokens)
        if tokens.take("{"):
            return _map(tokens)
    except _NoFit:
        tokens.at = start
    token = tokens.next()
    plain = token.strip(_BLANK)
    if not plain:
        return STRING, token
    return _scalar(tokens, plain, inside=inside)


def _scalar(tokens: _Tokens, token: str, *, inside: bool) -> Typed:
    found = None
    if token[0].isdecimal():
        start = tokens.at
        rest = tokens.next_four()  # a time of day is five tokens, because colons are delimiters
        found = None if rest is None else moment_of(token + rest)
        if found is None:
            tokens.at = start
            found = moment_of(token)
    found = found or number_of(token)
    if found is None and inside:
        raise _NoFit
    return found or (STRING, tokens.text)


def _quoted(tokens: _Tokens) -> Typed:
    parts = []
    while tokens.more() and not tokens.take('"'):
        parts.append(tokens.next())
    text = "".join(parts)
    return moment_of(text) or (STRING, text)


def _list(tokens: _Tokens) -> Typed:
    values: list[Typed] = []
    while tokens.more():
        if tokens.take("]"):
            schema = _common([kind for kind, _ in values])
            return Schema("ARRAY", items=schema), [_member(schema, value) for value in values]
        if tokens.take(","):
            raise _NoFit
        values.append(_value(tokens, inside=True))
        start = tokens.at
        if tokens.take("]"):
            tokens.at = start
        elif not tokens.take(","):
            raise _NoFit
    raise _NoFit


def _map(tokens: _Tokens) -> Typed:
    rows: list[tuple[Typed, Typed]] = []
    while tokens.more():
        if tokens.take("}"):
            if crowded(key for (_, key), _ in rows):
                raise _NoFit
            keys = _common([key for (key, _), _ in rows])
            items = _common([item for _, (item, _) in rows]) if keys is not None else None
            return Schema("MAP", keys=keys, items=items), {
                _member(keys, key): _member(items, item) for key, item in {row[0][1]: row for row in rows}.values()
            }
        if tokens.take(","):
            raise _NoFit
        key = _value(tokens, inside=True)
        if key[1] is None or isinstance(key[1], list | dict) or not tokens.take(":"):
            raise _NoFit
        rows.append((key, _value(tokens, inside=True)))
        tokens.take(",")
    raise _NoFit


def _common(schemas: Sequence[Schema | None]) -> Schema | None:
    """Return the common schema: the widest of numbers, the last of any other type.

    None if types differ or all values are null.
    """
    common: Schema | None = None
    for schema in schemas:
        if schema is None:
            continue
        if common is None or common.type == schema.type:
            common = schema
        elif common.type in _RANK and schema.type in _RANK:
            common = max(common, schema, key=lambda one: _RANK[one.type])
        else:
            return None
    return common


def _member(common: Schema | None, typed: Typed) -> Any:
    """Return a member's value in the common schema, or unchanged."""
    schema, value = typed
    if common is None:
        return value
    if value is None:
        raise _NoFit
    if common.type == "FLOAT32" and isinstance(value, int | float):
        return shortest_float32(float(value))
    if common.type == "FLOAT64" and isinstance(value, int | float):
        return float32(value) if schema == FLOAT32 else float(value)
    if common.type not in _RANK:
        return value
    if isinstance(value, date | time):
        if common.name is None:
            raise _NoFit
        return stamp(millis(value)) if common == TIMESTAMP else value
    if common.name is None:
        return value
    try:
        return moment_from(common, value)
    except OverflowError:
        raise _NoFit from None

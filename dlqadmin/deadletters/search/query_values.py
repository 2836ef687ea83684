"""Values of the query language: text to value, and value to text."""

from __future__ import annotations

import re

import msgspec

from dlqadmin.deadletters.search.query_lexer import NAME

_BARE_WORD = re.compile(r'(?![-"]|(?:OR|AND)\Z)[^\s*()]+')
_BARE_VALUE = re.compile(r'(?!")[^\s,*()]+')


class ClauseValue(msgspec.Struct, frozen=True):
    """One alternative of a clause, or a word. `prefix` if it ended with a star."""

    text: str
    quoted: bool = False
    prefix: bool = False


def write_value(value: ClauseValue, *, word: bool = False) -> str:
    """Return a value as query text: without quotes if possible."""
    bare = _BARE_WORD if word else _BARE_VALUE
    plain = not value.quoted and bare.fullmatch(value.text) and not (word and NAME.match(value.text))
    text = value.text if plain else '"' + re.sub(r'(["\\])', r"\\\1", value.text) + '"'
    return text + "*" * value.prefix


def read_value(text: str) -> ClauseValue:
    """Return the value that `write_value` wrote. Any other text is returned unchanged as a value."""
    prefix = text.endswith("*")
    body = text.removesuffix("*")
    if len(body) >= 2 and body[0] == body[-1] == '"':
        return ClauseValue(re.sub(r"\\(.)", r"\1", body[1:-1], flags=re.DOTALL), quoted=True, prefix=prefix)
    return ClauseValue(body, prefix=prefix)

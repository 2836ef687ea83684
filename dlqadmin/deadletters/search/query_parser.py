"""The parser of the query language: text to clauses with positions, and clauses to text."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from dlqadmin.deadletters.search.fields import find, unknown
from dlqadmin.deadletters.search.query_lexer import NAME, CharacterRange, Term, lex, raise_at

MAX_LENGTH, MAX_CLAUSES = 4000, 60
_BARE_WORD = re.compile(r'(?![-"])[^\s*]+')
_BARE_VALUE = re.compile(r'(?!")[^\s,*]+')


class ClauseValue(msgspec.Struct, frozen=True):
    """One alternative of a clause, or a word. `prefix` if it ended with a star."""

    text: str
    quoted: bool = False
    prefix: bool = False


class Clause(msgspec.Struct, frozen=True):
    """`field:value,value`; a word or phrase has no field. A minus negates it."""

    field: str | None
    values: tuple[ClauseValue, ...]
    negated: bool = False


class PlacedClause(msgspec.Struct, frozen=True):
    """A clause with its position and the positions of its values."""

    clause: Clause
    at: CharacterRange
    values_at: tuple[CharacterRange, ...]


def parse(text: str) -> tuple[PlacedClause, ...]:
    """Parse a query. Raises only ParameterError of `q`, with the position."""
    if len(text) > MAX_LENGTH:
        raise_at(f"is longer than {MAX_LENGTH} characters", MAX_LENGTH, len(text))
    if (nul := text.find("\0")) >= 0:
        raise_at("contains NUL", nul, nul + 1)
    terms = lex(text)
    if len(terms) > MAX_CLAUSES:
        raise_at(f"has more than {MAX_CLAUSES} filters and words", terms[MAX_CLAUSES].at.start, len(text))
    return tuple(_placed(term) for term in terms)


def write(clauses: Iterable[Clause]) -> str:
    """Return the query text that parses to these clauses."""
    return " ".join(_clause(clause) for clause in clauses)


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


def _placed(term: Term) -> PlacedClause:
    places = tuple(atom.at for atom in term.atoms)
    values = tuple(ClauseValue(atom.text, atom.quoted, atom.prefix) for atom in term.atoms)
    if term.name is None:
        return PlacedClause(Clause(None, values, term.negated), term.at, places)
    field = find(term.name)
    if field is None and not values:  # `failed:` with neither a value nor a field of this name is text
        word = ClauseValue(f"{term.name}:", quoted=True)
        return PlacedClause(
            Clause(None, (word,), term.negated), term.at, (CharacterRange(term.name_at.start, term.at.end),)
        )
    if field is None:
        raise_at(unknown(term.name), *term.name_at)
    if not values:
        raise_at(f"`{term.name}:` needs a value", *term.name_at)
    return PlacedClause(Clause(field.term, values, term.negated), term.at, places)


def _clause(clause: Clause) -> str:
    minus = "-" if clause.negated else ""
    if clause.field is None:
        return minus + " ".join(write_value(value, word=True) for value in clause.values)
    return f"{minus}{clause.field}:{','.join(write_value(value) for value in clause.values)}"

"""The parser of the query language: text to clauses with positions, and clauses to text."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dlqadmin.deadletters.search.fields import find, unknown
from dlqadmin.deadletters.search.query_lexer import CharacterRange, Term, lex, raise_at
from dlqadmin.deadletters.search.query_values import ClauseValue, write_value

MAX_LENGTH, MAX_CLAUSES = 4000, 60


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

"""The lexer of the query language: text to terms with their positions. It knows no fields."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

import msgspec

from dlqadmin.rest.problems import ParameterError

PARAMETER = "q"
NAME = re.compile(r'[^\W\d][^\s:,"]*:')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_BARE = {True: re.compile(r"[^\s,]+"), False: re.compile(r"\S+")}


class CharacterRange(NamedTuple):
    """A half-open range of the query's characters."""

    start: int
    end: int


class Atom(msgspec.Struct, frozen=True):
    """One value or word, without its quotes and its star."""

    text: str
    quoted: bool
    prefix: bool
    at: CharacterRange


class Term(msgspec.Struct, frozen=True):
    """A part of a query between two spaces: an optional minus, an optional name, and values.

    A word has no name.
    """

    negated: bool
    name: str | None
    name_at: CharacterRange
    atoms: tuple[Atom, ...]
    at: CharacterRange


def raise_at(message: str, start: int, end: int) -> NoReturn:
    """Raise the ParameterError that points at a part of the query."""
    raise ParameterError(PARAMETER, message, (start, end))


def lex(text: str) -> list[Term]:
    """Return the terms in order. Raises ParameterError with the position."""
    terms, at = [], _skip_blanks(text, 0)
    while at < len(text):
        term = _term(text, at)
        terms.append(term)
        at = _skip_blanks(text, term.at.end)
    return terms


def _term(text: str, start: int) -> Term:
    negated = text[start] == "-"
    at = start + negated
    if _is_term_end(text, at):
        raise_at("`-` must be followed by a filter or a word", start, at)
    named = NAME.match(text, at)
    if named is None:
        atom = _atom(text, at, listed=False)
        return Term(negated, None, CharacterRange(at, at), (atom,), CharacterRange(start, atom.at.end))
    atoms = _values(text, named.end())
    end = atoms[-1].at.end if atoms else named.end()
    return Term(negated, named[0][:-1], CharacterRange(at, named.end() - 1), atoms, CharacterRange(start, end))


def _values(text: str, at: int) -> tuple[Atom, ...]:
    """Return the values, separated by commas; empty if nothing follows the colon."""
    if _is_term_end(text, at):
        return ()
    atoms = [_atom(text, at, listed=True)]
    while text[atoms[-1].at.end : atoms[-1].at.end + 1] == ",":
        atoms.append(_atom(text, atoms[-1].at.end + 1, listed=True))
    return tuple(atoms)


def _atom(text: str, at: int, *, listed: bool) -> Atom:
    if text[at : at + 1] == '"':
        return _quoted(text, at, listed=listed)
    found = _BARE[listed].match(text, at)
    if found is None:
        raise_at("a value is missing here", max(0, at - 1), at)
    word, end = found[0], found.end()
    star = word.find("*")
    if 0 <= star < len(word) - 1:
        raise_at(
            "`*` is allowed only at the end of a value. To search for it, quote the value", at + star, at + star + 1
        )
    if word == "*":
        raise_at("`*` must follow the beginning of a value", at, end)
    return Atom(word.removesuffix("*"), quoted=False, prefix=star > 0, at=CharacterRange(at, end))


def _quoted(text: str, at: int, *, listed: bool) -> Atom:
    found = _QUOTED.match(text, at)
    if found is None:
        raise_at("this quote is not closed", at, len(text))
    prefix = text[found.end() : found.end() + 1] == "*"
    end = found.end() + prefix
    if not _is_term_end(text, end) and not (listed and text[end] == ","):
        raise_at("put a space after the quote", end, end + 1)
    return Atom(
        re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL), quoted=True, prefix=prefix, at=CharacterRange(at, end)
    )


def _is_term_end(text: str, at: int) -> bool:
    return at >= len(text) or text[at].isspace()


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at

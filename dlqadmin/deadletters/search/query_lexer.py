"""The lexer of the query language: text to terms, operators and parentheses with positions. It knows no fields."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple, NoReturn

import msgspec

from dlqadmin.rest.problems import ParameterError

PARAMETER = "q"
# A quote may follow a dot: `value."US Gross":`.
NAME = re.compile(r'[^\W\d](?:[^\s:,"]|(?<=\.)"(?:[^"\\]|\\.)*")*:', re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_SIGN = re.compile(r"-?\(|\)|(?:OR|AND)(?=[\s()]|\Z)")
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


class SignKind(StrEnum):
    """An operator or a parenthesis."""

    OPEN = "("
    CLOSE = ")"
    OR = "OR"
    AND = "AND"


class Sign(msgspec.Struct, frozen=True):
    """An operator or a parenthesis at its position. Only an opening parenthesis can be negated."""

    kind: SignKind
    negated: bool
    at: CharacterRange


def raise_at(message: str, start: int, end: int) -> NoReturn:
    """Raise the ParameterError that points at a part of the query."""
    raise ParameterError(PARAMETER, message, (start, end))


def lex(text: str) -> list[Term | Sign]:
    """Return the terms, operators and parentheses in order. Raises ParameterError with the position."""
    tokens: list[Term | Sign] = []
    depth, at = 0, _skip_blanks(text, 0)
    while at < len(text):
        sign = _SIGN.match(text, at)
        token = _sign(text, sign, depth) if sign else _term(text, at, nested=depth > 0)
        tokens.append(token)
        if isinstance(token, Sign):
            depth += {SignKind.OPEN: 1, SignKind.CLOSE: -1}.get(token.kind, 0)
        at = _skip_blanks(text, token.at.end)
    return tokens


def _sign(text: str, found: re.Match[str], depth: int) -> Sign:
    at = CharacterRange(*found.span())
    word = found[0].removeprefix("-")
    if word == ")":
        if depth == 0:
            raise_at("this `)` has no `(`. To search for it, quote the value", *at)
        if not _is_term_end(text, at.end, nested=depth > 1):
            raise_at("put a space after the parenthesis", at.end, at.end + 1)
    return Sign(SignKind(word), found[0].startswith("-"), at)


def _term(text: str, start: int, *, nested: bool) -> Term:
    negated = text[start] == "-"
    at = start + negated
    if _is_term_end(text, at, nested=nested):
        raise_at("`-` must be followed by a filter or a word", start, at)
    named = NAME.match(text, at)
    if named is None:
        atom = _atom(text, at, listed=False, nested=nested)
        return Term(negated, None, CharacterRange(at, at), (atom,), CharacterRange(start, atom.at.end))
    atoms = _values(text, named.end(), nested=nested)
    end = atoms[-1].at.end if atoms else named.end()
    return Term(negated, named[0][:-1], CharacterRange(at, named.end() - 1), atoms, CharacterRange(start, end))


def _values(text: str, at: int, *, nested: bool) -> tuple[Atom, ...]:
    """Return the values, separated by commas; empty if nothing follows the colon."""
    if _is_term_end(text, at, nested=nested):
        return ()
    atoms = [_atom(text, at, listed=True, nested=nested)]
    while text[atoms[-1].at.end : atoms[-1].at.end + 1] == ",":
        atoms.append(_atom(text, atoms[-1].at.end + 1, listed=True, nested=nested))
    return tuple(atoms)


def _atom(text: str, at: int, *, listed: bool, nested: bool) -> Atom:
    if text[at : at + 1] == '"':
        return _quoted(text, at, listed=listed, nested=nested)
    found = _BARE[listed].match(text, at)
    word = _before_unopened(found[0]) if found else ""
    end = at + len(word)
    if not word:
        raise_at("a value is missing here", max(0, at - 1), at)
    if not nested and text[end : end + 1] == ")":
        raise_at("this `)` has no `(`. To search for it, quote the value", end, end + 1)
    star = word.find("*")
    if 0 <= star < len(word) - 1:
        raise_at(
            "`*` is allowed only at the end of a value. To search for it, quote the value", at + star, at + star + 1
        )
    if word == "*":
        raise_at("`*` must follow the beginning of a value", at, end)
    return Atom(word.removesuffix("*"), quoted=False, prefix=star > 0, at=CharacterRange(at, end))


def _before_unopened(word: str) -> str:
    """Return the word up to the first closing parenthesis that it does not open itself."""
    depth = 0
    for at, letter in enumerate(word):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            return word[:at]
    return word


def _quoted(text: str, at: int, *, listed: bool, nested: bool) -> Atom:
    found = _QUOTED.match(text, at)
    if found is None:
        raise_at("this quote is not closed", at, len(text))
    prefix = text[found.end() : found.end() + 1] == "*"
    end = found.end() + prefix
    if not _is_term_end(text, end, nested=nested) and not (listed and text[end] == ","):
        raise_at("put a space after the quote", end, end + 1)
    return Atom(
        re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL), quoted=True, prefix=prefix, at=CharacterRange(at, end)
    )


def _is_term_end(text: str, at: int, *, nested: bool) -> bool:
    return at >= len(text) or text[at].isspace() or (nested and text[at] == ")")


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at

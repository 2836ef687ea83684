"""The parser of the query language: text to groups of clauses with positions, and clauses to text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized

import msgspec

from dlqadmin.deadletters.search.fields import find, unknown
from dlqadmin.deadletters.search.query_lexer import CharacterRange, Sign, SignKind, Term, lex, raise_at
from dlqadmin.deadletters.search.query_values import ClauseValue, write_value

MAX_LENGTH, MAX_CLAUSES, MAX_DEPTH = 4000, 60, 10


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


class ParsedGroup(msgspec.Struct, frozen=True):
    """Clauses and choices side by side. A row must match each of them."""

    clauses: tuple[PlacedClause, ...]
    choices: tuple[ParsedChoice, ...] = ()

    def all_clauses(self) -> Iterator[PlacedClause]:
        """Yield the clauses, also those within parentheses."""
        yield from self.clauses
        for choice in self.choices:
            for group in choice.alternatives:
                yield from group.all_clauses()


class ParsedChoice(msgspec.Struct, frozen=True):
    """Alternatives, of which one must match, or none if negated. Parentheses without OR have one alternative."""

    alternatives: tuple[ParsedGroup, ...]
    negated: bool
    at: CharacterRange


def parse(text: str) -> ParsedGroup:
    """Parse a query. Raises only ParameterError of `q`, with the position."""
    if len(text) > MAX_LENGTH:
        raise_at(f"is longer than {MAX_LENGTH} characters", MAX_LENGTH, len(text))
    if (nul := text.find("\0")) >= 0:
        raise_at("contains NUL", nul, nul + 1)
    tokens = lex(text)
    terms = [token for token in tokens if isinstance(token, Term)]
    if len(terms) > MAX_CLAUSES:
        raise_at(f"has more than {MAX_CLAUSES} filters and words", terms[MAX_CLAUSES].at.start, len(text))
    alternatives = _TokenReader(tokens).alternatives()
    if len(alternatives) == 1:
        return alternatives[0]
    return ParsedGroup((), (ParsedChoice(alternatives, False, CharacterRange(0, len(text))),))


class _TokenReader:
    """A recursive-descent reader of the tokens. AND binds more tightly than OR."""

    def __init__(self, tokens: Sequence[Term | Sign]) -> None:
        self._tokens, self._next = tokens, 0

    def alternatives(self, opening: Sign | None = None, depth: int = 0) -> tuple[ParsedGroup, ...]:
        """Read groups separated by OR, up to the closing parenthesis or the end."""
        groups = [self._group(depth)]
        while self._is_at(SignKind.OR):
            groups.append(self._group(depth, after=self._take_sign()))
        if opening is not None:
            if self._next == len(self._tokens):
                raise_at("this `(` is not closed", *opening.at)
            self._take_sign()
        return tuple(groups)

    def _group(self, depth: int, after: Sign | None = None) -> ParsedGroup:
        clauses: list[PlacedClause] = []
        choices: list[ParsedChoice] = []
        last = after
        while self._next < len(self._tokens):
            token = self._tokens[self._next]
            if isinstance(token, Term):
                clauses.append(_placed(token))
            elif token.kind is SignKind.OPEN:
                choices.append(self._choice(token, depth + 1))
                last = None
                continue
            elif token.kind is SignKind.AND and not self._is_empty(clauses, choices, last):
                self._next, last = self._next + 1, token
                continue
            else:
                break
            self._next, last = self._next + 1, None
        self._check_end(clauses, choices, last)
        return ParsedGroup(tuple(clauses), tuple(choices))

    def _choice(self, opening: Sign, depth: int) -> ParsedChoice:
        if depth > MAX_DEPTH:
            raise_at(f"parentheses can be nested {MAX_DEPTH} deep", *opening.at)
        self._next += 1
        alternatives = self.alternatives(opening, depth)
        end = self._tokens[self._next - 1].at.end
        return ParsedChoice(alternatives, opening.negated, CharacterRange(opening.at.start, end))

    def _is_empty(self, clauses: Sized, choices: Sized, last: Sign | None) -> bool:
        return last is not None or not (clauses or choices)

    def _check_end(self, clauses: Sized, choices: Sized, last: Sign | None) -> None:
        """Check that something stands on both sides of each operator, and within parentheses."""
        if not self._is_empty(clauses, choices, last):
            return
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        sign = last or (token if isinstance(token, Sign) else None)
        if sign is None:
            if self._tokens:
                raise_at("this `(` is not closed", *self._tokens[-1].at)
            return
        if sign.kind is SignKind.CLOSE:
            raise_at("the parentheses are empty", *sign.at)
        raise_at(f"`{sign.kind}` must stand between two filters. To search for it, quote it", *sign.at)

    def _is_at(self, kind: SignKind) -> bool:
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        return isinstance(token, Sign) and token.kind is kind

    def _take_sign(self) -> Sign:
        token = self._tokens[self._next]
        assert isinstance(token, Sign)
        self._next += 1
        return token


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

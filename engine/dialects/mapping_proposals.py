"""Propose sources of facts for dead letters that no dialect reads, from the names and forms of their members."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import orjson

from engine.dialects.fact_values import BadFactError, ReadAs, from_header, from_json
from engine.dialects.facts import text
from engine.dialects.json_path import Steps, format_path
from engine.dialects.mapping import Fact, FactSource
from engine.record.record import RawRecord

MAX_LETTERS, MAX_SOURCES_A_LETTER, MAX_DEPTH = 100, 300, 6
MIN_SHARE = 0.5  # of the letters that must have the source in the expected form
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CLASS = re.compile(r"[A-Za-z_][\w$]*(?:[.:]{1,2}[A-Za-z_][\w$]*)*")
_CLASS_ENDING = re.compile(r"(?:Exception|Error|Failure|Fault|Timeout)$|^[a-z]\w*\.[\w.$]+\.[A-Z]\w+$")
_TRACE = re.compile(r"\n\s+at |^Traceback \(|\n\s+File \"|\ngoroutine \d+", re.MULTILINE)
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


class ProposalRule(msgspec.Struct, frozen=True):
    """The signs of one fact: words in the source's name, and the forms that its values may have.

    `strong` words are enough to choose between sources that have the form; `weak` words count less.
    """

    fact: Fact
    strong: frozenset[str]
    weak: frozenset[str]
    forms: tuple[ReadAs, ...]
    needs_name: bool = True


class Proposal(msgspec.Struct, frozen=True):
    """A source for a fact. `share` is the part of the letters in which it was found in this form, from 0 to 1.

    `example` is the value in the newest of them.
    """

    fact: Fact
    source: FactSource
    share: float
    example: str


class _SourceCandidate(msgspec.Struct):
    source: FactSource
    words: frozenset[str]
    values: list[bytes]


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


# In this order: a source that an earlier fact uses is not proposed again.
RULES: tuple[ProposalRule, ...] = (
    ProposalRule("trace", _words("stacktrace stack trace traceback"), _words("exception error"), ("text",), False),
    ProposalRule("exception", _words("exception class fqcn type"), _words("error cause name kind"), ("text",), False),
    ProposalRule("origin_offset", _words("offset"), frozenset(), ("integer", "int64")),
    ProposalRule("origin_partition", _words("partition"), frozenset(), ("integer", "int32")),
    ProposalRule("origin_topic", _words("topic"), _words("original origin source src stream"), ("text",)),
    ProposalRule(
        "attempts", _words("attempt attempts retries retry tries"), _words("count delivery"), ("integer", "int32")
    ),
    ProposalRule(
        "failed_at",
        _words("failed error"),
        _words("at time timestamp ts date when"),
        ("iso-time", "epoch-ms", "epoch-s"),
    ),
    ProposalRule("consumer_group", _words("group"), _words("consumer"), ("text",)),
    ProposalRule(
        "message", _words("message reason msg description"), _words("error detail details cause exception"), ("text",)
    ),
    ProposalRule(
        "value",
        _words("payload value body raw"),
        _words("original data record message event content"),
        ("base64", "bytes"),
    ),
    ProposalRule("key", _words("key"), _words("original record message"), ("base64", "text")),
)


def propose(letters: Sequence[RawRecord], topics: Sequence[str] = ()) -> list[Proposal]:
    """Return at most one proposal for each fact. Reads at most 100 letters, newest first.

    `topics` are the names of known topics: a source of `origin_topic` must name one of them, if any is given.
    Never raises.
    """
    letters = letters[:MAX_LETTERS]
    candidates = _candidates(letters)
    known = frozenset(topics)
    proposals: list[Proposal] = []
    taken: set[tuple[str | None, str | None]] = set()
    for rule in RULES:
        best = max(
            (
                (weight * share, share, source, example)
                for candidate in candidates
                if (candidate.source.header, candidate.source.json) not in taken
                and (weight := _weight(rule, candidate.words))
                for share, source, example in _in_forms(rule, candidate, len(letters), known)
                if share >= MIN_SHARE
            ),
            key=lambda one: one[0],
            default=None,
        )
        if best is not None:
            _, share, source, example = best
            taken.add((source.header, source.json))
            proposals.append(Proposal(rule.fact, source, share, example))
    return proposals


def _candidates(letters: Sequence[RawRecord]) -> list[_SourceCandidate]:
    by_name: dict[tuple[str, str | Steps], _SourceCandidate] = {}
    for letter in letters:
        seen: set[tuple[str, str | Steps]] = set()
        for kind, name, value in _members_of(letter):
            if (kind, name) in seen:
                continue
            seen.add((kind, name))
            if (kind, name) not in by_name:
                by_name[kind, name] = _candidate(name)
            by_name[kind, name].values.append(value)
    return list(by_name.values())


def _candidate(name: str | Steps) -> _SourceCandidate:
    if isinstance(name, str):
        return _SourceCandidate(FactSource(header=name), _split(name), [])
    last = next((step for step in reversed(name) if isinstance(step, str)), "")
    return _SourceCandidate(FactSource(json=format_path(name)), _split(last), [])


def _split(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORDS.findall(name))


def _members_of(letter: RawRecord) -> Iterator[tuple[str, str | Steps, bytes]]:
    for name, value in letter.headers[:MAX_SOURCES_A_LETTER]:
        if value is not None:
            yield "header", name, value
    try:
        document = orjson.loads(letter.value or b"")
    except orjson.JSONDecodeError:
        return
    for _, (steps, member) in zip(range(MAX_SOURCES_A_LETTER), _json_members(document), strict=False):
        try:
            written = orjson.dumps(member)
        except TypeError:  # it nests deeper than orjson writes
            continue
        yield "json", steps, written


def _json_members(document: Any) -> Iterator[tuple[Steps, Any]]:
    """Yield objects and scalars below the root, level by level."""
    waiting: list[tuple[Steps, Any]] = [((), document)]
    while waiting:
        steps, member = waiting.pop(0)
        if steps and member is not None and not isinstance(member, list):
            yield steps, member
        if isinstance(member, dict) and len(steps) < MAX_DEPTH:
            waiting += [((*steps, name), child) for name, child in member.items()]


def _weight(rule: ProposalRule, words: frozenset[str]) -> float:
    """Return how well a name fits; 0 if the fact needs a name that this one is not."""
    weight = 2.0 * len(words & rule.strong) + 1.0 * len(words & rule.weak)
    return weight if rule.needs_name else weight + 0.5


def _in_forms(
    rule: ProposalRule, candidate: _SourceCandidate, letters: int, topics: frozenset[str]
) -> Iterator[tuple[float, FactSource, str]]:
    for form in rule.forms:
        if candidate.source.json is not None and form in ("int32", "int64"):
            continue
        fitting = [value for value in candidate.values if _fits(rule.fact, candidate.source, form, value, topics)]
        if fitting:
            source = msgspec.structs.replace(candidate.source, read_as=form)
            yield len(fitting) / letters, source, _example(candidate.source, fitting[0])


def _fits(fact: Fact, source: FactSource, form: ReadAs, data: bytes, topics: frozenset[str]) -> bool:
    try:
        value = from_json(data, form) if source.json is not None else from_header(data, form)
    except BadFactError:
        return False
    if isinstance(value, int):
        return _is_plausible_number(fact, value)
    if isinstance(value, bytes):
        return _is_plausible_payload(source, form, data, value)
    return value is not None and _is_plausible_text(fact, source, data, value, topics)


def _is_plausible_number(fact: Fact, value: int) -> bool:
    if fact == "failed_at":
        return value > 946_684_800_000  # since the year 2000; seconds read as milliseconds are in 1970
    return 0 <= value < (1000 if fact == "attempts" else 2**31 if fact == "origin_partition" else 2**63)


def _is_plausible_payload(source: FactSource, form: ReadAs, data: bytes, value: bytes) -> bool:
    """Return whether bytes look like a record: base64 of some length, or JSON inside the envelope or its text."""
    if form == "base64":
        return len(value) >= 6 and not data.strip(b'"').isdigit()
    return source.json is not None and value.lstrip()[:1] in (b"{", b"[")


def _is_plausible_text(fact: Fact, source: FactSource, data: bytes, value: str, topics: frozenset[str]) -> bool:
    if source.json is not None and data[:1] != b'"':
        return False
    if fact == "trace":
        return _TRACE.search(value) is not None
    if fact == "exception":
        return _CLASS.fullmatch(value) is not None and _CLASS_ENDING.search(value) is not None
    if fact == "origin_topic":
        return value in topics if topics else _TOPIC.fullmatch(value) is not None
    if fact == "consumer_group":
        return 0 < len(value) <= 255 and not any(character.isspace() for character in value)
    return bool(value.strip())


def _example(source: FactSource, data: bytes) -> str:
    shown = text(data)
    if source.json is not None and data[:1] == b'"':
        shown = orjson.loads(data)
    return " ".join(shown.split())[:200]

"""Mappings: dialects that people describe, from headers and JSON members to the facts of a dead letter.

A mapping is a document, not a program. It is checked when it is made, so that reading a dead letter never fails:
a letter is read, or the mapping says in one sentence for each fact why it is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from engine.dialects.fact_values import (
    BYTES_FORMS,
    INTEGER_FORMS,
    TEXT_FORMS,
    TIME_FORMS,
    BadFactError,
    ReadAs,
    encoded,
    from_header,
    from_json,
)
from engine.dialects.facts import DeadLetterFacts, FactNote, Origin, first, last
from engine.dialects.json_path import BadPathError, JsonDocument, Steps, parse_path
from engine.dialects.stack_traces import parse
from engine.record.record import RawRecord

Fact = Literal[
    "origin_topic",
    "origin_partition",
    "origin_offset",
    "origin_timestamp",
    "consumer_group",
    "exception",
    "message",
    "trace",
    "failed_at",
    "attempts",
    "stage",
    "key",
    "value",
]
FACTS: tuple[Fact, ...] = get_args(Fact)
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,28}")
MAX_SOURCES = 5  # for one fact
MAX_TOPICS = 200
_FORMS: dict[Fact, tuple[ReadAs, ...]] = {
    "origin_partition": INTEGER_FORMS,
    "origin_offset": INTEGER_FORMS,
    "origin_timestamp": TIME_FORMS,
    "failed_at": TIME_FORMS,
    "attempts": INTEGER_FORMS,
    "key": BYTES_FORMS,
    "value": BYTES_FORMS,
}
_ERROR_FACTS: tuple[Fact, ...] = ("exception", "message", "trace")


class FactSource(msgspec.Struct, frozen=True, rename={"read_as": "as"}, omit_defaults=True, forbid_unknown_fields=True):
    """One place of a dead letter: a header, a member of its JSON value, or its own key or value.

    Exactly one of `header`, `json` and `letter` is set. A header that repeats is read at its `pick`. `keep` says that
    the record had the header before it failed, so that a replay sends it.
    """

    header: Annotated[str, Meta(max_length=500)] | None = None
    json: Annotated[str, Meta(max_length=500)] | None = None
    letter: Literal["key", "value"] | None = None
    read_as: ReadAs | None = None  # the first form that the fact allows
    pick: Literal["first", "last"] = "first"
    keep: bool = False

    @property
    def label(self) -> str:
        """Return the source as a person reads it."""
        if self.header is not None:
            return f"header {self.header}"
        return self.json if self.json is not None else f"the letter's own {self.letter}"


class MappedFact(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The sources of one fact, in the order in which they are tried.

    A letter without a required fact is not read.
    """

    sources: Annotated[tuple[FactSource, ...], Meta(min_length=1, max_length=MAX_SOURCES)]
    required: bool = False


class Mapping(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, dict=True):
    """A dialect of one's own. `topics` are names of dead letter topics, or patterns with `*`."""

    name: str
    topics: Annotated[tuple[Annotated[str, Meta(max_length=249)], ...], Meta(max_length=MAX_TOPICS)]
    facts: dict[Fact, MappedFact]

    def covers(self, topic: str) -> bool:
        """Return whether the mapping reads dead letters of this topic."""
        return self._topics.fullmatch(topic) is not None

    def covering_all(self) -> Mapping:
        """Return the same mapping for every topic."""
        return msgspec.structs.replace(self, topics=("*",))

    @cached_property
    def error_headers(self) -> frozenset[str]:
        """The headers that tell of the failure. A replay leaves them off."""
        sources = [source for mapped in self.facts.values() for source in mapped.sources]
        return frozenset(source.header for source in sources if source.header and not source.keep)

    @cached_property
    def _topics(self) -> re.Pattern[str]:
        return re.compile("|".join(".*".join(map(re.escape, topic.split("*"))) for topic in self.topics) or r"(?!)")

    @cached_property
    def readers(self) -> tuple[FactReader, ...]:
        """Return the sources of all facts, with their paths parsed."""
        return tuple(
            FactReader(fact, source, _form(fact, source), parse_path(source.json) if source.json else ())
            for fact in FACTS
            if fact in self.facts
            for source in self.facts[fact].sources
        )


class FactReader(msgspec.Struct, frozen=True):
    """A source whose path is parsed and whose form is known."""

    fact: Fact
    source: FactSource
    read_as: ReadAs
    steps: Steps


class MappingReading(msgspec.Struct, frozen=True):
    """The facts that a mapping found in one letter.

    `found` has each fact that was read, with its source. A missing original key or value is None there.
    `problems` has one sentence for each fact that was not. `facts` is None if a required fact is missing, or if
    the letter tells nothing about the error.
    """

    facts: DeadLetterFacts | None
    found: dict[Fact, tuple[FactSource, str | int | bytes | None]]
    problems: dict[Fact, str]
    missing: str = ""


def allowed_forms(fact: Fact) -> tuple[ReadAs, ...]:
    """Return the forms in which a fact can be read; the first is the default."""
    return _FORMS.get(fact, TEXT_FORMS)


def problems_of(mapping: Mapping, reserved_names: Sequence[str] = ()) -> list[str]:
    """Return one sentence for each mistake in a mapping; none if it can be used."""
    told: list[str] = []
    if not NAME.fullmatch(mapping.name):
        told.append("name: write 1 to 29 small letters, digits, '.', '_' and '-'")
    elif mapping.name in reserved_names:
        told.append(f"name: {mapping.name} is a built-in dialect; choose another name")
    if not any(fact in mapping.facts for fact in _ERROR_FACTS):
        told.append("facts: map at least one of exception, message and trace, so that letters can be grouped")
    for fact, mapped in mapping.facts.items():
        told += [f"facts.{fact}: {problem}" for source in mapped.sources if (problem := _problem_of(fact, source))]
    return told


def read(mapping: Mapping, message: RawRecord, version: int = 0) -> MappingReading:
    """Read one letter. Never raises."""
    document = JsonDocument(message.value or b"")
    found: dict[Fact, tuple[FactSource, str | int | bytes | None]] = {}
    problems: dict[Fact, str] = {}
    for reader in mapping.readers:
        if reader.fact in found:
            continue
        try:
            found[reader.fact] = (reader.source, _read_source(reader, message, document))
            problems.pop(reader.fact, None)
        except BadFactError as error:
            problems.setdefault(reader.fact, f"{reader.source.label} {error}")
    absent = next((fact for fact, mapped in mapping.facts.items() if mapped.required and fact not in found), None)
    if absent is not None:
        return MappingReading(None, found, problems, f"{problems[absent]}; {absent} is required")
    if not any(fact in found for fact in _ERROR_FACTS):
        return MappingReading(None, found, problems, "the letter has neither exception, message nor trace")
    return MappingReading(_facts(mapping, message, version, found, problems), found, problems)


def _problem_of(fact: Fact, source: FactSource) -> str:
    named = [name for name in ("header", "json", "letter") if getattr(source, name) is not None]
    if len(named) != 1:
        return "each source needs exactly one of header, json and letter"
    if source.read_as is not None and source.read_as not in (allowed := allowed_forms(fact)):
        return f"{source.read_as!r} can't be read; write one of {', '.join(allowed)}"
    if source.header == "":
        return "the header has no name"
    if source.keep and source.header is None:
        return "only a header can be kept"
    if source.json is None:
        return "only JSON can be read as json; write bytes" if _form(fact, source) == "json" else ""
    if _form(fact, source) in ("int32", "int64"):
        return f"JSON has no {source.read_as}; write integer"
    try:
        parse_path(source.json)
    except BadPathError as error:
        return str(error)
    return ""


def _form(fact: Fact, source: FactSource) -> ReadAs:
    return source.read_as or allowed_forms(fact)[0]


def _read_source(reader: FactReader, message: RawRecord, document: JsonDocument) -> str | int | bytes | None:
    """Return the value. Raises BadFactError if it is missing, of the wrong form, or null where null is no value."""
    value: str | int | bytes | None
    source, is_payload = reader.source, reader.fact in ("key", "value")
    if source.json is not None:
        member = document.find(reader.steps)
        if member is None:
            raise BadFactError("is missing" if document.is_json else "can't be read: the value is not JSON")
        value = from_json(member, reader.read_as)
    else:
        data = _letter_bytes(source, message)
        value = None if data is None else from_header(data, reader.read_as)
    if value is None and not is_payload:
        raise BadFactError("is null")
    if value == "" and reader.fact not in ("message", "key", "value"):
        raise BadFactError("is empty")
    return encoded(value) if is_payload and isinstance(value, str) else value


def _letter_bytes(source: FactSource, message: RawRecord) -> bytes | None:
    if source.letter is not None:
        return message.key if source.letter == "key" else message.value
    name = source.header or ""
    if all(header != name for header, _ in message.headers):
        raise BadFactError("is missing")
    return (first if source.pick == "first" else last)(message.headers, name)


def _facts(
    mapping: Mapping,
    message: RawRecord,
    version: int,
    found: dict[Fact, tuple[FactSource, str | int | bytes | None]],
    problems: dict[Fact, str],
) -> DeadLetterFacts:
    def text(fact: Fact) -> str:
        value = found[fact][1] if fact in found else ""
        return value if isinstance(value, str) else ""

    def number(fact: Fact) -> int | None:
        value = found[fact][1] if fact in found else None
        return value if isinstance(value, int) else None

    def payload(fact: Fact, own: bytes | None) -> bytes | None:
        value = found[fact][1] if fact in found else own
        return value if isinstance(value, bytes) else None

    trace = text("trace")
    chain = parse(trace)
    root_class, root_message = text("exception"), text("message")
    if len(chain) > 1 or (chain and not root_class):
        root_class, root_message = chain[-1].class_name, chain[-1].message or root_message
    own_value = "value" not in mapping.facts and all(reader.source.json is None for reader in mapping.readers)
    has_value = own_value or "value" in found
    return DeadLetterFacts(
        dialect=mapping.name,
        version=str(version) if version else "",
        stage=text("stage") or "UNKNOWN",
        root_class=root_class or "UnknownException",
        root_message=root_message,
        origin=_origin(text("origin_topic"), number),
        group=text("consumer_group"),
        trace=trace,
        attempt=number("attempts"),
        failed_at=number("failed_at"),
        key=payload("key", message.key),
        value=payload("value", message.value if own_value else None),
        complete=has_value,
        own_value=own_value,
        notes=tuple(FactNote(fact, source.label) for fact, (source, _) in found.items()),
        problems=tuple(problems.values()),
    )


def _origin(topic: str, number: Callable[[Fact], int | None]) -> Origin | None:
    """Return the origin, or None without a topic: partition and offset alone are no coordinates."""
    if not topic:
        return None
    return Origin(topic, number("origin_partition"), number("origin_offset"), number("origin_timestamp"))

"""Documents of dialects, mappings and their try-outs."""

from __future__ import annotations

from typing import Literal

from dlqadmin.deadletters.payloads import HeaderDocument, PayloadDocument
from dlqadmin.rest.documents import Document, Time


class FactSourceDocument(Document, rename={"read_as": "as"}):
    """One place of a dead letter. Exactly one of `header`, `json` and `letter` is not null.

    - `as`: null for the first form that the fact allows.
    - `keep`: the record had the header before it failed, so a replay sends it.
    - `label`: the place as a person reads it.
    """

    header: str | None
    json: str | None
    letter: Literal["key", "value"] | None
    read_as: str | None
    pick: Literal["first", "last"]
    keep: bool
    label: str


class MappedFactDocument(Document):
    """The sources of one fact, in the order in which they are tried."""

    fact: str
    required: bool
    sources: list[FactSourceDocument]


class MappingDocument(Document):
    """A mapping: its name, the topics that it covers, and its facts in their usual order."""

    name: str
    topics: list[str]
    facts: list[MappedFactDocument]


class FactKind(Document):
    """A fact that a mapping can read, with its name on screen and the forms that it allows."""

    fact: str
    label: str
    forms: list[str]


class MappingVersionDocument(Document):
    """One version of a mapping, and who made it."""

    version: int
    is_active: bool
    by: str
    at: Time
    reason: str
    mapping: MappingDocument


class MappingSummary(Document):
    """A mapping with its newest version. Nobody uses it if `is_active` is false."""

    name: str
    version: int
    is_active: bool
    topics: list[str]
    by: str
    at: Time


class RereadDocument(Document):
    """A topic that is read again. `total` counts offsets, so it can exceed the records."""

    cluster: str
    topic: str
    state: Literal["running", "done", "failed"]
    by: str
    started_at: Time
    done_at: Time | None
    read: int
    written: int
    total: int
    trouble: str


class DialectList(Document):
    """The built-in dialects by title, the mappings, the facts that mappings can read, and the last rereads."""

    built_in: list[str]
    mappings: list[MappingSummary]
    facts: list[FactKind]
    rereads: list[RereadDocument]


class MappingVersions(Document):
    """All versions of a mapping, the newest first."""

    name: str
    versions: list[MappingVersionDocument]


class ReadYaml(Document):
    """A mapping in YAML, read. `mapping` is null if the YAML is no mapping; `problems` says why."""

    mapping: MappingDocument | None
    problems: list[str]


class UnreadReason(Document):
    """A reason why letters were not read, their number, and the position of the first of them among those tried."""

    reason: str
    letters: int
    first: int


class FactShare(Document):
    """The number of letters in which a fact was found."""

    fact: str
    found: int


class ProposalDocument(Document):
    """A source that a fact could be read from, the share of letters that have it, and the value in one of them."""

    fact: str
    source: FactSourceDocument
    share: float
    example: str


class FoundFact(Document):
    """The value of a fact in one letter and its source, or the problem that kept it from being read."""

    fact: str
    label: str
    read_from: str | None
    value: str | None
    problem: str | None


class TriedLetter(Document):
    """One letter of a try-out, with its own bytes and the facts that the mapping reads from it.

    `missing` says why the mapping does not read it; it is empty if it does. `before` is the dialect that reads the
    letter without the mapping.
    """

    index: int
    partition: int
    offset: int
    before: str
    missing: str
    facts: list[FoundFact]
    value: PayloadDocument
    headers: list[HeaderDocument]
    original_value: PayloadDocument | None


class TryOut(Document):
    """The newest letters of a topic, read with a mapping that is not saved.

    - `problems` are the mistakes of the mapping. With any, no letter was read.
    - `read_before` counts the letters that are readable without this mapping.
    - `groups` counts the different failures among the letters that were read.
    - `letter` is null if the topic has no letters.
    """

    letters: int
    read: int
    read_before: int
    groups: int
    reasons: list[UnreadReason]
    shares: list[FactShare]
    proposals: list[ProposalDocument]
    problems: list[str]
    letter: TriedLetter | None
    took_ms: int

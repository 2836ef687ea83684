"""The API documents of registries and decoded values."""

from __future__ import annotations

from typing import Literal

from dlqadmin.rest.documents import Document, Time
from engine.schemas.decoding import Outcome
from engine.schemas.registry import Authentication


class RegistryDocument(Document):
    """The registry of a cluster, without its secret.

    `is_fixed`: the environment sets it, so it can't be changed here. `trouble` is the reason why it can't be used; ""
    if there is none. `by` and `at` are null if the environment sets it.
    """

    cluster: str
    name: str
    url: str
    ca_file: str
    auth: Authentication
    user: str
    secret: str
    token_url: str
    scope: str
    is_fixed: bool
    trouble: str
    by: str | None
    at: Time | None


class RegistryList(Document):
    """The registries by cluster.

    `clusters` are the names of all clusters, the own one first. `secrets` are the names of the secrets that a registry
    may refer to.
    """

    results: list[RegistryDocument]
    clusters: list[str]
    secrets: list[str]


class RegistryTestAnswer(Document):
    """The result of a connection test. `verdict` is a sentence."""

    reached: bool
    verdict: str
    subjects: int
    took_ms: int


class DecodedFieldRow(Document):
    """A field of a decoded value. `start` and `end` are its bytes, the end exclusive; null if they are in pieces."""

    path: str
    name: str
    depth: int
    type: str
    text: str
    start: int | None
    end: int | None


class DecoderReport(Document):
    """A decoder that was tried. `unavailable`: a later try may succeed."""

    decoder: str
    outcome: Outcome
    reason: str


class SchemaUse(Document):
    """The schema of a decoded value.

    - `subject` and `version` are null if the registry no longer lists them. `versions` are all of the subject.
    - `compatibility` is "" if the registry does not tell it.
    - `place` says where the message names the schema, and `prefix_bytes` how long its prefix is.
    - `takes_versions`: an edit can be encoded with another version. Only Confluent's prefix can name another schema.
    """

    registry: str
    type: Literal["AVRO", "PROTOBUF", "JSON"]
    id: str
    type_name: str
    subject: str | None
    version: int | None
    versions: list[int]
    compatibility: str
    text: str
    references: list[str]
    place: str
    prefix_bytes: int
    takes_versions: bool


class DecodedDocument(Document):
    """A decoded key or value.

    - `format` is null if no decoder fits; `attempts` says why not, for each.
    - `json` is null for formats that are shown as a table only.
    - `named_schema` is what the bytes name, even if it could not be fetched.
    - `editable`: an edit of `json` can be encoded again.
    """

    part: Literal["key", "value"]
    size: int | None
    format: str | None
    json: str | None
    fields: list[DecodedFieldRow]
    is_cut: bool
    notes: list[str]
    attempts: list[DecoderReport]
    named_schema: str | None
    schema: SchemaUse | None
    editable: bool

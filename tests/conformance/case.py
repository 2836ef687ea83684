"""A configuration with its input: what both sides are given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

TIMESTAMP_MS = 1_600_000_000_123
STORAGE = "org.apache.kafka.connect.storage."
CONVERTERS = "org.apache.kafka.connect.converters."
TRANSFORMS = "org.apache.kafka.connect.transforms."
PREDICATES = f"{TRANSFORMS}predicates."
JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = f"{STORAGE}StringConverter"
BYTES = f"{CONVERTERS}ByteArrayConverter"
AWAY, MARKER = "<the side's transform that may be away>", "<the side's file that says since when>"


@dataclass(frozen=True, slots=True)
class Given:
    """One input record; Kafka's own types."""

    value: bytes | None
    key: bytes | None = b"k"
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = TIMESTAMP_MS


class Kind(StrEnum):
    """The connector of a configuration: ours that records, or Kafka's own of files on both sides."""

    RECORDING = "recording"
    FILE_SINK = "file sink"
    FILE_SOURCE = "file source"


@dataclass(frozen=True, slots=True)
class Case:
    """A configuration; `inputs` by label, in the order of their offsets. `props` come on top of what `BASE` says.

    A source reads the values of its inputs as the lines of a file.
    """

    name: str
    inputs: Mapping[str, Given]
    props: Mapping[str, str] = field(default_factory=dict)
    kind: Kind = Kind.RECORDING

    @property
    def topic(self) -> str:
        return f"in.{self.name}"

    @property
    def properties(self) -> dict[str, str]:
        """What both sides are told."""
        return {**BASE, **({} if "value.converter" in self.props else PLAIN_JSON), **self.props}


BASE = {
    "tasks.max": "1",
    "key.converter": STRING,
    "header.converter": f"{STORAGE}SimpleHeaderConverter",
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.replication.factor": "1",
    "errors.deadletterqueue.context.headers.enable": "true",
    "errors.deadletterqueue.include.messages": "true",
}
PLAIN_JSON = {"value.converter": JSON, "value.converter.schemas.enable": "false"}
ENVELOPES = {"value.converter": JSON, "value.converter.schemas.enable": "true"}


def transform(type_name: str, /, **options: str) -> dict[str, str]:
    """The properties of one transform; `__` in an option stands for a dot."""
    named = {f"transforms.t.{name.replace('__', '.')}": value for name, value in options.items()}
    return {"transforms": "t", "transforms.t.type": TRANSFORMS + type_name, **named}


def chain(*types: str, **options: str) -> dict[str, str]:
    """The properties of transforms `t0`, `t1` …; `__` in an option stands for a dot."""
    names = [f"t{place}" for place in range(len(types))]
    named = {f"transforms.{name.replace('__', '.')}": value for name, value in options.items()}
    return {
        "transforms": ",".join(names),
        **{f"transforms.{name}.type": TRANSFORMS + kind for name, kind in zip(names, types, strict=True)},
        **named,
    }


def values(**bodies: bytes | None) -> dict[str, Given]:
    """Inputs by label that have nothing but a value."""
    return {label: Given(body) for label, body in bodies.items()}


def plain(value: Any) -> bytes:
    """A value as JSON without a schema."""
    return json.dumps(value, separators=(",", ":")).encode()


def envelope(schema: Any, payload: Any) -> bytes:
    """A value as JSON with its schema."""
    return plain({"schema": schema, "payload": payload})


def struct(fields: Mapping[str, Any], payload: Any, **more: Any) -> bytes:
    """A struct as JSON with its schema; a field's type is a name, with `?` where it is optional, or a schema."""
    rows = [{"field": name, **kind_of(kind)} for name, kind in fields.items()]
    return envelope({"type": "struct", "optional": False, "fields": rows, **more}, payload)


def kind_of(kind: Any) -> dict[str, Any]:
    """The schema that `int32` or `string?` stands for."""
    if isinstance(kind, str):
        return {"type": kind.removesuffix("?"), "optional": kind.endswith("?")}
    return dict(kind)

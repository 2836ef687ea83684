"""Encode an edited JSON value again: with the schema that the record names, or with another version of its subject."""

from __future__ import annotations

import msgspec

from engine.record.record import Headers
from engine.schemas import json_text
from engine.schemas.codecs import codec_of, framed
from engine.schemas.framing import Part, SchemaFrame, frame_of
from engine.schemas.problems import InvalidValue, RegistryUnavailable, SchemaNotFound, Undecodable, UnusableSchema
from engine.schemas.registry import SchemaRegistry, SchemaText


class NotEncodable(Exception):
    """The record can't be encoded again, whatever the edit. The message is a sentence without a full stop."""


class EncodablePart(msgspec.Struct, frozen=True):
    """A key or value that names a schema, with its value as JSON text."""

    data: bytes
    frame: SchemaFrame
    schema: SchemaText
    json: str

    def encode(self, text: str, target: SchemaText | None = None) -> bytes:
        """Return the bytes of the edited text. Without an edit they are the original bytes.

        `target` is another version of the schema. Raises InvalidValue with every problem, or NotEncodable.
        """
        wanted = target or self.schema
        before, after = (json_text.canonical(json_text.parse(one)) for one in (self.json, text))
        is_same = wanted.id == self.schema.id
        if is_same and before == after:
            return self.data
        try:
            payload = codec_of(wanted).write(text, (self.data, self.frame))
            made = self.frame.prefix + payload if is_same else framed(self.frame, payload, wanted.id)
            codec_of(wanted).read(made, self.frame)  # bytes that nobody can read must never be stored
        except (UnusableSchema, Undecodable) as error:
            raise NotEncodable(str(error)) from None
        return made


def encodable(data: bytes, headers: Headers, part: Part, registry: SchemaRegistry | None) -> EncodablePart | None:
    """Return a key or value that can be edited as JSON; None if it names no schema. Raises NotEncodable."""
    frame = frame_of(data, headers, part)
    if frame is None:
        return None
    if frame.kind == "glue":
        raise NotEncodable(f"the {part} names {frame.label}; AWS keeps that schema, so only the bytes can be edited")
    if registry is None:
        raise NotEncodable(f"the {part} names schema {frame.label}, and no registry is configured")
    try:
        schema = registry.schema(frame)
        found = codec_of(schema).read(data, frame)
    except (SchemaNotFound, RegistryUnavailable, UnusableSchema, Undecodable) as error:
        raise NotEncodable(str(error)) from None
    return EncodablePart(data, frame, schema, found.json)


def version_of(registry: SchemaRegistry, subject: str, version: int) -> SchemaText:
    """Return a version of a subject to encode with. Raises NotEncodable."""
    try:
        return registry.version(subject, version)
    except (SchemaNotFound, RegistryUnavailable) as error:
        raise NotEncodable(str(error)) from None


def told(error: InvalidValue, limit: int = 3) -> str:
    """Return the first problems of a value in one sentence, without a full stop."""
    shown = "; ".join(f"{one.path or 'the value'}: {one.message}" for one in error.problems[:limit])
    more = len(error.problems) - limit
    return f"{shown}; and {more} more" if more > 0 else shown

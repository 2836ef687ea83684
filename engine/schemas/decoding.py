"""Decode a key or value: by the schema that it names, or as a format that needs none.

Every decoder that was tried says why it did not fit.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.record.record import Headers
from engine.schemas import plain_formats
from engine.schemas.codecs import Codec, codec_of
from engine.schemas.fields import DecodedField, FieldRows
from engine.schemas.framing import Part, SchemaFrame, frame_of, refusal
from engine.schemas.problems import RegistryUnavailable, SchemaNotFound, Undecodable, UnusableSchema
from engine.schemas.registry import LABELS, SchemaRegistry, SchemaText

MAX_BYTES = 4 * 1024 * 1024  # larger values stay bytes
SCHEMA_DECODER = "Schema registry"
Outcome = Literal["decoded", "not_decoded", "unavailable"]


class DecoderAttempt(msgspec.Struct, frozen=True):
    """A decoder that was tried. `unavailable` means that a later try may succeed."""

    decoder: str
    outcome: Outcome
    reason: str


class DecodedPart(msgspec.Struct, frozen=True):
    """A decoded key or value.

    `json` is None for formats that are shown as a table only. `frame` and `schema` are None without a registry.
    """

    format: str
    json: str | None
    type_name: str
    fields: tuple[DecodedField, ...]
    is_cut: bool
    notes: tuple[str, ...] = ()
    frame: SchemaFrame | None = None
    schema: SchemaText | None = None


class Decoding(msgspec.Struct, frozen=True):
    """The result, or None, with every decoder that was tried. `frame` is the schema that the bytes name."""

    result: DecodedPart | None
    attempts: tuple[DecoderAttempt, ...]
    frame: SchemaFrame | None = None

    @property
    def is_pending(self) -> bool:
        """Return whether the bytes name a schema that no registry could be asked for now."""
        return any(one.outcome == "unavailable" for one in self.attempts)


def decode(data: bytes, headers: Headers, part: Part, registry: SchemaRegistry | None) -> Decoding:
    """Decode a key or value. Never raises for what the bytes or the schema hold.

    `registry` is None if none is configured.
    """
    if len(data) > MAX_BYTES:
        reason = f"the {part} is larger than {MAX_BYTES // 1024**2} MB, the limit for decoding"
        return Decoding(None, (DecoderAttempt("All decoders", "not_decoded", reason),))
    frame = frame_of(data, headers, part)
    if frame is not None and frame.kind == "glue":
        return Decoding(None, (_of_glue(frame, part),), frame)
    attempts: list[DecoderAttempt] = []
    if frame is None:
        attempts.append(DecoderAttempt(SCHEMA_DECODER, "not_decoded", refusal(data)))
    else:
        found = _by_schema(data, frame, registry)
        if isinstance(found, DecodedPart):
            done = DecoderAttempt(found.format, "decoded", f"{frame.label} from {frame.place}")
            return Decoding(found, (done,), frame)
        attempts.append(found)
    for name, reader in plain_formats.READERS:
        rows = FieldRows()
        try:
            value = reader(data, rows)
        except Undecodable as error:
            attempts.append(DecoderAttempt(name, "not_decoded", str(error)))
            continue
        attempts.append(DecoderAttempt(name, "decoded", "the bytes have this format"))
        made = DecodedPart(value.format, value.json, "", rows.all(), rows.is_cut, value.notes)
        return Decoding(made, tuple(attempts), frame)
    return Decoding(None, tuple(attempts), frame)


def _of_glue(frame: SchemaFrame, part: Part) -> DecoderAttempt:
    """Return why a value of AWS Glue stays bytes."""
    what = f"the {part} is compressed with zlib" if frame.is_compressed else f"the {part} is not compressed"
    reason = f"the bytes name {frame.label}, and {what}; dlqadmin does not connect to AWS, which keeps the schema"
    return DecoderAttempt(SCHEMA_DECODER, "not_decoded", reason)


def _by_schema(data: bytes, frame: SchemaFrame, registry: SchemaRegistry | None) -> DecodedPart | DecoderAttempt:
    if registry is None:
        return DecoderAttempt(
            SCHEMA_DECODER, "unavailable", f"the bytes name schema {frame.label}, and no registry is configured"
        )
    try:
        schema = registry.schema(frame)
    except SchemaNotFound as error:
        return DecoderAttempt(SCHEMA_DECODER, "not_decoded", str(error))
    except RegistryUnavailable as error:
        return DecoderAttempt(SCHEMA_DECODER, "unavailable", str(error))
    label = LABELS[schema.type]
    rows = FieldRows()
    try:
        codec: Codec = codec_of(schema)
        value = codec.read(data, frame, rows)
    except (Undecodable, UnusableSchema) as error:
        return DecoderAttempt(label, "not_decoded", f"{error} (schema {frame.label})")
    return DecodedPart(label, value.json, value.type_name, rows.all(), rows.is_cut, value.notes, frame, schema)

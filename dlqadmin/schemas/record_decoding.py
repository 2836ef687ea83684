"""Decode the key or value of a record with the registry of its cluster, and describe the schema."""

from __future__ import annotations

from typing import Literal, cast

from dlqadmin.schemas import registries
from dlqadmin.schemas.documents import DecodedDocument, DecodedFieldRow, DecoderReport, SchemaUse
from engine.record.record import Headers
from engine.schemas.codecs import takes_another_schema
from engine.schemas.decoding import DecodedPart, Decoding, decode
from engine.schemas.framing import Part, SchemaFrame
from engine.schemas.problems import RegistryUnavailable, SchemaNotFound
from engine.schemas.registry import SchemaRegistry, SchemaText, SubjectState


def decoded(data: bytes | None, headers: Headers, part: Part, cluster: str, topic: str) -> DecodedDocument:
    """Return a key or value as its decoders see it. A missing value has no format and no attempts.

    The default subject of the record's `topic` is preferred if several have the schema.
    """
    if data is None:
        return _document(part, None, Decoding(None, ()), None)
    registry = registries.registry_of(cluster)
    found = decode(data, headers, part, registry)
    use = None
    if found.result is not None and registry is not None:
        use = schema_use(found.result, registry, cluster, f"{topic}-{part}")
    return _document(part, len(data), found, use)


def schema_use(found: DecodedPart, registry: SchemaRegistry, cluster: str, preferred: str) -> SchemaUse | None:
    """Describe the schema of a decoded value; None if it has none. What the registry does not tell stays empty."""
    if found.schema is None or found.frame is None:
        return None
    given = registries.settings_of(cluster)
    subject, version, state = _registered(found.frame, found.schema, registry, preferred)
    return SchemaUse(
        registry=given.name if given else "",
        type=found.schema.type,
        id=str(found.schema.id),
        type_name=found.type_name,
        subject=subject,
        version=version,
        versions=list(state.versions),
        compatibility=state.compatibility,
        text=found.schema.text,
        references=[name for name, _ in found.schema.references],
        place=found.frame.place,
        prefix_bytes=len(found.frame.prefix),
        takes_versions=takes_another_schema(found.frame),
    )


def _registered(
    frame: SchemaFrame, schema: SchemaText, registry: SchemaRegistry, preferred: str
) -> tuple[str | None, int | None, SubjectState]:
    """Return the subject and version of a schema, and the state of the subject, as far as the registry tells them."""
    subject, version, state = None, None, SubjectState((), "")
    try:
        if frame.kind == "global_id":
            found = registry.artifact_version(int(frame.id))
            subject, version, state = found.artifact, found.version, SubjectState(found.versions, "")
        elif isinstance(schema.id, int):
            uses = registry.subjects(schema.id)
            if chosen := next((one for one in uses if one.subject == preferred), uses[0] if uses else None):
                subject, version = chosen.subject, chosen.version
                state = registry.subject_state(subject)
    except (SchemaNotFound, RegistryUnavailable):
        pass  # the value is decoded; the rest is only about it
    return subject, version, state


def _document(part: str, size: int | None, found: Decoding, use: SchemaUse | None) -> DecodedDocument:
    result = found.result
    return DecodedDocument(
        part=cast("Literal['key', 'value']", part),
        size=size,
        format=result.format if result else None,
        json=result.json if result else None,
        fields=[
            DecodedFieldRow(row.path, row.name, row.depth, row.type, row.text, row.start, row.end)
            for row in (result.fields if result else ())
        ],
        is_cut=result is not None and result.is_cut,
        notes=list(result.notes) if result else [],
        attempts=[DecoderReport(one.decoder, one.outcome, one.reason) for one in found.attempts],
        named_schema=found.frame.label if found.frame else None,
        schema=use,
        editable=use is not None and found.frame is not None and found.frame.kind != "glue",
    )

"""Conversions of mappings and stored rows to documents."""

from __future__ import annotations

import msgspec

from dlqadmin.deadletters.index.active_mappings import document_of
from dlqadmin.deadletters.models import MappingVersion, Reread
from dlqadmin.dialects.documents import (
    FactKind,
    FactSourceDocument,
    MappedFactDocument,
    MappingDocument,
    MappingVersionDocument,
    RereadDocument,
)
from dlqadmin.dialects.mappings import topics_in_reach
from dlqadmin.rest.times import iso, iso_or_none
from engine.dialects.mapping import FACTS, Fact, FactSource, Mapping, allowed_forms

LABELS: dict[Fact, str] = {
    "origin_topic": "Origin topic",
    "origin_partition": "Origin partition",
    "origin_offset": "Origin offset",
    "origin_timestamp": "Origin timestamp",
    "consumer_group": "Consumer group",
    "exception": "Exception",
    "message": "Message",
    "trace": "Stack trace",
    "failed_at": "Failed at",
    "attempts": "Attempts",
    "stage": "Stage",
    "key": "Original key",
    "value": "Original value",
}


def fact_kinds() -> list[FactKind]:
    """Return the facts that a mapping can read, in their order on screen."""
    return [FactKind(fact=fact, label=LABELS[fact], forms=list(allowed_forms(fact))) for fact in FACTS]


def source_document(source: FactSource) -> FactSourceDocument:
    """Return a source for the API."""
    return FactSourceDocument(
        header=source.header,
        json=source.json,
        letter=source.letter,
        read_as=source.read_as,
        pick=source.pick,
        keep=source.keep,
        label=source.label,
    )


def mapping_document(mapping: Mapping) -> MappingDocument:
    """Return a mapping for the API."""
    return MappingDocument(
        name=mapping.name,
        topics=list(mapping.topics),
        facts=[
            MappedFactDocument(
                fact=fact,
                required=mapping.facts[fact].required,
                sources=[source_document(source) for source in mapping.facts[fact].sources],
            )
            for fact in FACTS
            if fact in mapping.facts
        ],
    )


def mapping_in_reach(row: MappingVersion) -> Mapping:
    """Return the mapping of a stored version, with those of its topics that are in reach."""
    mapping = document_of(row)
    return msgspec.structs.replace(mapping, topics=tuple(topics_in_reach(mapping.topics)))


def version_document(row: MappingVersion) -> MappingVersionDocument:
    """Return a stored version for the API."""
    return MappingVersionDocument(
        version=row.version,
        is_active=row.is_active,
        by=row.actor,
        at=iso(row.at),
        reason=row.reason,
        mapping=mapping_document(mapping_in_reach(row)),
    )


def reread_document(row: Reread) -> RereadDocument:
    """Return a reread for the API."""
    return RereadDocument(
        cluster=row.cluster,
        topic=row.topic,
        state=row.state,  # type: ignore[arg-type] # one of RereadState
        by=row.actor,
        started_at=iso(row.created_at),
        done_at=iso_or_none(row.done_at),
        read=row.read,
        written=row.written,
        total=row.total,
        trouble=row.trouble,
    )

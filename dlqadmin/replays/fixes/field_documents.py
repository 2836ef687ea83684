"""The fields of a selection as an API document."""

from __future__ import annotations

from dlqadmin.replays.fixes.documents import (
    FieldDocument,
    NamedField,
    ProgramSuggestion,
    SampleValue,
    SelectionFields,
    path_document,
)
from dlqadmin.replays.fixes.field_paths import FieldPath
from dlqadmin.replays.fixes.field_statistics import shown_value
from dlqadmin.replays.fixes.program_suggestions import suggested_programs
from dlqadmin.replays.fixes.selection_fields import FieldsRead, Reason

MAX_SHOWN_VALUES = 5
ORDER: tuple[Reason, ...] = ("named", "constraint", "other")


def fields_document(read: FieldsRead, records: int, took_ms: int) -> SelectionFields:
    """Return the fields with the named ones first, and suggested programs. Records keep the order of their members."""
    paths = sorted(read.statistics.fields, key=lambda path: ORDER.index(read.reason(path)))
    return SelectionFields(
        records=records,
        read=read.statistics.read,
        unread=read.unread,
        exact=read.is_exact,
        cut=read.statistics.is_cut,
        took_ms=took_ms,
        groups=list(read.groups),
        fields=[_field(path, read) for path in paths],
        named=[
            NamedField(
                name=one.field.name,
                fault=one.field.fault,
                table=one.field.table,
                type=one.field.type,
                paths=[path_document(path) for path in one.paths],
            )
            for one in read.named
        ],
        suggestions=[
            ProgramSuggestion(title=one.title, why=one.why, program=one.program) for one in suggested_programs(read)
        ],
    )


def _field(path: FieldPath, read: FieldsRead) -> FieldDocument:
    field = read.statistics.fields[path]
    return FieldDocument(
        path=path_document(path),
        reason=read.reason(path),
        column=next((one.field.name for one in (*read.named, *read.constrained) if path in one.paths), None),
        nulls=field.nulls,
        missing=read.statistics.missing(path),
        present=field.present - field.nulls + read.statistics.containers[path],
        types=[name for name, _ in field.types.most_common()],
        minimum=None if field.minimum is None else shown_value(field.minimum),
        maximum=None if field.maximum is None else shown_value(field.maximum),
        values=[SampleValue(text=text, count=many) for text, many in field.values.most_common(MAX_SHOWN_VALUES)],
        distinct=len(field.values) if field.is_counted else None,
    )

"""Example dead letters of an incident report."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import BinaryField
from django.db.models.functions import Substr

from dlqadmin.deadletters.models import DeadLetter, DeadLetterBody
from dlqadmin.deadletters.payloads import PayloadReader, release
from dlqadmin.deadletters.records.details import as_bytes
from dlqadmin.deadletters.search.masked_rows import readers
from dlqadmin.reports.documents import ExampleDocument
from dlqadmin.rest.times import iso

MOST = 5
VALUE_BYTES = 1000


def documents(rows: Sequence[DeadLetter], reader: PayloadReader) -> list[ExampleDocument]:
    """Return these dead letters with the first 1 000 bytes of key and value.

    Key and value are withheld from readers without access. A null may be a null in the record, or
    withheld content.
    """
    heads = _context_heads([row.pk for row in rows]) if reader.reads_any else {}
    return [
        ExampleDocument(
            dead_letter=row.pk,
            coordinates=str(row),
            origin=f"{row.origin_topic} / {row.origin_partition} / {row.origin_offset}" if row.origin_topic else "",
            failed_at=iso(row.failed_at),
            message=own.text(row.message),
            key=own.key_text(row.key_text) if own.may_read else None,
            value=_text(release(heads.get(row.pk), own)),
            value_size=row.value_size,
        )
        for row, own in readers(rows, reader)
    ]


def _context_heads(ids: Sequence[int]) -> dict[int, bytes | None]:
    bodies = DeadLetterBody.objects.filter(pk__in=ids).annotate(
        head=Substr("value", 1, VALUE_BYTES, output_field=BinaryField())
    )
    return {pk: as_bytes(head) for pk, head in bodies.values_list("pk", "head")}


def _text(value: bytes | None) -> str | None:
    """Return the bytes as text, or as hexadecimal digits if they are not UTF-8.

    A character that the cut split is left out.
    """
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        if len(value) == VALUE_BYTES and error.start > VALUE_BYTES - 4:
            return value[: error.start].decode()
        return "0x" + value[: VALUE_BYTES // 4].hex()

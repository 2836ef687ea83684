"""A few of the dead letters an incident is about, by their coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import BinaryField
from django.db.models.functions import Substr

from dlqadmin.deadletters.details import as_bytes
from dlqadmin.deadletters.models import DeadLetter, DeadLetterBody
from dlqadmin.rest.times import iso

MOST = 5
VALUE_BYTES = 1000


def documents(rows: Sequence[DeadLetter], *, values: bool) -> list[dict[str, Any]]:
    """These dead letters, with the first 1 000 bytes of key and value if `values`; null is null or not told."""
    heads = _heads([row.pk for row in rows]) if values else {}
    return [
        {
            "dead_letter": row.pk,
            "coordinates": str(row),
            "origin": f"{row.origin_topic} / {row.origin_partition} / {row.origin_offset}" if row.origin_topic else "",
            "failed_at": iso(row.failed_at),
            "message": row.message,
            "key": row.key_text if values else None,
            "value": _text(heads.get(row.pk)),
            "value_size": row.value_size,
        }
        for row in rows
    ]


def _heads(ids: Sequence[int]) -> dict[int, bytes | None]:
    bodies = DeadLetterBody.objects.filter(pk__in=ids).annotate(
        head=Substr("value", 1, VALUE_BYTES, output_field=BinaryField())
    )
    return {pk: as_bytes(head) for pk, head in bodies.values_list("pk", "head")}


def _text(value: bytes | None) -> str | None:
    """The bytes as text; what is none as hexadecimal digits. A character that the cut broke is left out."""
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        if len(value) == VALUE_BYTES and error.start > VALUE_BYTES - 4:
            return value[: error.start].decode()
        return "0x" + value[: VALUE_BYTES // 4].hex()

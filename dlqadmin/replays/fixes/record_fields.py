"""The bytes of one record that its error names."""

from __future__ import annotations

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.masking.json_spans import Node, NotJson, read
from dlqadmin.replays.fixes.documents import RecordField
from dlqadmin.replays.fixes.error_fields import error_fields
from dlqadmin.replays.fixes.field_paths import FieldPath, candidates, loaded_json, nodes
from dlqadmin.replays.items.messages import original

MAX_READ_BYTES = 1_000_000  # screens show only the first 64 kB


def fields_of(row: DeadLetter) -> list[RecordField]:
    """Return the fields that the dead letter's message names. `body` must be loaded."""
    whole = original(row)
    return fields_in(row.message, whole.value if whole else None)


def fields_in(message: str, value: bytes | None) -> list[RecordField]:
    """Return the fields that a message names, with the bytes of their values. Pure.

    A field has no bytes if the value does not have it, is no JSON, or is lost.
    """
    named = error_fields(message)
    if value is None or len(value) > MAX_READ_BYTES:
        value = b""
    try:
        root, paths = read(value), [path for path, _ in nodes(loaded_json(value))]
    except (NotJson, ValueError):
        return [RecordField(name=field.name, fault=field.fault, start=None, end=None) for field in named]
    found = []
    for field in named:
        known = candidates(field.name, paths)
        span = _span(root, known[0]) if known else None
        start, end = span or (None, None)
        found.append(RecordField(name=field.name, fault=field.fault, start=start, end=end))
    return found


def _span(root: Node, path: FieldPath) -> tuple[int, int] | None:
    """Return the bytes [start, end) of a member, with its name, or of an item."""
    node, span = root, None
    for step in path:
        if isinstance(step, str):
            member = node.last().get(step)
            if member is None:
                return None
            node, span = member.value, (member.start, member.value.end)
        else:
            node = node.items[step]
            span = (node.start, node.end)
    return span

"""Conditions of the filters that compare more than one column, or a value derived from the column."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q

from dlqadmin.deadletters.index.column_values import key_hash
from dlqadmin.deadletters.index.fingerprint import normalise
from dlqadmin.deadletters.index.group_links import current_groups
from dlqadmin.deadletters.models import Fingerprint


def has_exception(values: Sequence[str]) -> Q:
    """Return a condition for fingerprints with any of these exceptions, with or without their package."""
    condition = Q(exception_class__in=values)
    for value in values:
        condition |= Q(exception_class__endswith=f".{value}")
    return condition


def in_group(values: Sequence[str]) -> Q:
    """Return a condition for fingerprints in any of these groups. A merged group stands for its successor."""
    return Q(group_id__in=set(current_groups([int(value) for value in values]).values()))


def has_key(values: Sequence[str]) -> Q:
    """Return a condition for dead letters with any of these keys."""
    return Q(key_hash__in=[key_hash(_key_bytes(value)) for value in values])


def has_text(values: Sequence[str]) -> Q:
    """Search parts of normalised group messages and exception names, or whole keys."""
    ids = {pk for value in values for part in (value, normalise(value)[0]) for pk in fingerprints_with([part])}
    return Q(fingerprint_id__in=ids) | has_key(values)


def fingerprints_with(parts: Sequence[str]) -> list[int]:
    """Return the fingerprints whose normalised message or exception contains every part."""
    rows = Fingerprint.objects.all()
    for part in parts:
        rows = rows.filter(Q(message__icontains=part) | Q(exception_class__icontains=part))
    return list(rows.order_by("pk").values_list("pk", flat=True))


def _key_bytes(text: str) -> bytes:
    """Return the bytes of a key in the notation of `key_text`."""
    if text.startswith("0x"):
        try:
            return bytes.fromhex(text[2:])
        except ValueError:
            pass
    return text.encode("utf-8", "replace")

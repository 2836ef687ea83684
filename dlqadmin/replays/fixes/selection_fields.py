"""The fields of a selection's records, with the columns that the errors name, and programs that fill them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from dlqadmin.deadletters.models import DeadLetter, Fingerprint
from dlqadmin.replays.batches import parts
from dlqadmin.replays.fixes import record_batches
from dlqadmin.replays.fixes.error_fields import ErrorField, fields_of_all
from dlqadmin.replays.fixes.field_paths import FieldPath, candidates, loaded_json
from dlqadmin.replays.fixes.field_statistics import SelectionStatistics
from dlqadmin.replays.fixes.record_changes import MAX_VALUE_BYTES
from dlqadmin.replays.items.messages import original

READ_S = 2.0
MAX_READ = 20_000
MAX_ERRORS = 100  # different messages
MAX_FINGERPRINTS = 200
MAX_GROUPS = 20

Reason = Literal["named", "constraint", "other"]


class ResolvedField(msgspec.Struct, frozen=True):
    """A field that an error names, and the paths that it may be read from, the most likely first."""

    field: ErrorField
    paths: tuple[FieldPath, ...]


class FieldsRead(msgspec.Struct, frozen=True):
    """The fields of the records that were read in time.

    - `unread`: records without a JSON value, or without known bytes.
    - `named`: the columns of the records' own errors.
    - `constrained`: other NOT NULL columns of the same tables, from errors of the same connectors.
    - `groups`: of the records that were read. Empty if there are more than MAX_GROUPS.
    - `is_exact`: all records were read.
    """

    statistics: SelectionStatistics
    unread: int
    named: tuple[ResolvedField, ...]
    constrained: tuple[ResolvedField, ...]
    groups: tuple[int, ...]
    is_exact: bool

    def reason(self, path: FieldPath) -> Reason:
        """Return why the field matters."""
        if any(path in one.paths for one in self.named):
            return "named"
        return "constraint" if any(path in one.paths for one in self.constrained) else "other"


def read_fields(found: QuerySet[DeadLetter], budget_s: float = READ_S) -> FieldsRead:
    """Read the values of these records, for at most `budget_s` seconds and MAX_READ records."""
    statistics, unread, last, ends = SelectionStatistics(), 0, 0, time.monotonic() + budget_s
    errors: dict[str, None] = {}
    connectors: set[str] = set()
    fingerprints: set[int] = set()
    while ids := record_batches.after(found, last):
        for row, value in _values(ids):
            connectors.add(row.connector)
            fingerprints.add(row.fingerprint_id)
            if len(errors) < MAX_ERRORS:
                errors[row.message] = None
            try:
                statistics.add(loaded_json(value))
            except ValueError:
                unread += 1
        last = ids[-1]
        if time.monotonic() > ends or statistics.read + unread >= MAX_READ:
            break
    is_exact = not found.filter(pk__gt=last).exists()
    named = fields_of_all(errors)
    others = not_null_columns(connectors, {field.table for field in named if field.table})
    resolved = resolve(named, statistics.fields)
    return FieldsRead(
        statistics=statistics,
        unread=unread,
        named=resolved,
        constrained=resolve([field for field in others if field not in named], statistics.fields),
        groups=_groups(fingerprints),
        is_exact=is_exact,
    )


def resolve(fields: Iterable[ErrorField], paths: Iterable[FieldPath]) -> tuple[ResolvedField, ...]:
    """Return the paths of each field."""
    known = list(paths)
    return tuple(ResolvedField(field, tuple(candidates(field.name, known))) for field in fields)


def not_null_columns(connectors: Iterable[str], tables: Iterable[str]) -> list[ErrorField]:
    """Return the columns of these tables that failed for being null, in any group of these connectors.

    The index knows no other columns: the dashboard does not read the table.
    """
    found: dict[ErrorField, None] = {}
    of = DeadLetter.objects.filter(fingerprint=OuterRef("pk"), connector__in=list(connectors), cluster=settings.CLUSTER)
    for table in sorted(tables):
        messages = (
            Fingerprint.objects.filter(Exists(of), message__icontains=table)
            .order_by("pk")
            .values_list("message", flat=True)[:MAX_FINGERPRINTS]
        )
        for field in fields_of_all(messages):
            if field.fault == "null" and field.table == table:
                found[field] = None
    return list(found)


def _groups(fingerprints: Iterable[int]) -> tuple[int, ...]:
    groups = {group for part in parts(list(fingerprints)) for group in _groups_of(part)}
    return tuple(sorted(groups)) if len(groups) <= MAX_GROUPS else ()


def _groups_of(fingerprints: Sequence[int]) -> QuerySet[Fingerprint, int]:
    return Fingerprint.objects.filter(pk__in=fingerprints).values_list("group_id", flat=True)


def _values(ids: Sequence[int]) -> Iterable[tuple[DeadLetter, bytes | None]]:
    """Yield each record with its value. The value is None if it is null, unknown or too large."""
    rows: Mapping[int, DeadLetter] = DeadLetter.objects.select_related("body").defer("body__context").in_bulk(list(ids))
    for pk in ids:
        if (row := rows.get(pk)) is not None:
            message = None if (row.value_size or 0) > MAX_VALUE_BYTES else original(row)
            yield row, None if message is None else message.value

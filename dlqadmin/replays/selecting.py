"""Freezing which dead letters are meant: a filter or ids, up to a watermark, with count and digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max, QuerySet
from django.http import QueryDict

from dlqadmin.audit.recording import record
from dlqadmin.deadletters.filters import Filters, apply, parse_filters
from dlqadmin.deadletters.models import DeadLetter, Group
from dlqadmin.replays.models import Selection
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import iso

MAX_RECORDS = 50_000


class Frozen(msgspec.Struct, frozen=True):
    """What a selection holds: how many, and SHA-256 over their ids."""

    count: int
    digest: str


def by_filter(query: str, actor: User, key: str | None, now: datetime) -> Selection:
    """Freeze what a list's address shows. Raises ParameterError."""
    filters = parse_filters(QueryDict(query.removeprefix("?")))
    stored = {
        "from": filters.start.isoformat(),
        "to": filters.end.isoformat(),
        "include": {name: list(values) for name, values in filters.include.items()},
        "exclude": {name: list(values) for name, values in filters.exclude.items()},
    }
    return _freeze("filter", stored, title_of(filters), actor, key, now)


def by_ids(ids: Sequence[int], actor: User, key: str | None, now: datetime) -> Selection:
    """Freeze these records. Raises ParameterError when none of them is there, or one is not."""
    wanted = sorted(set(ids))
    found = DeadLetter.objects.filter(pk__in=wanted).order_by("pk")
    if found.count() < len(wanted):
        raise ParameterError("ids", "names a record that is not there")
    first = found.first()
    alone = f"record {first.key_text or first}" if first else ""
    title = alone if len(wanted) == 1 else f"{len(wanted)} ticked records"
    return _freeze("ids", {"ids": wanted}, title, actor, key, now)


def rows(selection: Selection) -> QuerySet[DeadLetter]:
    """The dead letters that the selection names, as they are now."""
    return _matching(selection.filters).filter(pk__lte=selection.watermark)


def drifted(selection: Selection) -> bool:
    """Does the filter name other records than when it was frozen?"""
    return measure(rows(selection)) != Frozen(selection.count, selection.digest)


def measure(found: QuerySet[DeadLetter]) -> Frozen:
    """Count and digest of these dead letters."""
    return digest_of(found.order_by("pk").values_list("pk", flat=True).iterator(chunk_size=5000))


def digest_of(ids: Iterable[int]) -> Frozen:
    """Count and SHA-256 of ids in ascending order, each as eight big-endian bytes."""
    digest, count = hashlib.sha256(), 0
    for one in ids:
        digest.update(one.to_bytes(8, "big"))
        count += 1
    return Frozen(count, digest.hexdigest())


def title_of(filters: Filters) -> str:
    """What a filter chooses, in words; a single group by its title."""
    groups = filters.include.get("group", ())
    named = [f"{name.replace('_', ' ')} {', '.join(values)}" for name, values in filters.include.items()]
    named += [f"not {name.replace('_', ' ')} {', '.join(values)}" for name, values in filters.exclude.items()]
    if len(groups) == 1 and len(named) == 1:
        group = Group.objects.filter(pk=int(groups[0])).first()
        return group.title if group else named[0]
    return "; ".join(named)[:300] or "all records"


def _freeze(
    parameter: str, filters: Mapping[str, Any], title: str, actor: User, key: str | None, now: datetime
) -> Selection:
    with transaction.atomic():
        watermark = DeadLetter.objects.aggregate(last=Max("pk"))["last"] or 0
        found = measure(_matching(filters).filter(pk__lte=watermark))
        if found.count == 0:
            raise ParameterError(parameter, "Nothing matches")
        if found.count > MAX_RECORDS:
            raise ParameterError(
                parameter, f"matches {found.count} records; at most {MAX_RECORDS} are replayed at once"
            )
        selection = Selection.objects.create(
            created_by=actor,
            created_at=now,
            filters=dict(filters),
            title=title[:300],
            watermark=watermark,
            count=found.count,
            digest=found.digest,
            idempotency_key=key,
        )
        detail = {"count": found.count, "digest": found.digest, "watermark": watermark, "at": iso(now)}
        record(actor, "froze", "selection", str(selection), detail)
    return selection


def _matching(filters: Mapping[str, Any]) -> QuerySet[DeadLetter]:
    if "ids" in filters:
        return DeadLetter.objects.filter(pk__in=filters["ids"])
    return apply(
        Filters(
            datetime.fromisoformat(filters["from"]).astimezone(UTC),
            datetime.fromisoformat(filters["to"]).astimezone(UTC),
            {name: tuple(values) for name, values in filters["include"].items()},
            {name: tuple(values) for name, values in filters["exclude"].items()},
        ),
        DeadLetter.objects.all(),
    )

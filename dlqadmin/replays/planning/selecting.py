"""Freezing which dead letters are meant: a filter or ids, up to a watermark, with count and digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import QueryDict

from dlqadmin.audit.recording import record
from dlqadmin.deadletters.candidates import newest
from dlqadmin.deadletters.filters import PROBED, Filters, apply, check_address, parse_filters, settled
from dlqadmin.deadletters.models import DeadLetter, Group
from dlqadmin.deadletters.texts import waits
from dlqadmin.deadletters.watermark import complete_up_to
from dlqadmin.replays.models import Selection
from dlqadmin.rest.idempotency import Once
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import iso

MAX_RECORDS = 1_000_000


class Frozen(msgspec.Struct, frozen=True):
    """What a selection holds: how many, and SHA-256 over their ids."""

    count: int
    digest: str


def by_filter(query: str, actor: User, once: Once, now: datetime) -> Selection:
    """Freeze what a list's address shows. Raises ParameterError."""
    params = QueryDict(query.removeprefix("?"))
    check_address(params)
    filters, watermark = parse_filters(params, probing=True), complete_up_to()
    if filters.worded and waits():  # looked at behind the watermark: below it, a word means the same for ever
        message = "searches text, and that of the latest records is not searchable yet; try again in a moment"
        raise ParameterError("filter", message)
    if filters.probed:
        return _freeze("filter", {"ids": _probed(filters)}, title_of(filters), watermark, actor, once, now)
    meant = settled(filters)
    stored = {
        "from": meant.start.isoformat(),
        "to": meant.end.isoformat(),
        "include": {name: list(values) for name, values in meant.include.items()},
        "exclude": {name: list(values) for name, values in meant.exclude.items()},
    }
    return _freeze("filter", stored, title_of(filters), watermark, actor, once, now)


def _probed(filters: Filters) -> list[int]:
    """What only a look into the bytes finds is kept as ids. Raises ParameterError where not all was looked into."""
    found = newest(filters, (), PROBED + 1)
    if found.last is not None or found.partial:
        message = f"looks into more than the newest {PROBED} records, or for too long; narrow it by time or topic"
        raise ParameterError("filter", message)
    if found.blind:
        message = "meets values of more than 1 MB or text of the latest records, which are not searched; narrow it"
        raise ParameterError("filter", message)
    return sorted(row[1] for row in found.rows)


def by_ids(ids: Sequence[int], actor: User, once: Once, now: datetime) -> Selection:
    """Freeze these records. Raises ParameterError when none of them is there, or one is not."""
    wanted = sorted(set(ids))
    found = _matching({"ids": wanted}).order_by("pk")
    if found.count() < len(wanted):
        raise ParameterError("ids", "names a record that is not there")
    first = found.first()
    alone = f"record {first.key_text or first}" if first else ""
    title = alone if len(wanted) == 1 else f"{len(wanted)} ticked records"
    return _freeze("ids", {"ids": wanted}, title, complete_up_to(), actor, once, now)


def rows(selection: Selection) -> QuerySet[DeadLetter]:
    """The dead letters that the selection names, as they are now."""
    return _matching(selection.filters).filter(pk__lte=selection.watermark)


def drifted(selection: Selection, ids: Iterable[int] | None = None) -> bool:
    """Does the filter name other records than when it was frozen? `ids`: those that it names, if they were read."""
    now = measure(rows(selection)) if ids is None else digest_of(sorted(ids))
    return now != Frozen(selection.count, selection.digest)


def measure(found: QuerySet[DeadLetter], most: int = MAX_RECORDS) -> Frozen:
    """Count and digest of these dead letters; of too many no more than is needed to see that they are."""
    ids = found.order_by("pk").values_list("pk", flat=True)
    return digest_of(ids[: most + 1].iterator(chunk_size=5000))


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
    parameter: str, filters: Mapping[str, Any], title: str, watermark: int, actor: User, once: Once, now: datetime
) -> Selection:
    # Before the transaction: on SQLite it would keep the index from writing meanwhile.
    found = measure(_matching(filters).filter(pk__lte=watermark))
    if found.count == 0:
        raise ParameterError(parameter, "Nothing matches")
    if found.count > MAX_RECORDS:
        raise ParameterError(
            parameter, f"matches more than {MAX_RECORDS:,} records, the most that are replayed at once"
        )
    with transaction.atomic():
        selection = Selection.objects.create(
            created_by=actor,
            created_at=now,
            filters=dict(filters),
            title=title[:300],
            watermark=watermark,
            count=found.count,
            digest=found.digest,
            idempotency_key=once.key,
            request_digest=once.digest,
        )
        detail = {"count": found.count, "digest": found.digest, "watermark": watermark, "at": iso(now)}
        record(actor, "froze", "selection", str(selection), detail)
    return selection


def _matching(filters: Mapping[str, Any]) -> QuerySet[DeadLetter]:
    """Of this installation's cluster only: nothing of another one's is sent here."""
    here = DeadLetter.objects.filter(cluster=settings.CLUSTER)
    if "ids" in filters:
        return here.filter(pk__in=filters["ids"])
    return apply(
        Filters(
            datetime.fromisoformat(filters["from"]).astimezone(UTC),
            datetime.fromisoformat(filters["to"]).astimezone(UTC),
            {name: tuple(values) for name, values in filters["include"].items()},
            {name: tuple(values) for name, values in filters["exclude"].items()},
        ),
        here,
    )

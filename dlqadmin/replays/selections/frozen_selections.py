"""Frozen selections: a filter or ids, up to a watermark, with a count and a digest."""

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

from dlqadmin.audit.entries import record
from dlqadmin.broker import clusters
from dlqadmin.deadletters.groups.safe_titles import safe_title
from dlqadmin.deadletters.index import decoded_values
from dlqadmin.deadletters.index.watermark import complete_up_to
from dlqadmin.deadletters.index.words import has_backlog
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import reader_of
from dlqadmin.deadletters.replay_marks import MARK, WORK
from dlqadmin.deadletters.search.candidates import newest
from dlqadmin.deadletters.search.filter_groups import FilterChoice, described
from dlqadmin.deadletters.search.filter_queries import apply, freeze_groups
from dlqadmin.deadletters.search.filters import PROBED, Filters, check_address, content_names, parse_filters
from dlqadmin.replays.models import Replay, Selection, SelectionSource
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import iso

MAX_RECORDS = 1_000_000
MAX_IDS = 200_000  # in one selection
# Filters by these would match other records once a replay has begun, so their records are frozen as ids. Filters by
# words are frozen as ids too while values wait to be decoded, because decoding changes the words of their records.
CHANGING = frozenset({MARK, WORK})


class Frozen(msgspec.Struct, frozen=True):
    """The number of dead letters in a selection, and the SHA-256 digest of their ids."""

    count: int
    digest: str


def by_filter(query: str, actor: User, once: RequestKey, now: datetime) -> Selection:
    """Freeze the records that a list with this query string shows. Raises ParameterError."""
    params = QueryDict(query.removeprefix("?"))
    check_address(params)
    filters, watermark = parse_filters(params, reader_of(actor), probing=True), complete_up_to()
    # Read before the queue of words: one transaction takes a value from this queue and puts its words in the other.
    decoding = filters.worded and decoded_values.has_undecoded()
    _check_words(filters)
    if filters.probed or decoding or filters.names & CHANGING:
        ids = _probed(filters) if filters.probed else _present(filters, watermark)
        _check_words(filters)
        return _freeze("filter", {"ids": ids}, title_of(filters), watermark, actor, once, now, query)
    meant = freeze_groups(filters)
    stored = {
        "from": meant.start.isoformat(),
        "to": meant.end.isoformat(),
        "include": {name: list(values) for name, values in meant.include.items()},
        "exclude": {name: list(values) for name, values in meant.exclude.items()},
        **({"choices": msgspec.to_builtins(meant.choices)} if meant.choices else {}),
    }
    return _freeze("filter", stored, title_of(filters), watermark, actor, once, now, query)


class PresentLetters(msgspec.Struct, frozen=True):
    """The dead letters that a list shows now, ascending, with its filters and the watermark."""

    filters: Filters
    ids: list[int]
    watermark: int


def present_letters(query: str, actor: User) -> PresentLetters:
    """Return the dead letters that a list with this query string shows now, without freezing them.

    Raises ParameterError, also for more than 200 000.
    """
    params = QueryDict(query.removeprefix("?"))
    check_address(params)
    filters, watermark = parse_filters(params, reader_of(actor), probing=True), complete_up_to()
    _check_words(filters)
    ids = _probed(filters) if filters.probed else _present(filters, watermark)
    _check_words(filters)
    return PresentLetters(filters, ids, watermark)


def _check_words(filters: Filters) -> None:
    """Raise ParameterError if the filter searches text that is not searchable yet.

    Call it after the watermark is read. Below the watermark, a search for a word always has the same result from then
    on, unless values wait to be decoded: decoding changes the words of their records.
    """
    if filters.worded and has_backlog():
        message = "searches text, but some records are not searchable yet; try again in a moment"
        raise ParameterError("filter", message)


def _probed(filters: Filters) -> list[int]:
    """Return the ids found by searching record bytes.

    Raises ParameterError if not all records could be searched.
    """
    found = newest(filters, (), PROBED + 1)
    if found.last is not None or found.partial:
        message = f"reads more than the newest {PROBED} records, or takes too long; narrow it by time or topic"
        raise ParameterError("filter", message)
    if found.blind:
        message = "matches values over 1 MB or text of the newest records, which can't be searched; narrow the filter"
        raise ParameterError("filter", message)
    return sorted(row[1] for row in found.rows)


def _present(filters: Filters, watermark: int) -> list[int]:
    """Return the ids that the filter matches now, in order. Raises ParameterError for more than 200 000."""
    rows = apply(filters, DeadLetter.objects.all()).filter(pk__lte=watermark).order_by("pk")
    found = list(rows.values_list("pk", flat=True)[: MAX_IDS + 1])
    if len(found) > MAX_IDS:
        why = (
            "selects by work or replay state, which change"
            if filters.names & CHANGING
            else "searches text, and some values are not decoded yet"
            if filters.worded
            else "freezes its records one by one"
        )
        message = f"{why}, so it can match at most {MAX_IDS:,} records; narrow it"
        raise ParameterError("filter", message)
    return found


def by_ids(
    ids: Sequence[int], actor: User, once: RequestKey, now: datetime, continues: Replay | None = None
) -> Selection:
    """Freeze these records. Raises ParameterError if there is none, or if one does not exist.

    A selection that continues a replay has the replay's title.
    """
    wanted = sorted(set(ids))
    found = _matching({"ids": wanted}).order_by("pk")
    if found.count() < len(wanted):
        raise ParameterError("ids", "names a record that does not exist")
    first = found.first()
    alone = f"record {first}" if first else ""  # not its key, because everybody sees titles
    title = alone if len(wanted) == 1 else f"{len(wanted)} selected records"
    title = title if continues is None else continues.title
    return _freeze("ids", {"ids": wanted}, title, complete_up_to(), actor, once, now, continues=continues)


def rows(selection: Selection) -> QuerySet[DeadLetter]:
    """Return the dead letters that the selection names now."""
    return _matching(selection.filters).filter(pk__lte=selection.watermark)


def cluster_of(selection: Selection) -> str:
    """Return the Kafka cluster of the selection's dead letters. Raises ParameterError if there are several."""
    names = sorted(set(selection.sources.values_list("cluster", flat=True))) or [str(settings.CLUSTER)]
    if len(names) > 1:
        several = f"has dead letters of {len(names)} clusters ({', '.join(names)}); filter by one `cluster` and replay"
        raise ParameterError("selection", f"{several} the others after it")
    if not clusters.is_known(names[0]):
        raise ParameterError("selection", f"has dead letters of {names[0]}, which is not configured or is disabled")
    return names[0]


def drifted(selection: Selection, ids: Iterable[int] | None = None) -> bool:
    """Return whether the filter names other records than when it was frozen.

    `ids` are the records that it names now, if the caller has read them.
    """
    now = measure(rows(selection)) if ids is None else digest_of(sorted(ids))
    return now != Frozen(selection.count, selection.digest)


def measure(found: QuerySet[DeadLetter], most: int = MAX_RECORDS) -> Frozen:
    """Return the count and digest of these dead letters. Counting stops above `most`."""
    ids = found.order_by("pk").values_list("pk", flat=True)
    return digest_of(ids[: most + 1].iterator(chunk_size=5000))


def digest_of(ids: Iterable[int]) -> Frozen:
    """Return the count and SHA-256 digest of ascending ids, each as eight big-endian bytes."""
    digest, count = hashlib.sha256(), 0
    for one in ids:
        digest.update(one.to_bytes(8, "big"))
        count += 1
    return Frozen(count, digest.hexdigest())


def title_of(filters: Filters) -> str:
    """Describe a filter in words, a single group by its exception and stage.

    Content filters are shown without their values, and a group without the message in its title, because everybody
    sees the titles of selections and replays.
    """
    groups = filters.include.get("group", ())
    named = [_titled(name, values) for name, values in filters.include.items()]
    named += [f"not {_titled(name, values)}" for name, values in filters.exclude.items()]
    named += described(filters.choices, _titled)
    if len(groups) == 1 and len(named) == 1:
        return safe_title(int(groups[0]))
    return "; ".join(named)[:300] or "all records"


def _titled(name: str, values: Sequence[str]) -> str:
    told = "…" if content_names([name]) else ", ".join(values)
    return f"{name.replace('_', ' ')} {told}"


def _freeze(
    parameter: str,
    filters: Mapping[str, Any],
    title: str,
    watermark: int,
    actor: User,
    once: RequestKey,
    now: datetime,
    query: str = "",
    continues: Replay | None = None,
) -> Selection:
    # Before the transaction, because on SQLite it would block the indexer's writes.
    found = measure(_matching(filters).filter(pk__lte=watermark))
    if found.count == 0:
        raise ParameterError(parameter, "matches no dead letter")
    if found.count > MAX_RECORDS:
        raise ParameterError(parameter, f"matches more than {MAX_RECORDS:,} records, the limit for one replay")
    sources = _sources(filters, watermark)
    with transaction.atomic():
        selection = Selection.objects.create(
            created_by=actor,
            created_at=now,
            filters=dict(filters),
            title=title[:300],
            watermark=watermark,
            count=found.count,
            digest=found.digest,
            continues=continues,
            idempotency_key=once.key,
            request_digest=once.digest,
        )
        SelectionSource.objects.bulk_create(SelectionSource(selection=selection, **source) for source in sources)
        detail: dict[str, Any] = {"count": found.count, "digest": found.digest, "watermark": watermark, "at": iso(now)}
        if query:
            detail["filter"] = query.removeprefix("?")
        if continues is not None:
            detail["continues"] = str(continues)
        record(actor, "froze", "selection", str(selection), detail)
    return selection


def _sources(filters: Mapping[str, Any], watermark: int) -> list[Any]:
    """Return the columns `cluster`, `topic` and `connector` of the matching dead letters, each combination once."""
    found = _matching(filters).filter(pk__lte=watermark).order_by()
    return list(found.values("cluster", "topic", "connector").distinct())


def _matching(filters: Mapping[str, Any]) -> QuerySet[DeadLetter]:
    """Return the matching dead letters."""
    if "ids" in filters:
        return DeadLetter.objects.all().filter(pk__in=filters["ids"])
    return apply(
        Filters(
            datetime.fromisoformat(filters["from"]).astimezone(UTC),
            datetime.fromisoformat(filters["to"]).astimezone(UTC),
            {name: tuple(values) for name, values in filters["include"].items()},
            {name: tuple(values) for name, values in filters["exclude"].items()},
            msgspec.convert(filters.get("choices", []), tuple[FilterChoice, ...]),
        ),
        DeadLetter.objects.all(),
    )

"""The records of a selection in the order in which they failed, a slice at a time; and what is known of each slice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from django.contrib.auth.models import User
from django.db.models import Max, Min, Q

from dlqadmin.deadletters.details import as_bytes
from dlqadmin.deadletters.models import DeadLetterBody, Original
from dlqadmin.deadletters.values import unpack_headers
from dlqadmin.replays.disposing import disposals
from dlqadmin.replays.fixing.drafts import drafts_of, message_of
from dlqadmin.replays.models import Disposal, Fix, LedgerEntry, ReplayItem, Selection
from dlqadmin.replays.planning.choosing import Candidate, Known
from dlqadmin.replays.planning.lineage import roots
from dlqadmin.replays.planning.selecting import rows
from dlqadmin.replays.rehearsing import sources
from dlqadmin.replays.rehearsing.sources import Written
from dlqadmin.replays.sending import ledger
from dlqadmin.replays.sending.messages import STRIPPED, Outgoing, kept
from engine.record.record import Headers

SLICE = 5_000
ADDED_BYTES = 160  # the replay's own headers
BYTES_AT_ONCE = 16_000_000  # of values, where they are read


class Letter(NamedTuple):
    """A dead letter without its value: that may be large, and a column tells its size."""

    pk: int
    failed_at: datetime
    topic: str
    partition: int
    offset: int
    connector: str
    original: str
    origin_topic: str
    origin_partition: int | None
    origin_offset: int | None
    key_hash: int | None
    value_size: int | None
    replay_item: str | None
    body__key: bytes | None
    body__headers: bytes
    body__original_headers: bytes | None

    @property
    def headers(self) -> Headers:
        """The record's own headers, as far as they can be told from those of the dead letter."""
        own = self.body__original_headers
        return unpack_headers(bytes(self.body__headers if own is None else own))

    @property
    def lost(self) -> bool:
        """Are the record's bytes nowhere to be had?"""
        return self.original in (Original.EXPIRED, Original.UNKNOWN)


class Reading:
    """One look at a selection. `author` is whose drafts are sent; `target` where to, instead of the origins.

    `cluster` names the other cluster that they go to, if they do.
    """

    def __init__(
        self, selection: Selection, target: str, author: User | None, *, timed: bool, cluster: str = ""
    ) -> None:
        self._selection, self._target, self._timed, self._cluster = selection, target, timed, cluster
        self._author = author if Fix.objects.filter(author=author).exists() else None
        self._disposals = Disposal.objects.exists()

    def slices(self, size: int = SLICE) -> Iterator[Sequence[Letter]]:
        """The dead letters, in the order in which they failed."""
        there = rows(self._selection).order_by("failed_at", "pk").values_list(*Letter._fields)
        found = [Letter._make(row) for row in there[:size]]
        while found:
            yield found
            if len(found) < size:
                return
            at, pk = found[-1].failed_at, found[-1].pk
            later = there.filter(Q(failed_at__gte=at) & (Q(failed_at__gt=at) | Q(pk__gt=pk)))
            found = [Letter._make(row) for row in later[:size]]

    def candidates(self, letters: Sequence[Letter]) -> list[Candidate]:
        """What would be sent of each: the author's draft where there is one, else the record as it was."""
        drafts = drafts_of(self._author, [row.pk for row in letters])
        originals = _originals([row for row in letters if row.pk in drafts])
        lineages, times = roots(letters), self._times(letters)
        written = sources.written(self._author, [row.pk for row in letters if row.lost])
        found = [
            _candidate(
                row,
                self._target or row.origin_topic,
                lineages[row.pk],
                times.get(row.pk),
                drafts.get(row.pk),
                originals.get(row.pk),
            )
            for row in letters
        ]
        return [_of_source(one, written.get(one.dead_letter), self._target) for one in found]

    def known_of(self, found: Sequence[Candidate]) -> Known:
        """What the ledger, earlier replays, those under way and people say of these."""
        disposed = disposals.of([one.dead_letter for one in found]) if self._disposals else {}
        lineages = list({one.lineage for one in found})
        claimants = ledger.to_claim(lineages, self._cluster)  # first: what is claimed meanwhile has an entry then
        if not LedgerEntry.objects.exists():  # of whatever was sent there is one
            return Known(disposed=disposed, claimants=claimants)
        targets = {ledger.name_of(one.target, self._cluster) for one in found}
        entries = LedgerEntry.objects.filter(lineage__in=lineages, target_topic__in=targets)
        owned = entries.select_related("item__replay__started_by")
        sent = ReplayItem.objects.filter(lineage__in=lineages, sent_at__isnull=False).order_by()
        there = sent.filter(replay__target_cluster=self._cluster)
        tried = there.values_list("lineage", "target_topic").annotate(last=Max("attempt"))
        return Known(
            owners={(entry.lineage, entry.item.target_topic): entry.item for entry in owned},
            tries={(lineage, topic): last for lineage, topic, last in tried},
            disposed=disposed,
            claimants=claimants,
        )

    def _times(self, letters: Sequence[Letter]) -> dict[int, datetime | None]:
        """When the records were written, where that is kept."""
        if not self._timed:
            return {}
        there = rows(self._selection).filter(pk__in=[row.pk for row in letters])
        return dict(there.values_list("pk", "origin_timestamp"))


def origins(selection: Selection) -> dict[tuple[str, int | None], int | None]:
    """The partitions that the records came from, and the offset of the first of them there."""
    found = rows(selection).order_by().values_list("origin_topic", "origin_partition")
    return {(topic, partition): first for topic, partition, first in found.annotate(first=Min("origin_offset"))}


def values(wanted: Mapping[int, int]) -> Iterator[tuple[int, bytes | None]]:
    """The values of dead letters, given the sizes of each, a few at a time."""
    part: list[int] = []
    size = 0
    for pk, length in wanted.items():
        part.append(pk)
        size += length
        if size > BYTES_AT_ONCE or len(part) == SLICE:
            yield from _values(part)
            part, size = [], 0
    if part:
        yield from _values(part)


def _values(part: Sequence[int]) -> Iterator[tuple[int, bytes | None]]:
    for pk, value in DeadLetterBody.objects.filter(pk__in=part).values_list("pk", "value"):
        yield pk, as_bytes(value)


def _originals(letters: Sequence[Letter]) -> dict[int, Outgoing]:
    """Digests tell an edit from a draft that changes nothing; so the values of these records are read."""
    by_pk = {row.pk: row for row in letters if not row.lost}
    found = values({pk: row.value_size or 0 for pk, row in by_pk.items()})
    return {pk: Outgoing(as_bytes(by_pk[pk].body__key), value, kept(by_pk[pk].headers)) for pk, value in found}


def _of_source(one: Candidate, written: Written | None, target: str) -> Candidate:
    """A record of a source as the message that the stages which were left made of it."""
    if written is None:
        return one
    message = written.message
    return msgspec.structs.replace(
        one,
        target=target or written.topic,
        origin_topic=written.topic,
        origin_partition=written.partition,
        size=message.size + ADDED_BYTES,
        edited=message,
        digest=message.digest,
        through=written.through,
    )


def _candidate(
    row: Letter, target: str, lineage: str, timestamp: datetime | None, fix: Fix | None, whole: Outgoing | None
) -> Candidate:
    edited = message_of(fix) if fix is not None and whole is not None and fix.digest != whole.digest else None
    headers = row.headers
    size = len(row.body__key or b"") + (row.value_size or 0)
    taken = set()
    for name, value in headers:
        if name.startswith(STRIPPED):
            taken.add(name)
        else:
            size += len(name) + len(value or b"")
    return Candidate(
        dead_letter=row.pk,
        lineage=lineage,
        target=target,
        connector=row.connector,
        original=row.original,
        origin_topic=row.origin_topic,
        origin_partition=row.origin_partition,
        origin_offset=row.origin_offset,
        timestamp=timestamp,
        key_hash=row.key_hash,
        size=None if row.lost else (size if edited is None else edited.size) + ADDED_BYTES,
        value_size=row.value_size,
        stripped=tuple(taken),
        edited=edited,
        digest=fix.digest if fix is not None and edited is not None else "",
        rekeyed=edited is not None and whole is not None and edited.key != whole.key,
    )

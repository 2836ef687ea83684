"""A reader of the records of a selection, in slices and in the order of their failure.

It also reads the known facts about each slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from django.contrib.auth.models import User
from django.db.models import Max, Min, Q

from dlqadmin.deadletters.index.active_mappings import mapped_error_headers
from dlqadmin.deadletters.index.column_values import unpack_headers
from dlqadmin.deadletters.models import LOST, DeadLetterBody
from dlqadmin.deadletters.records.details import as_bytes
from dlqadmin.masking.rules import active_masks, masks_of
from dlqadmin.replays.disposals import disposal_rows
from dlqadmin.replays.fixes.drafts import drafts_of, message_of
from dlqadmin.replays.fixes.masked_edits import holds_mask
from dlqadmin.replays.items import lineage_claims
from dlqadmin.replays.items.messages import MappedHeaders, Outgoing, kept, stripped
from dlqadmin.replays.models import Disposal, Fix, LedgerEntry, ReplayItem, Selection
from dlqadmin.replays.plans.item_choice import Candidate, CandidateFacts
from dlqadmin.replays.plans.lineage import roots
from dlqadmin.replays.plans.null_columns import null_column
from dlqadmin.replays.rehearsals import corrected_source_records
from dlqadmin.replays.rehearsals.corrected_source_records import SourceMessage
from dlqadmin.replays.selections.frozen_selections import rows
from engine.record.record import Headers

SLICE = 5_000
ADDED_BYTES = 160  # the replay's own headers
BYTES_AT_ONCE = 16_000_000  # values that are read in one batch


class SelectedLetter(NamedTuple):
    """A dead letter without its value, which may be large. `value_size` has its size."""

    pk: int
    failed_at: datetime
    cluster: str
    topic: str
    partition: int
    offset: int
    connector: str
    dialect: str
    original: str
    origin_topic: str
    origin_partition: int | None
    origin_offset: int | None
    key_hash: int | None
    value_size: int | None
    replay_item: str | None
    message: str
    body__key: bytes | None
    body__headers: bytes
    body__original_headers: bytes | None
    body__refused: str | None

    @property
    def headers(self) -> Headers:
        """The record's own headers, as far as the dead letter tells them."""
        own = self.body__original_headers
        return unpack_headers(bytes(self.body__headers if own is None else own))

    @property
    def lost(self) -> bool:
        """True if the record's bytes are lost."""
        return self.original in LOST


class Reading:
    """One pass over a selection.

    - `target`: the target topic, "" for each record's origin.
    - `author`: the person whose drafts are sent.
    - `timed`: whether to load the records' timestamps.
    - `cluster`: the name of another target cluster.
    """

    def __init__(
        self, selection: Selection, target: str, author: User | None, *, timed: bool, cluster: str = ""
    ) -> None:
        self._selection, self._target, self._timed, self._cluster = selection, target, timed, cluster
        self._author = author if Fix.objects.filter(author=author).exists() else None
        self._disposals = Disposal.objects.exists()
        self._mapped: dict[str, list[str]] = {}
        self._rules = active_masks()

    @property
    def mapped_headers(self) -> dict[str, list[str]]:
        """The headers that the mappings of the dead letters so far take off, by mapping."""
        return {dialect: names for dialect, names in self._mapped.items() if names}

    def slices(self, size: int = SLICE) -> Iterator[Sequence[SelectedLetter]]:
        """Yield the dead letters in the order of their failure."""
        there = rows(self._selection).order_by("failed_at", "pk").values_list(*SelectedLetter._fields)
        found = [SelectedLetter._make(row) for row in there[:size]]
        while found:
            yield found
            if len(found) < size:
                return
            at, pk = found[-1].failed_at, found[-1].pk
            later = there.filter(Q(failed_at__gte=at) & (Q(failed_at__gt=at) | Q(pk__gt=pk)))
            found = [SelectedLetter._make(row) for row in later[:size]]

    def candidates(self, letters: Sequence[SelectedLetter]) -> list[Candidate]:
        """Return the message to send for each dead letter: the author's draft, or the original."""
        # Read once: a mapping may change while the plan is made.
        for dialect in {row.dialect for row in letters} - self._mapped.keys():
            self._mapped[dialect] = sorted(mapped_error_headers(dialect))
        drafts = drafts_of(self._author, [row.pk for row in letters])
        originals = _originals([row for row in letters if row.pk in drafts], self._mapped)
        lineages, times = roots(letters), self._times(letters)
        written = corrected_source_records.written(self._author, [row.pk for row in letters if row.lost])
        found = [
            _candidate(
                row,
                self._target or row.origin_topic,
                lineages[row.pk],
                times.get(row.pk),
                drafts.get(row.pk),
                originals.get(row.pk),
                self._mapped,
            )
            for row in letters
        ]
        made = [_of_source(one, written.get(one.dead_letter), self._target) for one in found]
        return [self._checked(one, row, originals.get(row.pk)) for one, row in zip(made, letters, strict=True)]

    def _checked(self, one: Candidate, row: SelectedLetter, whole: Outgoing | None) -> Candidate:
        """Mark a candidate whose edited message holds the text of a mask: that would be sent as a value."""
        if one.edited is None or not self._rules:
            return one
        masks = masks_of(self._rules, row.cluster, (row.topic, row.origin_topic))
        if masks is None:
            return one
        return msgspec.structs.replace(one, ruled=True, masked=holds_mask(masks, one.edited, whole))

    def known_of(self, found: Sequence[Candidate]) -> CandidateFacts:
        """Return the claims, replays and disposals that concern these candidates."""
        disposed = disposal_rows.of([one.dead_letter for one in found]) if self._disposals else {}
        lineages = list({one.lineage for one in found})
        # Read before the entries: a claim made in between is found as an entry.
        claimants = lineage_claims.to_claim(lineages, self._cluster)
        if not LedgerEntry.objects.exists():  # every sent record has an entry
            return CandidateFacts(disposed=disposed, claimants=claimants)
        targets = {lineage_claims.name_of(one.target, self._cluster) for one in found}
        entries = LedgerEntry.objects.filter(lineage__in=lineages, target_topic__in=targets)
        owned = entries.select_related("item__replay__started_by")
        sent = ReplayItem.objects.filter(lineage__in=lineages, sent_at__isnull=False).order_by()
        there = sent.filter(replay__target_cluster=self._cluster)
        tried = there.values_list("lineage", "target_topic").annotate(last=Max("attempt"))
        return CandidateFacts(
            owners={(entry.lineage, entry.item.target_topic): entry.item for entry in owned},
            tries={(lineage, topic): last for lineage, topic, last in tried},
            disposed=disposed,
            claimants=claimants,
        )

    def _times(self, letters: Sequence[SelectedLetter]) -> dict[int, datetime | None]:
        """Return the timestamps of the records, if the replay keeps them."""
        if not self._timed:
            return {}
        there = rows(self._selection).filter(pk__in=[row.pk for row in letters])
        return dict(there.values_list("pk", "origin_timestamp"))


class Origins(NamedTuple):
    """The origins of a selection's records.

    `first` is the lowest offset of each partition. `named` are the pairs of a dead letter topic and an origin topic.
    """

    first: Mapping[tuple[str, int | None], int | None]
    named: frozenset[tuple[str, str]]


def origins(selection: Selection) -> Origins:
    """Return the origins of the selection's records, with one query."""
    found = rows(selection).order_by().values_list("topic", "origin_topic", "origin_partition")
    first: dict[tuple[str, int | None], int | None] = {}
    named = set()
    for topic, origin, partition, offset in found.annotate(first=Min("origin_offset")):
        named.add((topic, origin))
        known = first.setdefault((origin, partition), offset)
        if offset is not None and (known is None or offset < known):
            first[origin, partition] = offset
    return Origins(first, frozenset(named))


def values(wanted: Mapping[int, int]) -> Iterator[tuple[int, bytes | None]]:
    """Yield the values of dead letters in batches. `wanted` maps ids to sizes."""
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


def _originals(letters: Sequence[SelectedLetter], mapped: MappedHeaders) -> dict[int, Outgoing]:
    """Return the original messages of these records.

    Their digests are compared with the drafts' digests, because a draft may change nothing.
    """
    by_pk = {row.pk: row for row in letters if not row.lost}
    found = values({pk: row.value_size or 0 for pk, row in by_pk.items()})
    return {pk: _original(by_pk[pk], value, mapped) for pk, value in found}


def _original(row: SelectedLetter, value: bytes | None, mapped: MappedHeaders) -> Outgoing:
    return Outgoing(as_bytes(row.body__key), value, kept(row.headers, row.dialect, mapped))


def _authors(fix: Fix) -> frozenset[int]:
    """Return the authors of the draft: its own, and the author of the bulk fix that made it."""
    bulk = fix.bulk.author_id if fix.bulk is not None else None
    return frozenset({fix.author_id} if bulk is None else {fix.author_id, bulk})


def _of_source(one: Candidate, written: SourceMessage | None, target: str) -> Candidate:
    """Return the candidate with the message that the remaining stages made of a source's record."""
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
        authors=frozenset({written.author}),
    )


def _candidate(
    row: SelectedLetter,
    target: str,
    lineage: str,
    timestamp: datetime | None,
    fix: Fix | None,
    whole: Outgoing | None,
    mapped: MappedHeaders,
) -> Candidate:
    edited = message_of(fix) if fix is not None and whole is not None and fix.digest != whole.digest else None
    headers = row.headers
    size = len(row.body__key or b"") + (row.value_size or 0)
    taken = stripped(headers, row.dialect, mapped)
    size += sum(len(name) + len(value or b"") for name, value in headers if name not in taken)
    return Candidate(
        dead_letter=row.pk,
        lineage=lineage,
        target=target,
        connector=row.connector,
        original=row.original,
        refused=row.body__refused or "",
        authors=_authors(fix) if fix is not None and edited is not None else frozenset(),
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
        null_column=null_column(row.message),
        failed_at=row.failed_at,
    )

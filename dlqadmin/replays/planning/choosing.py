"""Which records of a selection are sent, and why each of the others is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from django.contrib.auth.models import User

from dlqadmin.deadletters.details import as_bytes
from dlqadmin.deadletters.models import DeadLetter, Original
from dlqadmin.replays.models import Fix, ReplayItem, Selection
from dlqadmin.replays.parts import parts
from dlqadmin.replays.planning.fixing import drafts_of, message_of
from dlqadmin.replays.planning.lineage import roots
from dlqadmin.replays.planning.selecting import MAX_RECORDS, rows
from dlqadmin.replays.planning.targets import Target, Targets
from dlqadmin.replays.sending import ledger
from dlqadmin.replays.sending.messages import Outgoing, headers_of, kept, original, stripped
from engine.record.record import Headers

ADDED_BYTES = 160  # the replay's own headers
FRAME_BYTES = 100  # a batch's and a record's frame around key, value and headers


class Candidate(msgspec.Struct, frozen=True):
    """One dead letter of a selection. `size` in bytes as sent; None when the bytes are nowhere to be had.

    `edited` is the message in place of the original; `rekeyed` when its key is another one.
    """

    dead_letter: int
    name: str
    lineage: str
    target: str
    connector: str
    original: str
    origin_topic: str
    origin_partition: int | None
    size: int | None
    tombstone: bool
    stripped: tuple[str, ...]
    edited: Outgoing | None = None
    rekeyed: bool = False


class Sorted(msgspec.Struct, frozen=True):
    """A candidate, the partition it goes to (None: by its key), and why it is skipped, if it is."""

    candidate: Candidate
    partition: int | None = None
    reason: str = ""
    evidence: str = ""


def candidates(selection: Selection, target: str, author: User | None) -> list[Candidate]:
    """The records of a selection in the order in which they failed; with the author's drafts, if there is one."""
    ids = rows(selection).order_by("failed_at", "pk").values_list("pk", flat=True)[: MAX_RECORDS + 1]
    found: list[Candidate] = []
    for part in parts(list(ids)):
        # Values may be large: columns tell their sizes, and only that of an edited record is looked at.
        letters = DeadLetter.objects.select_related("body").defer("body__value", "body__context").in_bulk(part)
        lineages, drafts = roots(list(letters.values())), drafts_of(author, part)
        there = [letters[pk] for pk in part if pk in letters]
        found += [_candidate(row, target or row.origin_topic, lineages[row.pk], drafts.get(row.pk)) for row in there]
    return found


def sort(
    found: Sequence[Candidate], targets: Targets, owners: Mapping[ledger.Pair, ReplayItem], *, resend: bool
) -> list[Sorted]:
    """Each candidate, to be sent or skipped. Pure: decided from what was seen."""
    hindrances = [_hindrance(one, targets) for one in found]
    free = [one for one, (reason, _) in zip(found, hindrances, strict=True) if not reason]
    chosen = _one_of_each(free)
    answer = []
    for one, hindrance in zip(found, hindrances, strict=True):
        pair = (one.lineage, one.target)
        reason, evidence = hindrance if hindrance[0] else _taken(one, chosen[pair], owners.get(pair), resend=resend)
        answer.append(Sorted(one, None if reason else _partition(one, targets.by_name[one.target]), reason, evidence))
    return answer


def said_of(owner: ReplayItem) -> str:
    """By which replay, whose and when, a record was sent, or is about to be."""
    who = owner.replay.started_by.get_username() if owner.replay.started_by else "somebody"
    if owner.sent_at is None:
        return f"in {owner.replay} ({who}), which is {owner.replay.status}"
    began = owner.replay.started_at or owner.sent_at  # one time for all records of a replay
    return f"sent by {owner.replay} ({who}, {began:%d %b %H:%M} UTC)"


def _one_of_each(found: Iterable[Candidate]) -> dict[ledger.Pair, Candidate]:
    """Of several dead letters of one record the newest; but one that somebody edited before any that nobody did."""
    chosen: dict[ledger.Pair, Candidate] = {}
    for one in found:
        other = chosen.get((one.lineage, one.target))
        if other is None or other.edited is None or one.edited is not None:
            chosen[one.lineage, one.target] = one
    return chosen


def _candidate(row: DeadLetter, target: str, lineage: str, fix: Fix | None) -> Candidate:
    whole = original(row) if fix is not None else None
    edited = message_of(fix) if fix is not None and whole is not None and fix.digest != whole.digest else None
    headers = headers_of(row)
    return Candidate(
        dead_letter=row.pk,
        name=str(row),
        lineage=lineage,
        target=target,
        connector=row.connector,
        original=row.original,
        origin_topic=row.origin_topic,
        origin_partition=row.origin_partition,
        size=_size(row, edited, headers),
        tombstone=row.value_size is None if edited is None else edited.value is None,
        stripped=tuple(stripped(headers)),
        edited=edited,
        rekeyed=edited is not None and whole is not None and edited.key != whole.key,
    )


def _size(row: DeadLetter, edited: Outgoing | None, headers: Headers) -> int | None:
    if row.original in (Original.EXPIRED, Original.UNKNOWN):
        return None
    if edited is not None:
        return edited.size + ADDED_BYTES
    return (row.value_size or 0) + Outgoing(as_bytes(row.body.key), None, kept(headers)).size + ADDED_BYTES


def _hindrance(one: Candidate, targets: Targets) -> tuple[str, str]:
    """Why the record can't be sent: a reason, and a sentence."""
    if one.size is None:
        if one.original == Original.EXPIRED:
            return "expired", "the original bytes are gone from the origin topic"
        return "unknown_bytes", "the original bytes are not known"
    if not one.target:
        return "no_target", "the dead letter does not say from which topic it came"
    target = targets.by_name[one.target]
    if target.forbidden:
        return "forbidden_target", f"{one.target} {target.forbidden}: replays don't write there"
    if targets.kafka:
        return "", ""
    if target.partitions is None:
        return "no_target", f"there is no topic {one.target}"
    if target.limit_bytes is not None and one.size + FRAME_BYTES > target.limit_bytes:
        return "oversize", f"{one.size} B; {one.target} takes {target.limit_bytes} B"
    return "", ""


def _taken(one: Candidate, chosen: Candidate, owner: ReplayItem | None, *, resend: bool) -> tuple[str, str]:
    """Whether the record was sent before, or goes out as another dead letter of its lineage."""
    if owner is not None and not ledger.is_free(owner, resend=resend):
        return "already_sent", said_of(owner)
    if chosen is not one:
        how = "as edited" if chosen.edited is not None else "dead-lettered later"
        return "same_lineage", f"{chosen.name} is the same record, {how}"
    return "", ""


def _partition(one: Candidate, target: Target) -> int | None:
    """Where it came from, if it goes back there and its key is the same; else its key decides."""
    number = one.origin_partition
    if number is None or one.rekeyed or one.origin_topic != one.target:
        return None
    return number if target.partitions is None or number < target.partitions else None

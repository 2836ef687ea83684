"""Which item may send a lineage to a topic: one at a time, and once, unless it is known to have failed again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dlqadmin.replays.models import ItemState, LedgerEntry, ReplayItem
from dlqadmin.replays.parts import PARAMETERS, parts

Pair = tuple[str, str]  # lineage, target topic
# Items that hold no claim any more: a later one may take their place without being asked for.
FREE = (ItemState.FAILED_AGAIN, ItemState.SKIPPED, ItemState.PLANNED)
# Items whose record went out: only a person who says "send again" may take their place.
SENT_FOR_GOOD = (ItemState.PASSED, ItemState.UNKNOWN)


def owners(pairs: Iterable[Pair]) -> dict[Pair, ReplayItem]:
    """The items that hold these pairs; pairs that nobody ever sent are left out."""
    wanted = sorted(set(pairs))
    found: dict[Pair, ReplayItem] = {}
    for part in parts(wanted):
        entries = LedgerEntry.objects.filter(
            lineage__in={lineage for lineage, _ in part}, target_topic__in={topic for _, topic in part}
        ).select_related("item__replay__started_by", "item__dead_letter")
        found |= {(entry.lineage, entry.target_topic): entry.item for entry in entries}
    return {pair: found[pair] for pair in wanted if pair in found}


def is_free(owner: ReplayItem, *, resend: bool) -> bool:
    """May another item take this one's place?"""
    return owner.state in FREE or (resend and owner.state in SENT_FOR_GOOD)


def claim(items: Iterable[ReplayItem], *, resend: bool) -> list[ReplayItem]:
    """Claim each item's pair, inside the caller's transaction; the items that could not be claimed."""
    given = list(items)
    wanted = {(item.lineage, item.target_topic): item for item in given}
    before = owners(wanted)
    LedgerEntry.objects.bulk_create(
        [
            LedgerEntry(lineage=pair[0], target_topic=pair[1], item=wanted[pair])
            for pair in sorted(wanted)  # alike for all, so that two who claim wait for each other and don't lock
            if pair not in before
        ],
        ignore_conflicts=True,
        batch_size=PARAMETERS,
    )
    for pair, owner in before.items():
        if is_free(owner, resend=resend):
            # Guarded by its own columns only: a joined one would not be looked at again after waiting for the row.
            LedgerEntry.objects.filter(lineage=pair[0], target_topic=pair[1], item=owner).update(item=wanted[pair])
    after = owners(wanted)
    held = {owner.pk for owner in after.values()}
    return [item for item in given if item.pk not in held]


def release(items: Iterable[ReplayItem]) -> int:
    """Give up the pairs of items that were never sent, to those that sent them before if there are any; how many."""
    pks = [item.pk for item in items]
    return sum(_release(part) for part in parts(pks))


def _release(pks: Sequence[int]) -> int:
    entries = list(LedgerEntry.objects.filter(item_id__in=pks))
    lineages = [entry.lineage for entry in entries]
    earlier = ReplayItem.objects.filter(lineage__in=lineages, sent_at__isnull=False).exclude(pk__in=pks)
    sent = {(item.lineage, item.target_topic): item for item in earlier.order_by("sent_at")}
    given_back = [entry for entry in entries if (entry.lineage, entry.target_topic) in sent]
    for entry in given_back:
        LedgerEntry.objects.filter(pk=entry.pk).update(item=sent[entry.lineage, entry.target_topic])
    LedgerEntry.objects.filter(item_id__in=pks).delete()
    return len(entries)

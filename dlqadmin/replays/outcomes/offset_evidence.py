"""The decision on a record's outcome in a foreign consumer group, from offsets alone.

Such a group sends no reports. Pure functions: no clock, no database, no Kafka.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from dlqadmin.replays.models import ItemState
from dlqadmin.replays.outcomes.evidence import Decision, Group, ItemFacts, Observed
from dlqadmin.replays.reasons import Reason

COMMIT_MAY_TAKE = timedelta(seconds=60)  # a reader that has just started has committed nothing yet
# From sending to the first look: an owner seen by then owned the partition before
LOOK_MAY_TAKE = timedelta(seconds=30)
Late = Callable[[ItemFacts, Group, datetime], bool]


def observed(facts: ItemFacts, offset: int, group: Group, seen: Observed, now: datetime, is_late: Late) -> Decision:
    """Return the outcome in such a group.

    `is_late` tells whether the index made no progress while the item waited.
    """
    if seen.undescribed:
        return _unknown(Reason.GROUP_UNKNOWN, f"Kafka does not describe {group.name}: {seen.undescribed}")
    if seen.kind == "share":
        return _unknown(
            Reason.SHARE_GROUP, f"{group.name} is a share group: no committed offset says which records it has done"
        )
    if not seen.there:
        return _unknown(Reason.NO_GROUP, f"there is no consumer group {group.name}")
    if group.committed is None or group.committed <= offset:
        return _not_past(facts, offset, group, seen, now)
    return _past(facts, offset, group, seen) or _after(facts, group, seen, now, is_late)


def _not_past(facts: ItemFacts, offset: int, group: Group, seen: Observed, now: datetime) -> Decision:
    if facts.begin > offset:
        return _unknown(Reason.EXPIRED_OR_COMPACTED, f"the topic begins at {facts.begin}: gone before it was read")
    if not seen.owned:
        return _unknown(Reason.GROUP_EMPTY, f"no member of {group.name} has the partition: nothing reads it")
    if group.committed is None and now - facts.sent_at > COMMIT_MAY_TAKE:
        if not seen.commits:
            return _unknown(
                Reason.EXTERNAL_OFFSETS, f"{group.name} reads, but keeps its offsets elsewhere: it commits none"
            )
        return _unknown(Reason.NO_COMMITTED_OFFSET, f"{group.name} has committed no offset for the partition")
    return Decision(ItemState.SENT, Reason.WAITING, f"lag {group.lag}")


def _past(facts: ItemFacts, offset: int, group: Group, seen: Observed) -> Decision | None:
    """Return why a commit past the record proves nothing, or why failures can't be observed.

    None if the commit counts.
    """
    # An earlier look has established the commit; its evidence may be gone by now.
    if not facts.established:
        if seen.kind == "simple":
            return _unknown(
                Reason.EXTERNAL_OFFSETS, f"{group.name} is past it, but has no members: who commits there is not known"
            )
        if not _by_owner(facts, offset, seen):
            return _unknown(
                Reason.OFFSET_MOVED_BY_HAND,
                f"{group.name} is past it, and no member was seen that could have read it: its offset was moved",
            )
        if facts.begin > offset or not facts.readable:
            return _unknown(
                Reason.EXPIRED_OR_COMPACTED, f"{group.name} is past it, and the topic no longer has it: not read"
            )
    if group.unseen or not group.dead_letters:
        why = group.unseen or f"no indexed topic has dead letters of {group.name}"
        return _unknown(Reason.NO_DEAD_LETTER_PATH, f"{group.name} is past it, but {why}")
    if seen.unwatched:
        return _unknown(Reason.RETRY_TOPICS_UNWATCHED, f"{group.name} is past it, but {seen.unwatched}")
    return None


def _by_owner(facts: ItemFacts, offset: int, seen: Observed) -> bool:
    """Return whether a member of the group committed past the record.

    Every look since sending saw an owner, or saw one that took over before the commit.
    """
    if seen.owned_since is None:
        return False
    before = seen.committed_then is None or seen.committed_then <= offset
    return before or seen.owned_since <= facts.sent_at + LOOK_MAY_TAKE


def _after(facts: ItemFacts, group: Group, seen: Observed, now: datetime, is_late: Late) -> Decision:
    """Decide for a record that its owner committed past.

    A dead letter arrives within the settle time, or later.
    """
    seconds = f"{seen.settle.total_seconds():g} s"
    settling = facts.settling_since is not None
    over = facts.settling_since is not None and now - facts.settling_since >= seen.settle
    waits = Reason.SETTLING if settling else Reason.INDEXING
    if seen.retrying and (over or not settling):
        return Decision(ItemState.SENT, waits if settling else Reason.IN_RETRY, f"{seen.retrying} still holds records")
    if group.behind and (over or not settling):
        if is_late(facts, group, now):
            return _unknown(
                Reason.INDEX_STOPPED,
                f"{group.name} is past it, but the index has not read {group.dead_letters} for 60 s",
            )
        return Decision(ItemState.SENT, waits, f"the index must reach the end of {group.dead_letters}")
    if facts.possible:
        return _unknown(
            Reason.POSSIBLE_MATCH,
            f"{group.name} is past it, but {facts.possible.name} has its key and names no origin",
        )
    if not over:
        return Decision(ItemState.SENT, Reason.SETTLING, f"committed past by {group.name}; settles for {seconds}")
    evidence = f"observed: committed past by {group.name}, no re-failure in {seconds}"
    if facts.downstream is None:
        return Decision(ItemState.PASSED, Reason.OBSERVED, evidence)
    return Decision(
        ItemState.PASSED,
        Reason.OBSERVED,
        f"{evidence}; failed downstream: {facts.downstream.name}",
        facts.downstream.id,
    )


def _unknown(reason: Reason, evidence: str) -> Decision:
    return Decision(ItemState.UNKNOWN, reason, evidence)

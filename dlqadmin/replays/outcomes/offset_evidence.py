"""The decision on a record's outcome in a foreign consumer group, from offsets alone.

Such a group sends no reports. Pure functions: no clock, no database, no Kafka.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from dlqadmin.replays.models import ItemState
from dlqadmin.replays.outcomes.evidence import CommitHistory, Decision, ItemFacts, Observed, ReaderState
from dlqadmin.replays.reasons import Reason
from dlqadmin.rest.times import iso

COMMIT_MAY_TAKE = timedelta(seconds=60)  # a reader that has just started has committed nothing yet
# From sending to the first look: an owner seen by then owned the partition before. Longer times without a look are
# named as the reason why an outcome is unknown.
LOOK_MAY_TAKE = timedelta(seconds=30)
Late = Callable[[ItemFacts, ReaderState, datetime], bool]


def observed(
    facts: ItemFacts, offset: int, group: ReaderState, seen: Observed, now: datetime, is_late: Late
) -> Decision:
    """Return the outcome in such a group.

    `is_late` tells whether the index made no progress while the item waited.
    """
    if seen.undescribed:
        return _unknown(Reason.GROUP_UNKNOWN, f"Kafka can't describe {group.name}: {seen.undescribed}")
    if seen.kind == "share":
        return _unknown(
            Reason.SHARE_GROUP,
            f"{group.name} is a share group: its committed offsets do not say which records it has processed",
        )
    if not seen.there:
        return _unknown(Reason.NO_GROUP, f"consumer group {group.name} does not exist")
    if group.committed is None or group.committed <= offset:
        return _not_past(facts, offset, group, seen, now)
    return _past(facts, offset, group, seen) or _after(facts, group, seen, now, is_late)


def _not_past(facts: ItemFacts, offset: int, group: ReaderState, seen: Observed, now: datetime) -> Decision:
    if facts.begin > offset:
        return _unknown(
            Reason.EXPIRED_OR_COMPACTED,
            f"the topic now begins at offset {facts.begin}: the record was deleted before {group.name} read it",
        )
    if not seen.owned:
        return _unknown(Reason.GROUP_EMPTY, f"no member of {group.name} is assigned the partition, so nobody reads it")
    if group.committed is None and now - facts.sent_at > COMMIT_MAY_TAKE:
        if not seen.commits:
            return _unknown(Reason.EXTERNAL_OFFSETS, f"{group.name} is running, but does not commit offsets to Kafka")
        return _unknown(Reason.NO_COMMITTED_OFFSET, f"{group.name} has not committed an offset for the partition")
    return Decision(ItemState.SENT, Reason.WAITING, f"lag {group.lag}")


def _past(facts: ItemFacts, offset: int, group: ReaderState, seen: Observed) -> Decision | None:
    """Return why a commit past the record proves nothing, or why failures can't be observed.

    None if the commit counts.
    """
    # An earlier look has established the commit; its evidence may be gone by now.
    if not facts.established:
        if seen.kind == "simple":
            return _unknown(
                Reason.EXTERNAL_OFFSETS,
                f"{group.name} committed past the record, but has no members, so it is unclear who committed",
            )
        if not _by_member(facts, offset, seen.history):
            return _unproven(facts, group, seen.history)
        if facts.begin > offset or not facts.readable:
            return _unknown(
                Reason.EXPIRED_OR_COMPACTED,
                f"{group.name} committed past the record, but the topic no longer contained it, so it was not read",
            )
    if group.unseen or not group.dead_letters:
        why = group.unseen or f"no indexed topic contains dead letters of {group.name}"
        return _unknown(Reason.NO_DEAD_LETTER_PATH, f"{group.name} committed past the record, but {why}")
    if seen.unwatched:
        return _unknown(Reason.RETRY_TOPICS_UNWATCHED, f"{group.name} committed past the record, but {seen.unwatched}")
    return None


def _by_member(facts: ItemFacts, offset: int, history: CommitHistory | None) -> bool:
    """Return whether a member of the group committed past the record.

    Either the looks since the record was sent leave no other explanation, or the first of them shows it.
    """
    if history is None:
        return False
    before = history.committed_then is None or history.committed_then <= offset
    return before or (history.trusted_from is not None and history.trusted_from <= facts.sent_at)


def _unproven(facts: ItemFacts, group: ReaderState, history: CommitHistory | None) -> Decision:
    """Return why it is unknown who committed past the record: nobody looked, or the offset was moved."""
    if history is None:
        return _unknown(Reason.NOT_OBSERVED, f"{group.name} committed past the record, but it was never looked at")
    looked_at = max(facts.sent_at, history.previous_look or facts.sent_at)
    if history.since - looked_at <= LOOK_MAY_TAKE:
        return _unknown(
            Reason.OFFSET_MOVED_BY_HAND,
            f"{group.name} committed past the record, but no member was seen that could have read it: "
            "its offset was moved, or a member came or left between two looks",
        )
    # Without the time of sending: records with equal sentences are stored in one statement.
    began = "its sending" if looked_at == facts.sent_at else iso(looked_at)
    return _unknown(
        Reason.NOT_OBSERVED,
        f"{group.name} committed past the record between {began} and {iso(history.since)}, "
        "while the dashboard could not look at the group",
    )


def _after(facts: ItemFacts, group: ReaderState, seen: Observed, now: datetime, is_late: Late) -> Decision:
    """Decide for a record that its owner committed past.

    A dead letter arrives within the settle time, or later.
    """
    seconds = f"{seen.settle.total_seconds():g} s"
    settling = facts.settling_since is not None
    over = facts.settling_since is not None and now - facts.settling_since >= seen.settle
    waits = Reason.SETTLING if settling else Reason.INDEXING
    if seen.retrying and (over or not settling):
        return Decision(
            ItemState.SENT, waits if settling else Reason.IN_RETRY, f"{seen.retrying} still contains records"
        )
    if group.behind and (over or not settling):
        if is_late(facts, group, now):
            return _unknown(
                Reason.INDEX_STOPPED,
                f"{group.name} committed past the record, but the index has not read {group.dead_letters} for 60 s",
            )
        return Decision(ItemState.SENT, waits, f"waiting until the index reaches the end of {group.dead_letters}")
    if facts.possible:
        return _unknown(
            Reason.POSSIBLE_MATCH,
            f"{group.name} committed past the record, but {facts.possible.name} has the same key and names no origin",
        )
    if not over:
        return Decision(
            ItemState.SENT,
            Reason.SETTLING,
            f"{group.name} committed past the record; waiting {seconds} for a dead letter",
        )
    evidence = f"observed: {group.name} committed past the record, and no dead letter arrived within {seconds}"
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

"""The decision on a replayed record's outcome, from its facts.

Pure functions: no clock, no database, no Kafka.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from dlqadmin.replays.items.watched_clusters import unwatched
from dlqadmin.replays.models import ItemState
from dlqadmin.replays.outcomes.evidence import Decision, ItemFacts, LetterEvidence, ReaderState
from dlqadmin.replays.outcomes.offset_evidence import COMMIT_MAY_TAKE, observed
from dlqadmin.replays.reasons import Reason

WATCHED_FOR = timedelta(hours=24)
INDEX_MAY_TAKE = timedelta(seconds=60)


def decide(facts: ItemFacts, now: datetime) -> Decision:
    """Return the outcome of the item by what is known at `now`.

    No outcome is final: call it again when facts change.
    """
    decision = _decide(facts, now)
    if decision.state is ItemState.SENT and now - facts.sent_at > WATCHED_FOR:
        return _unknown(Reason.WATCH_TIMEOUT, f"24 hours after it was sent: {decision.evidence}")
    return decision


def _decide(facts: ItemFacts, now: datetime) -> Decision:
    if facts.silent:
        return Decision(ItemState.SENT, Reason.WAITING, facts.silent)
    # Coordinates alone prove nothing if the topic was recreated, or if the record went to another cluster.
    if exact := facts.exact or (None if facts.recreated or facts.elsewhere else facts.placed):
        return _failed(f"{exact.why}proven: the origin in its dead letter is the position it was sent to", exact)
    if facts.attributed:
        return _failed(f"{facts.attributed.why}proven: its dead letter names this item and attempt", facts.attributed)
    if why := _out_of_sight(facts):
        return why
    if facts.offset is None or facts.group is None:
        return _unknown(Reason.NO_GROUP, "no connector of the engine and no known consumer group reads the topic")
    return _of_reader(facts, facts.offset, facts.group, now)


def _of_reader(facts: ItemFacts, offset: int, group: ReaderState, now: datetime) -> Decision:
    """Decide by what the reader has read: as its offsets tell, or the reports of a Spark query."""
    if group.observed is not None:
        return observed(facts, offset, group, group.observed, now, _index_is_late)
    if group.is_query:
        return _not_reported(facts, offset, group) if facts.report is None else _passed(facts, offset, group, now)
    if group.committed is None or group.committed <= offset:
        return _not_passed(facts, offset, group, now)
    return _passed(facts, offset, group, now)


def _out_of_sight(facts: ItemFacts) -> Decision | None:
    """Return why the record can't be observed by any reader, or None if it can."""
    if facts.elsewhere:
        return _unknown(Reason.CLUSTER_UNWATCHED, unwatched(facts.elsewhere))
    if facts.offset is None:
        return _unknown(Reason.COORDINATES_LOST, "it was sent, but its partition and offset could not be recovered")
    if facts.recreated:
        return _unknown(Reason.TOPIC_RECREATED, "the topic was deleted or recreated after it was sent")
    return None


def _not_reported(facts: ItemFacts, offset: int, group: ReaderState) -> Decision:
    """Decide for a record that a Spark query has not reported."""
    if facts.begin > offset:
        return _unknown(
            Reason.EXPIRED_OR_COMPACTED,
            f"the topic now begins at offset {facts.begin}: the record was deleted, and {group.name} did not report it",
        )
    if group.stopped:
        return _unknown(Reason.GROUP_EMPTY, group.stopped)
    return Decision(ItemState.SENT, Reason.WAITING, f"waiting until {group.name} reports the record")


def _not_passed(facts: ItemFacts, offset: int, group: ReaderState, now: datetime) -> Decision:
    """Decide for a record that the group has not committed past."""
    if facts.begin > offset:
        return _unknown(
            Reason.EXPIRED_OR_COMPACTED,
            f"the topic now begins at offset {facts.begin}: the record was deleted before {group.name} read it",
        )
    if group.stopped:
        return _unknown(Reason.GROUP_EMPTY, group.stopped)
    if group.parked:
        return Decision(ItemState.SENT, Reason.IN_RETRY, f"{group.name} is waiting for its next retry; lag {group.lag}")
    if group.committed is None and now - facts.sent_at > COMMIT_MAY_TAKE:
        return _unknown(
            Reason.NO_COMMITTED_OFFSET, f"{group.name} is running, but has not committed an offset for the partition"
        )
    return Decision(ItemState.SENT, Reason.WAITING, f"lag {group.lag}")


def _passed(facts: ItemFacts, offset: int, group: ReaderState, now: datetime) -> Decision:
    """Decide for a record that the group has committed past.

    The engine reports before it commits, so a missing report is evidence too.
    """
    if facts.report is None:
        return _unreported(facts, offset, group)
    if facts.report == "skipped":
        return _failed(
            f"proven: {group.name} reported that it skipped the record, without a dead letter", None, Reason.SKIPPED
        )
    if facts.report == "dead_lettered":
        return _reported_dead(facts, group, now)
    if group.unseen:
        return _unknown(Reason.NO_DEAD_LETTER_PATH, group.unseen)
    # The index may not have read a dead letter of this record yet.
    if group.behind:
        return _indexing(facts, group, now)
    if facts.possible:
        said = f"{group.name} reported it {facts.report}"
        return _unknown(
            Reason.POSSIBLE_MATCH, f"{said}, but {facts.possible.name} has the same key and names no origin"
        )
    if facts.report == "filtered":
        return _proven(facts, f"proven: {group.name} reported that a transform filtered the record", Reason.FILTERED)
    index = f"; the index has read {group.dead_letters} to its end" if group.dead_letters else ""
    return _proven(facts, f"proven: {group.name} reported it delivered{index}")


def _unreported(facts: ItemFacts, offset: int, group: ReaderState) -> Decision:
    """Decide for a record that was committed past without a report.

    Either nobody read the record, or the reports can't be read.
    """
    if not facts.reports:
        return _unknown(Reason.NO_REPORTS, f"{group.name} committed past the record, but its reports can't be read")
    if facts.begin > offset or not facts.readable:
        return _unknown(
            Reason.EXPIRED_OR_COMPACTED,
            f"{group.name} committed past the record, but the topic no longer contained it, so it was not read",
        )
    if not facts.reporting:
        return _unknown(Reason.NO_REPORTS, f"{group.name} committed past the record, but did not report it")
    return _unknown(
        Reason.OFFSET_MOVED_BY_HAND, f"{group.name} committed past the record without reading it: its offset was moved"
    )


def _reported_dead(facts: ItemFacts, group: ReaderState, now: datetime) -> Decision:
    """Decide for a record that the engine reported as dead-lettered.

    It failed again. The decision links its dead letter once the index has it.
    """
    said = f"proven: {group.name} reported it dead-lettered"
    if group.unseen:
        return _failed(f"{said}; {group.unseen}", None)
    if group.behind and not _index_is_late(facts, group, now):
        return Decision(
            ItemState.SENT, Reason.INDEXING, f"waiting until the index reaches the end of {group.dead_letters}"
        )
    return _failed(f"{said}; its dead letter is not in the index", None)


def _indexing(facts: ItemFacts, group: ReaderState, now: datetime) -> Decision:
    if _index_is_late(facts, group, now):
        evidence = f"{group.name} reported it {facts.report}, but the index has not read {group.dead_letters} for 60 s"
        return _unknown(Reason.INDEX_STOPPED, evidence)
    return Decision(ItemState.SENT, Reason.INDEXING, f"waiting until the index reaches the end of {group.dead_letters}")


def _index_is_late(facts: ItemFacts, group: ReaderState, now: datetime) -> bool:
    """Return whether the index made no progress while the item waited.

    An index that makes progress is not late, however much it still has to read.
    """
    heard = max(filter(None, (facts.indexing_since, group.index_at)), default=now)
    return facts.indexing_since is not None and now - heard >= INDEX_MAY_TAKE


def _proven(facts: ItemFacts, evidence: str, reason: str = "") -> Decision:
    if facts.downstream is None:
        return Decision(ItemState.PASSED, reason, evidence)
    evidence = f"{evidence}; failed downstream: {facts.downstream.name}"
    return Decision(ItemState.PASSED, reason, evidence, facts.downstream.id)


def _failed(evidence: str, letter: LetterEvidence | None, reason: str = "") -> Decision:
    return Decision(ItemState.FAILED_AGAIN, reason, evidence, letter.id if letter else None)


def _unknown(reason: Reason, evidence: str) -> Decision:
    return Decision(ItemState.UNKNOWN, reason, evidence)

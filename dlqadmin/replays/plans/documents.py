"""The plan as a document: records to send, records left out, and checks. Pure functions."""

from __future__ import annotations

from datetime import datetime

from dlqadmin.broker.groups import GroupKind
from dlqadmin.replays.plans.check_results import STOP, CheckDocument, check
from dlqadmin.replays.plans.checks import CHECKS
from dlqadmin.replays.plans.plan_inputs import Facts
from dlqadmin.replays.plans.targets import TargetTopic
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.times import iso
from engine.record.replay import ATTEMPT, ID, ITEM, LETTER

REASONS = {
    "already_sent": "were sent before, or are part of a running replay",
    "same_lineage": "are the same record as another dead letter of this selection",
    "superseded": "are older than another record of this selection with the same key",
    "newer_exists": "have a newer record of the same key in their origin topic",
    "too_many_attempts": "were sent too often, and failed each time",
    "discarded": "were discarded",
    "parked": "are parked",
    "handled": "were handled elsewhere",
    "expired": "have no bytes: the origin topic no longer contains them",
    "unknown_bytes": "have unknown bytes",
    "erased": "have no content: it was erased",
    "not_allowed": "point to a topic that may not be read for them",
    "masked": "have the text of a mask in their draft",
    "oversize": "are larger than the target topic allows",
    "no_target": "have no target topic",
    "forbidden_target": "would go to a topic that replays can't write to",
}


class SkippedDocument(Document):
    """Records that are left out for one reason. `replays` are those that sent some of them, or are about to."""

    reason: str
    count: int
    text: str
    replays: list[int]


class PartitionCount(Document):
    """The number of records for one partition. Null: the partition follows from the key."""

    partition: int | None
    count: int


class WatchedDocument(Document):
    """A connector whose outcome counts."""

    connector: str
    group: str
    state: str
    lag: int | None


class ConsumerGroupDocument(Document):
    """A consumer group on a target. `lag` is null if it has committed nothing."""

    name: str
    kind: GroupKind
    state: str
    members: int
    lag: int | None
    watched: bool


class TargetDocument(Document):
    """A target topic: its records and its readers.

    `retry_topics` are the topic's own retry topics, by their names and in the order of retries.
    """

    topic: str
    exists: bool
    partitions: list[PartitionCount]
    largest_bytes: int | None
    limit_bytes: int | None
    watched: list[WatchedDocument]
    also_read_by: list[str]
    groups: list[ConsumerGroupDocument]
    retry_topics: list[str]


class PlanHeaders(Document):
    """The names of the headers that are added, and of those that are left off."""

    added: list[str]
    stripped: list[str]


class ConfirmDocument(Document):
    """The text that a person must type before the replay is run."""

    word: str


class ApprovalDocument(Document):
    """The approval of a plan by a second person. `void` if the plan changed since it was asked for.

    - `reasons`: why it is needed, as clauses.
    - `barred`: the people who may not give it.
    - `above`: the number of records above which a plan needs it.
    - `rate`: the rate that was approved.
    """

    needed: bool
    reasons: list[str]
    barred: list[str]
    above: int
    asked_by: str | None
    asked_at: Time | None
    approved_by: str | None
    approved_at: Time | None
    void: bool
    approved: bool
    rate: int | None


class PlanDocument(Document):
    """The plan of a replay. It is stored as it is shown."""

    checked_at: Time
    took_ms: int
    digest: str
    records_digest: str
    rate: int
    total: int
    to_send: int
    skipped: list[SkippedDocument]
    elsewhere: int
    edited: int
    newer: int
    checks: list[CheckDocument]
    targets: list[TargetDocument]
    headers: PlanHeaders
    confirm: ConfirmDocument | None
    runnable: bool


def plan_document(facts: Facts) -> PlanDocument:
    """Return the plan. It is `runnable` unless a check has the level "stop"."""
    checks = [row for find in CHECKS for row in find(facts)]
    return PlanDocument(
        checked_at=iso(facts.now),
        took_ms=facts.took_ms,
        digest=facts.tally.digest,
        records_digest=facts.tally.records_digest,
        rate=facts.options.rate,
        total=facts.total,
        to_send=facts.to_send,
        skipped=_skipped(facts),
        elsewhere=facts.elsewhere,
        edited=facts.edited,
        newer=facts.tally.newer,
        checks=checks,
        targets=[_target(facts, target) for target in facts.targets.by_name.values()],
        headers=PlanHeaders(added=[ID, ITEM, ATTEMPT, LETTER], stripped=sorted(facts.tally.stripped)),
        confirm=ConfirmDocument(word=facts.confirm) if facts.confirm else None,
        runnable=all(row.level != STOP for row in checks),
    )


def broken(why: str, now: datetime) -> PlanDocument:
    """Return the document of a plan that could not be made. It sends nothing and has the reason."""
    return PlanDocument(
        checked_at=iso(now),
        took_ms=0,
        digest="",
        records_digest="",
        rate=0,
        total=0,
        to_send=0,
        skipped=[],
        elsewhere=0,
        edited=0,
        newer=0,
        checks=[check(STOP, "The plan could not be made", why)],
        targets=[],
        headers=PlanHeaders(added=[], stripped=[]),
        confirm=None,
        runnable=False,
    )


def _skipped(facts: Facts) -> list[SkippedDocument]:
    answer = []
    for reason, count in facts.reasons.items():
        held = facts.tally.held.most_common(3) if reason == "already_sent" else []
        text = f"{count} of {facts.total} {REASONS.get(reason, reason)}"
        if held:
            text += ": " + "; ".join(f"{number} {sentence}" for sentence, number in held)
        replays = sorted(facts.tally.holders) if held else []
        answer.append(SkippedDocument(reason=reason, count=count, text=text, replays=replays))
    return answer


def _target(facts: Facts, target: TargetTopic) -> TargetDocument:
    counts = facts.partitions(target.topic)
    order = sorted(counts, key=lambda number: (number is None, number or 0))
    return TargetDocument(
        topic=target.topic,
        exists=target.partitions is not None,
        partitions=[PartitionCount(partition=number, count=counts[number]) for number in order],
        largest_bytes=facts.tally.largest.get(target.topic),
        limit_bytes=target.limit_bytes,
        watched=[
            WatchedDocument(connector=one.name, group=one.group, state=one.state, lag=one.lag)
            for one in facts.watched_of(target)
        ],
        also_read_by=facts.others_of(target),
        groups=[
            ConsumerGroupDocument(
                name=group.name,
                kind=group.kind,
                state=group.state,
                members=group.members,
                lag=group.lag,
                watched=facts.is_watched(target, group),
            )
            for group in target.groups
        ],
        retry_topics=list(target.retry_topics),
    )

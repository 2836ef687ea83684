"""Outcomes of replayed records in every consumer group that reads the target topic."""

from __future__ import annotations

import copy
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from django.db import transaction
from django.db.models import Exists, OuterRef

from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.batches import parts
from dlqadmin.replays.items import item_counters
from dlqadmin.replays.items.item_counters import CounterKey
from dlqadmin.replays.items.item_states import MAX_EVIDENCE, PART, SETTLED
from dlqadmin.replays.models import ItemOutcome, ItemState, Replay, ReplayItem
from dlqadmin.replays.outcomes import foreign_groups, group_resolution
from dlqadmin.replays.outcomes.dead_letter_matches import kind_of, letter, writer_groups, writer_of
from dlqadmin.replays.outcomes.decision import WATCHED_FOR, decide
from dlqadmin.replays.outcomes.evidence import Decision, ItemFacts
from dlqadmin.replays.outcomes.evidence_collection import recreated
from dlqadmin.replays.outcomes.kafka_queries import ClusterQueries
from dlqadmin.replays.outcomes.share_groups import share_groups_of
from dlqadmin.replays.outcomes.target_readers import Readers
from dlqadmin.replays.outcomes.waiting_partitions import GROUP, Spot, awaited
from dlqadmin.replays.reasons import Reason
from dlqadmin.rest.times import iso

MOST = 10_000
log = logging.getLogger(__name__)
Verdict = tuple[ReplayItem, Decision]


def prepare(
    spots: Sequence[Spot], known: Readers, now: datetime, cluster: ClusterQueries, silent: dict[object, str]
) -> set[tuple[int, str]]:
    """Store the readers of sent items that have none, and add outcomes for further readers.

    Return the (replay, topic) pairs whose reader was stored. If Kafka does not respond, the next call asks again, and
    the topic is added to `silent`.
    """
    said: set[tuple[int, str]] = set()
    replays = Replay.objects.in_bulk({spot.replay for spot in spots})
    places = sorted({(spot.replay, spot.topic) for spot in spots if spot.topic and spot.replay in replays})
    soon = any(not spot.watched for spot in spots)
    wanted_topics = {topic for pk, topic in places if _asks(replays[pk], topic, known)}
    groups = _groups(wanted_topics, known, cluster, silent, soon=soon)
    for replay, topic in places:
        wanted = watched(replays[replay], topic, known, groups.get(topic, ()))
        if topic in wanted_topics:
            wanted += [GROUP + name for name in share_groups_of(replay, topic) if GROUP + name not in wanted]
        for spot in spots:
            if (spot.replay, spot.topic, spot.watched) == (replay, topic, "") and wanted:
                _adopt(spot, wanted[0])
                said.add((replay, topic))
        if len(wanted) > 1:
            _add(replay, topic, wanted, now)
    return said


def asked(before: Iterable[Spot], said: Collection[tuple[int, str]], after: Iterable[Spot]) -> list[Spot]:
    """Return the spots to settle after `prepare`.

    These are the spots with a reader, and those for which `prepare` found no reader. Items sent after `prepare` are
    left out.
    """
    nobody = {(spot.replay, spot.topic) for spot in before if not spot.watched}.difference(said)
    return [spot for spot in after if spot.watched or (spot.replay, spot.topic) in nobody]


def watched(replay: Replay, topic: str, known: Readers, groups: Iterable[str]) -> list[str]:
    """Return all readers of the topic whose outcome counts.

    These are the connectors by name, then the foreign groups that a person named. If there are neither, all foreign
    groups that commit offsets in the topic.
    """
    connectors = [reader.name for reader in known.of(topic)]
    asked = list(dict.fromkeys(replay.watch)) or ([] if connectors else groups)
    return connectors + [GROUP + name for name in asked]


def _asks(replay: Replay, topic: str, known: Readers) -> bool:
    """Return whether the foreign groups of the topic decide whose outcome counts."""
    return not (replay.watch or known.of(topic))


def _groups(
    topics: Iterable[str], known: Readers, cluster: ClusterQueries, silent: dict[object, str], *, soon: bool
) -> dict[str, list[str]]:
    """Return the foreign groups that commit offsets in each topic.

    Empty if Kafka does not respond.
    """
    if not (wanted := sorted(topics)):
        return {}
    try:
        there = cluster.groups_lately(wanted, foreign_groups.SOON_S if soon else foreign_groups.RARELY_S)
    except BrokerUnavailable as error:
        log.warning("the consumer groups of %s are unknown: %s", ", ".join(wanted[:5]), error)
        silent.update({("", topic): f"the consumer groups of {topic} are unknown: {error}" for topic in wanted})
        return {}
    return {topic: foreign_groups.readers(groups, known.groups) for topic, groups in there.items()}


def waiting(now: datetime, *, unknown: bool) -> list[ReplayItem]:
    """Return items as each further group sees them.

    Their state is the outcome in that group, and their `outcome` is the id of the outcome's row.
    """
    rows = ItemOutcome.objects.select_related("item__replay").filter(item__sent_offset__isnull=False)
    found = list(rows.filter(state=ItemState.SENT, item__replay__in=awaited()).order_by("pk")[:MOST])
    if unknown:
        late = rows.filter(state=ItemState.UNKNOWN, item__sent_at__gt=now - WATCHED_FOR)
        found += late.order_by("-pk")[:MOST]
    return [as_seen(row) for row in found]


def as_seen(row: ItemOutcome) -> ReplayItem:
    """Return a copy of the item with its outcome in that group. `item` must be loaded."""
    item: Any = copy.copy(row.item)
    item.watched, item.state, item.reason, item.evidence = row.group, row.state, row.reason, row.evidence
    item.state_at, item.history, item.refailure_id, item.outcome = row.state_at, row.history, None, row.pk
    return item  # type: ignore[no-any-return]  # a copy of a model instance


def late(pairs: Iterable[tuple[ReplayItem, DeadLetter]], cluster: ClusterQueries, now: datetime) -> list[Verdict]:
    """Return items that failed again in a further group, by these dead letters.

    Raises BrokerUnavailable.
    """
    known = [(item, row) for item, row in pairs if writer_of(row)]
    ids = cluster.topic_ids(sorted({item.target_topic for item, _ in known}))
    named = {(item.pk, name): row for item, row in known for name in _reader_names(writer_of(row))}
    found: list[Verdict] = []
    for part in parts(sorted({item.pk for item, _ in known})):
        rows = ItemOutcome.objects.select_related("item__replay").filter(item__in=part)
        for other in rows.exclude(state=ItemState.FAILED_AGAIN):
            row = named.get((other.item_id, other.group))
            item = as_seen(other)
            if row and (kind := kind_of(item, row)) in ("exact", "placed", "attributed"):
                facts = ItemFacts(item.sent_at or now, item.sent_offset, recreated=recreated(item, ids))
                decision = decide(msgspec.structs.replace(facts, **{kind: letter(row)}), now)
                if decision.state is ItemState.FAILED_AGAIN:
                    found.append((item, decision))
    return found


def _reader_names(name: str) -> list[str]:
    """Return the readers that a dead letter may mean by this name: a connector of the engine, and consumer groups."""
    return [name, *(GROUP + group for group in writer_groups(name))]


def settle(verdicts: Iterable[Verdict], now: datetime) -> int:
    """Store the decisions for items that `waiting` returned. Return how many changed."""
    # Two transactions lock in the same order.
    known = sorted(verdicts, key=lambda verdict: (verdict[0].pk, verdict[0].watched))
    failed = [verdict for verdict in known if _fails(*verdict)]
    changed = _keep_failed(failed, now) if failed else 0
    return changed + sum(_keep(*verdict, now) for verdict in known if not _fails(*verdict))


@transaction.atomic
def _keep_failed(failed: Sequence[Verdict], now: datetime) -> int:
    changed = sum(_keep(*verdict, now) for verdict in failed)
    group_resolution.reopen([item for item, _ in failed], now)
    return changed


def _fails(item: ReplayItem, decision: Decision) -> bool:
    return decision.state is ItemState.FAILED_AGAIN and item.state != decision.state


def _keep(item: ReplayItem, decision: Decision, now: datetime) -> int:
    evidence = decision.evidence[:MAX_EVIDENCE]
    if (item.state, item.reason, item.evidence) == (decision.state, decision.reason, evidence):
        return 0
    same = (item.state, item.reason) == (decision.state, decision.reason)
    values: dict[str, Any] = {"state": decision.state, "reason": decision.reason, "evidence": evidence}
    if not same:
        values["state_at"] = now
    if item.state in SETTLED and item.state != decision.state:
        earlier = {"at": iso(item.state_at), "state": item.state, "reason": item.reason, "evidence": item.evidence}
        values["history"] = [*item.history, earlier]
    there = ItemOutcome.objects.filter(pk=item.outcome, state=item.state)  # type: ignore[attr-defined]  # see as_seen
    return there.update(**values)


def _adopt(spot: Spot, name: str) -> None:
    """Set the reader of the items in a spot that has none."""
    while _adopt_part(spot, name):
        pass


@transaction.atomic
def _adopt_part(spot: Spot, name: str) -> int:
    """Set the reader of some items, and return how many.

    The rows are locked: a sender adds others meanwhile, and the counters must match the changed rows.
    """
    rows = list(spot.rows.select_for_update().order_by("pk").values_list("pk", "reason", "edited")[:PART])
    changes = Counter[CounterKey]()
    for _, reason, edited in rows:
        changes[CounterKey(spot.replay, spot.state, reason, "", edited)] -= 1
        changes[CounterKey(spot.replay, spot.state, reason, name, edited)] += 1
    ReplayItem.objects.filter(pk__in=[pk for pk, _, _ in rows]).update(watched=name)
    item_counters.add(changes)
    return len(rows)


def _add(replay: int, topic: str, wanted: Sequence[str], now: datetime) -> None:
    """Insert an outcome for each item and each reader other than the item's own."""
    sent = ReplayItem.objects.filter(replay=replay, target_topic=topic, sent_offset__isnull=False)
    for name in wanted:
        there = ItemOutcome.objects.filter(item=OuterRef("pk"), group=name)
        # The item itself has the outcome of the reader in `watched`.
        lacking = sent.exclude(watched__in=("", name)).exclude(Exists(there)).order_by("ordinal")
        while ids := list(lacking.values_list("pk", flat=True)[:MOST]):
            ItemOutcome.objects.bulk_create(
                [
                    ItemOutcome(item_id=pk, group=name, state=ItemState.SENT, reason=Reason.WAITING, state_at=now)
                    for pk in ids
                ],
                batch_size=1000,
                ignore_conflicts=True,
            )
            if len(ids) < MOST:
                break

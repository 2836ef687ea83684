"""Recovery of replays that the database does not know, because it was restored from a backup.

Their records are read from the target topics. Then the database has the replay, its items and their claims, so nobody
sends the same dead letters again without notice. Outcomes are watched as after any replay.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
from django.conf import settings
from django.db import IntegrityError, transaction

from dlqadmin.audit.entries import record
from dlqadmin.broker import clusters, topics
from dlqadmin.deadletters.index import erased_records
from dlqadmin.deadletters.index.column_values import pack_headers
from dlqadmin.deadletters.index.removal import hold_all
from dlqadmin.deadletters.models import DeadLetter, IndexPosition
from dlqadmin.replays import events
from dlqadmin.replays.batches import parts
from dlqadmin.replays.items import item_states
from dlqadmin.replays.items.item_rows import load
from dlqadmin.replays.items.messages import Outgoing, original
from dlqadmin.replays.models import ItemPayload, Replay, ReplayItem, ReplayStatus
from dlqadmin.replays.outcomes import target_readers
from dlqadmin.replays.plans import item_writer
from dlqadmin.replays.plans.check_results import OK, check
from dlqadmin.replays.plans.documents import broken
from dlqadmin.replays.plans.lineage import roots
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.replays.sending import chunk_settlement, lost_replays, queueing
from dlqadmin.replays.sending.lost_replays import NOT_RUN, LostReplay
from dlqadmin.rest.text import counted
from dlqadmin.teams.reach import EVERYTHING, reaching
from engine.record.record import RawRecord
from engine.record.replay import ATTEMPT, LETTER, PREFIX

TIMEOUT_S = 600.0  # for one partition
AT_ONCE = 500  # records whose dead letters are compared with them at once
TITLE = "recovered after a restore"
Place = tuple[str, int, int]  # topic, partition, offset

log = logging.getLogger(__name__)


class _NotIndexedYet(Exception):
    """The index has not yet read this dead letter, which a lost replay sent."""


class _Letter(NamedTuple):
    """The columns of a dead letter that its item needs, without its bytes."""

    pk: int
    cluster: str
    topic: str
    partition: int
    offset: int
    origin_topic: str
    origin_partition: int | None
    origin_offset: int | None
    replay_item: str | None
    connector: str


class _SentRecord(msgspec.Struct, frozen=True):
    """A record of a lost replay in its target topic.

    `edited` is its message, if it differs from the original one.
    """

    ordinal: int
    attempt: int
    letter: _Letter
    topic: str
    partition: int
    offset: int
    at: datetime
    digest: str
    edited: Outgoing | None


@reaching(EVERYTHING)  # replays of all teams are lost with a database
def recover(cluster: str, now: datetime) -> int:
    """Recover the lost replays that wrote to a cluster, "" for the own one. Return their number.

    Nothing is recovered while the index has still to read one of their dead letters. Raises BrokerUnavailable.
    """
    with clusters.on(cluster):
        lost = [one for one in lost_replays.find(cluster) if one.is_recoverable]
        try:
            found = [(one, _read(one, now)) for one in lost]
        except _NotIndexedYet as error:
            log.info("replays that the database does not know are recovered once %s is indexed", error)
            return 0
        ids = topics.topic_ids(sorted({topic for one in lost for topic in one.first}))
    # The dead letter that a replay sent may be of a record that an earlier one sent.
    found.sort(key=lambda pair: min((row.at for row in pair[1]), default=now))
    recovered = 0
    for one, rows in found:
        try:
            with clusters.on(cluster):
                recovered += _store(one, rows, {topic: ids[topic] for topic in one.first if topic in ids}, now)
        except IntegrityError:
            log.info("replay %s was recovered by another worker, or its dead letters were removed", one.uuid)
    return recovered


def _read(lost: LostReplay, now: datetime) -> list[_SentRecord]:
    """Return its records, by ordinal. Records whose dead letters are gone are left out."""
    found: dict[int, _SentRecord] = {}
    batch: list[RawRecord] = []
    for one in _records(lost):
        batch.append(one)
        if len(batch) == AT_ONCE:
            found |= {row.ordinal: row for row in _compare(batch, lost.source, now)}
            batch = []
    found |= {row.ordinal: row for row in _compare(batch, lost.source, now)}
    return [row for _, row in sorted(found.items())]


def _records(lost: LostReplay) -> Iterator[RawRecord]:
    mine = f"{lost.uuid}/"
    for topic, offsets in lost.first.items():
        for partition, first in enumerate(offsets):
            for one in topics.read_to_end(topic, partition, first, TIMEOUT_S, whole=True):
                if chunk_settlement.token_of(one).startswith(mine):
                    yield one


def _compare(batch: Sequence[RawRecord], source: str, now: datetime) -> Iterator[_SentRecord]:
    """Yield the records with their dead letters, which are on the cluster `source`."""
    named = [(one, _place_of(_header(one, LETTER))) for one in batch]
    letters = _letters({place for _, place in named if place is not None}, source)
    for one, place in named:
        row = letters.get(place) if place is not None else None
        if row is None:
            continue
        sent = Outgoing(one.key, one.value, tuple(pair for pair in one.headers if not pair[0].startswith(PREFIX)))
        first = original(row)
        yield _SentRecord(
            ordinal=int(chunk_settlement.token_of(one).rpartition("/")[2]),
            attempt=int(_header(one, ATTEMPT) or 1),
            letter=_Letter(*(getattr(row, name) for name in _Letter._fields)),
            topic=one.topic,
            partition=one.partition,
            offset=one.offset,
            at=datetime.fromtimestamp(one.timestamp / 1000, UTC) if one.timestamp >= 0 else now,
            digest=sent.digest,
            edited=None if first is not None and first.digest == sent.digest else sent,
        )


def _letters(places: set[Place], source: str) -> dict[Place, DeadLetter]:
    """Return the dead letters at these coordinates. Raises _NotIndexedYet."""
    found: dict[Place, DeadLetter] = {}
    letters = DeadLetter.objects.filter(cluster=source or settings.CLUSTER)
    for topic, partition in {place[:2] for place in places}:
        offsets = [offset for *own, offset in places if own == [topic, partition]]
        rows = letters.filter(topic=topic, partition=partition).select_related("body")
        for part in parts(offsets):
            found |= {(topic, partition, row.offset): row for row in rows.filter(offset__in=part)}
    if missing := places - found.keys():
        _require_indexed(missing, source)
    return found


def _require_indexed(missing: set[Place], source: str) -> None:
    """Raise _NotIndexedYet if the index has still to read one of these dead letters."""
    indexed = IndexPosition.objects.filter(cluster=source or settings.CLUSTER)
    known = indexed.filter(topic__in={topic for topic, *_ in missing})
    positions = {(row.topic, row.partition): row.position for row in known}
    with clusters.on(source):
        begins = topics.begins(sorted({(topic, partition) for topic, partition, _ in missing}))
    for topic, partition, offset in missing:
        is_there = begins.get((topic, partition), offset + 1) <= offset
        if is_there and positions.get((topic, partition), 0) <= offset:
            raise _NotIndexedYet(f"{topic} / {partition} / {offset}")


def _store(lost: LostReplay, rows: Sequence[_SentRecord], topic_ids: dict[str, str], now: datetime) -> bool:
    """Store the replay to the current cluster, with its items. Return False if it was run or recovered meanwhile."""
    with transaction.atomic():
        replay = Replay.objects.select_for_update(no_key=True).filter(uuid=lost.uuid).first()
        if replay is not None and replay.status not in NOT_RUN:
            return False
        if replay is None:
            selection = frozen_selections.recovered(sorted({row.letter.pk for row in rows}), TITLE, now)
            replay = Replay(uuid=lost.uuid, selection=selection, title=TITLE)
        else:  # the plan of the backup; it may have been checked again before it was run
            item_writer.clear(replay)
        _begin(replay, lost, rows, now)
        replay.topic_ids = topic_ids
        replay.save()
        _insert(replay, rows, now)
        _settle(replay, rows, now)
        text = f"recovered with {counted(len(rows), 'sent record')}: Kafka has them, but the database had lost them"
        events.note(replay.pk, "recovered", text, now)
        record(events.ITSELF, "recovered", "replay", str(replay), {"said": text, "uuid": str(lost.uuid)})
    log.warning("%s was %s", replay, text)
    return True


def _begin(replay: Replay, lost: LostReplay, rows: Sequence[_SentRecord], now: datetime) -> None:
    """Set the columns of a replay that has sent all its items."""
    began = min((row.at for row in rows), default=now)
    targets = {row.topic for row in rows}
    is_home = all(row.topic == row.letter.origin_topic for row in rows)
    replay.target_topic = next(iter(targets)) if len(targets) == 1 and not is_home else ""
    replay.source_cluster, replay.target_cluster = lost.source, clusters.key(clusters.current())
    replay.shadow = targets == {f"dlqadmin-shadow-{lost.uuid.hex}"}
    replay.status, replay.claim_token, replay.heartbeat, replay.trouble = ReplayStatus.WATCHING, "", None, ""
    replay.planned_at = replay.started_at = began
    replay.created_at = replay.created_at or began
    replay.sent_at = max((row.at for row in rows), default=now)
    replay.progress, replay.progress_topic = lost.progress, lost.topic
    replay.first_offsets = dict(lost.first)
    replay.planned_count = len(rows)
    why = check(OK, "Recovered", "The database had lost this replay. Kafka shows what it sent.")
    plan = msgspec.structs.replace(broken("", now), total=len(rows), to_send=len(rows), checks=[why])
    replay.plan = msgspec.to_builtins(plan)


def _insert(replay: Replay, rows: Sequence[_SentRecord], now: datetime) -> None:
    """Insert the items as planned ones, with the bytes of edited messages."""
    lineages: dict[int, str] = {}
    for part in parts(rows):
        hold_all([row.letter.pk for row in part])
        lineages |= roots([row.letter for row in part])
    readers = target_readers.look()
    watched = {topic: [reader.name for reader in readers.of(topic)] for topic in {row.topic for row in rows}}
    items = ReplayItem.objects.bulk_create(
        (
            ReplayItem(
                replay=replay,
                ordinal=row.ordinal,
                dead_letter_id=row.letter.pk,
                lineage=lineages[row.letter.pk],
                watched=_watched(watched[row.topic], row.letter.connector),
                target_topic=row.topic,
                edited=row.edited is not None,
                state_at=now,
                attempt=row.attempt,
            )
            for row in rows
        ),
        batch_size=AT_ONCE,
    )
    # The bytes of a record that was erased since are not stored.
    kept = erased_records.lock_unerased(row.letter.pk for row in rows if row.edited is not None)
    ItemPayload.objects.bulk_create(
        (
            ItemPayload(item=item, key=own.key, value=own.value, headers=pack_headers(own.headers), digest=row.digest)
            for item, row in zip(items, rows, strict=True)
            if (own := row.edited) is not None and row.letter.pk in kept
        ),
        batch_size=AT_ONCE,
    )
    item_states.created(replay)


def _settle(replay: Replay, rows: Sequence[_SentRecord], now: datetime) -> None:
    """Claim the lineages, and mark the items and their dead letters as sent."""
    queueing.take(replay, now)
    to = chunk_settlement.becomes(replay)
    for part in parts(rows):
        of = {row.ordinal: row for row in part}
        batch = load(replay, replay.items.filter(ordinal__in=of))
        for item in batch:
            row = of[item.ordinal]
            item.sent_partition, item.sent_offset = row.partition, row.offset
            item.sent_digest, item.sent_at = row.digest, row.at
        item_states.sent(replay.pk, batch, now, to)
    item_states.show_sent(replay.pk, 0, rows[-1].ordinal + 1 if rows else 0)
    Replay.objects.filter(pk=replay.pk).update(shown=replay.progress)


def _watched(names: Sequence[str], connector: str) -> str:
    """Return the connector whose outcome counts, as `Targets.watched` does."""
    return connector if connector in names else next(iter(names), "")


def _header(one: RawRecord, name: str) -> str:
    """Return the last value of a header, "" without it."""
    values = [value for key, value in one.headers if key == name and value]
    return values[-1].decode("utf-8", "replace") if values else ""


def _place_of(text: str) -> Place | None:
    """Return the coordinates in the header `dlq.replay.letter`. None if it names none."""
    topic, _, numbers = text.partition("/")
    partition, _, offset = numbers.partition("/")
    if not (topic and partition.isdecimal() and offset.isdecimal()):
        return None
    return topic, int(partition), int(offset)

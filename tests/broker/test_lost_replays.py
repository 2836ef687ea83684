"""Replays that Kafka shows and the database does not know, because it was restored from a backup."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.cimpl import NewTopic
from django.contrib.auth.models import User

from dlqadmin.broker import topics
from dlqadmin.deadletters.index.column_values import pack_headers
from dlqadmin.deadletters.models import DeadLetter, IndexPosition, ReplayMark
from dlqadmin.replays.items import lineage_claims
from dlqadmin.replays.models import Chunk, ItemPayload, LedgerEntry, Replay, ReplayItem, Selection
from dlqadmin.replays.plans import planner
from dlqadmin.replays.plans.options import Options
from dlqadmin.replays.plans.replay_recovery import recover
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.replays.sending import lost_replays
from dlqadmin.replays.sending.sender import send_slice
from dlqadmin.rest.idempotency import RequestKey
from engine.record.replay import LETTER
from tests.broker.test_replay_bytes import Target
from tests.dlqadmin.deadletters.letters import NOW

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=5)


@pytest.fixture
def target(broker: str, settings: Any) -> Target:
    settings.KAFKA_BOOTSTRAP_SERVERS = broker
    settings.INDEX_GROUP = f"dlqadmin-{uuid4().hex[:8]}"  # an installation of its own
    return Target(broker)


def sent(target: Target, count: int = 3) -> Replay:
    """A replay of some dead letters, the last one edited, that was sent."""
    replay = target.replay([(b"%d" % number, b"v", (("own", b"h"),)) for number in range(count)])
    last = replay.items.get(ordinal=count - 1)
    ReplayItem.objects.filter(pk=last.pk).update(edited=True)
    ItemPayload.objects.create(item=last, key=b"k", value=b"mended", headers=pack_headers(()), digest="d")
    send_slice(replay.pk, "sender")
    assert replay.items.filter(state="sent").count() == count
    return replay


def restore(*, with_plan: bool = False) -> None:
    """Forget what happened since the backup: replays that were made since, or that one was run."""
    LedgerEntry.objects.all().delete()
    ReplayMark.objects.all().delete()
    Chunk.objects.all().delete()
    if with_plan:
        ReplayItem.objects.update(state="planned", sent_offset=None, sent_partition=None, sent_at=None, sent_digest="")
        Replay.objects.update(status="planned", progress=0, shown=0, progress_topic="", first_offsets=None)
    else:
        Replay.objects.all().delete()
        Selection.objects.all().delete()


def plan(target: Target) -> dict[str, Any]:
    """The plan of a replay of all dead letters to the target."""
    actor, _ = User.objects.get_or_create(username="operator")
    ids = list(DeadLetter.objects.order_by("pk").values_list("pk", flat=True))
    selection = frozen_selections.by_ids(ids, actor, RequestKey(), LATER)
    made: dict[str, Any] = planner.create(
        selection, Options(target_topic=target.name), "", actor, RequestKey(), LATER
    ).plan
    return made


def titles(made: dict[str, Any]) -> set[str]:
    return {check["title"] for check in made["checks"]}


def outcome(item: ReplayItem) -> tuple[Any, ...]:
    return (item.ordinal, item.dead_letter_id, item.state, item.sent_partition, item.sent_offset, item.sent_digest)


@pytest.mark.parametrize("with_plan", [False, True], ids=["made since", "planned before"])
def test_a_replay_that_was_sent_after_the_backup_is_recovered_and_not_sent_again(
    target: Target, *, with_plan: bool
) -> None:
    replay = sent(target)
    before = [outcome(item) for item in replay.items.order_by("ordinal")]
    restore(with_plan=with_plan)
    blocked = plan(target)
    assert "Replays are being recovered" in titles(blocked)
    assert not blocked["runnable"]

    assert recover("", LATER) == 1
    recovered = Replay.objects.get(uuid=replay.uuid)
    assert recovered.status == "watching"
    items = list(recovered.items.order_by("ordinal"))
    assert [outcome(item) for item in items] == before
    assert [item.edited for item in items] == [False, False, True]
    assert bytes(items[2].payload.value or b"") == b"mended"
    pairs = [(item.lineage, target.name) for item in items]
    assert lineage_claims.owners(pairs) == dict(zip(pairs, items, strict=True))
    assert set(ReplayMark.objects.values_list("state", flat=True)) == {"sent"}
    refused = plan(target)
    assert refused["to_send"] == 0
    assert [(row["reason"], row["count"]) for row in refused["skipped"]] == [("already_sent", 3)]
    assert recover("", LATER) == 0
    assert len(target.records()) == 3


def test_each_record_names_its_dead_letter(target: Target) -> None:
    replay = sent(target)
    letters = [item.dead_letter for item in replay.items.order_by("ordinal").select_related("dead_letter")]
    named = [record.header(LETTER) for record in target.records()]
    assert named == [f"{row.topic}/{row.partition}/{row.offset}".encode() for row in letters]


def test_nothing_is_recovered_before_the_index_has_read_the_dead_letters(target: Target) -> None:
    name = f"{target.name}.dlq"
    target.admin.create_topics([NewTopic(name, 1, 1)])[name].result(20)
    producer = Producer({"bootstrap.servers": target.servers})
    for number in range(5):
        producer.produce(name, b"%d" % number)
    assert producer.flush(20) == 0
    replay = sent(target)
    row = DeadLetter.objects.get(topic=name, offset=3)
    restore()
    DeadLetter.objects.filter(pk=row.pk).delete()
    place: dict[str, Any] = {"cluster": row.cluster, "topic": name, "partition": 0}
    IndexPosition.objects.update_or_create(defaults={"position": 3, "updated_at": NOW}, **place)
    assert recover("", LATER) == 0
    assert "Replays are being recovered" in titles(plan(target))
    IndexPosition.objects.filter(**place).update(position=5)  # the index passed it, so it was deleted since
    assert recover("", LATER) == 1
    assert Replay.objects.get(uuid=replay.uuid).items.count() == 2


def test_replays_whose_records_are_gone_need_a_confirmation(target: Target) -> None:
    sent(target)
    restore()
    target.delete_before(topics.ends([(target.name, 0)])[target.name, 0])
    assert recover("", LATER) == 0
    made = plan(target)
    assert "Sent by unknown replays?" in titles(made)
    assert made["runnable"]
    assert made["confirm"] == {"word": target.name}


def test_a_replay_of_another_installation_does_not_count(target: Target, settings: Any) -> None:
    replay = sent(target)
    restore()
    assert replay.uuid in {one.uuid for one in lost_replays.find()}
    settings.INDEX_GROUP = "dlqadmin-of-another-database"
    assert replay.uuid not in {one.uuid for one in lost_replays.find()}


def test_a_later_replay_of_the_same_record_has_its_lineage(target: Target) -> None:
    first = sent(target, 1)
    item = first.items.get()
    # The record failed again, and its new dead letter was replayed too.
    again = DeadLetter.objects.get(pk=item.dead_letter_id)
    again.pk, again.offset = None, 99
    again.origin_topic, again.origin_partition, again.origin_offset = target.name, 0, item.sent_offset
    again.replay_item, again.replay_attempt = item.token, 1
    body = DeadLetter.objects.get(pk=item.dead_letter_id).body
    again.save()
    body.dead_letter_id = again.pk
    body.save(force_insert=True)
    ReplayItem.objects.filter(pk=item.pk).update(state="failed_again", refailure=again)
    selection = Selection.objects.create(created_at=NOW, filters={}, title="2", watermark=9, count=1, digest="d")
    second = Replay.objects.create(
        selection=selection, title="2", planned_at=NOW, created_at=NOW, rate=0, status="running",
        progress_topic=target.name,
    )  # fmt: skip
    ReplayItem.objects.create(
        replay=second, ordinal=0, dead_letter=again, lineage=item.lineage, target_topic=target.name, state="queued",
        state_at=NOW, attempt=2,
    )  # fmt: skip
    send_slice(second.pk, "sender")
    restore()
    assert recover("", LATER) == 2
    items = ReplayItem.objects.order_by("sent_offset")
    origin = f"{again.origin_topic}/0/{again.origin_offset}"
    assert origin not in {one.lineage for one in items}
    assert [(one.attempt, one.lineage) for one in items] == [(1, items[0].lineage), (2, items[0].lineage)]

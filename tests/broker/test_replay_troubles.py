"""A replay that meets what nobody planned: it goes on, or says why it does not; nothing is sent twice."""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from django.utils import timezone

from dlqadmin.broker.transactions import ChunkProducer
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.host.network import wait_until
from dlqadmin.replays.items import item_states
from dlqadmin.replays.models import ItemState, LedgerEntry, Replay, ReplayItem
from dlqadmin.replays.sending import queueing, sender
from dlqadmin.replays.sending.sender import send_slice
from dlqadmin.replays.sending.slices import SendingSlice
from tests.broker.test_replay_bytes import Target

pytestmark = pytest.mark.django_db
THREE = [(b"%d" % n, b"v", ()) for n in range(3)]


@pytest.fixture
def target(broker: str, settings: Any) -> Target:
    settings.KAFKA_BOOTSTRAP_SERVERS = broker
    return Target(broker)


def states(replay: Replay) -> list[tuple[str, str]]:
    return list(replay.items.order_by("ordinal").values_list("state", "reason"))


def test_what_kafkas_progress_has_passed_is_not_sent_again_though_the_database_forgot_it(target: Target) -> None:
    replay = target.replay(THREE)
    send_slice(replay.pk, "first")
    Replay.objects.update(status="running", progress=0)  # as an older copy of the database has it
    replay.chunks.all().delete()
    replay.items.update(state=ItemState.QUEUED, sent_at=None, sent_offset=None)
    send_slice(replay.pk, "second")
    assert states(replay) == [("unknown", "coordinates_lost")] * 3
    assert len(target.records()) == 3


@pytest.mark.parametrize("limit", [{"rate": 1}, {"steps": [1]}], ids=["by its rate", "by its canary"])
def test_a_sender_that_is_made_to_wait_takes_up_all_that_was_planned(
    target: Target, monkeypatch: pytest.MonkeyPatch, limit: dict[str, Any]
) -> None:
    monkeypatch.setattr(queueing, "SLICE", 1)
    replay = target.replay([(b"%d" % n, b"v", ()) for n in range(6)])
    LedgerEntry.objects.all().delete()
    replay.items.update(state=ItemState.PLANNED)
    item_states.created(replay)
    Replay.objects.update(**limit)

    def is_taken_up() -> bool:
        send_slice(replay.pk, "one", budget_s=1.5)  # a slow machine needs more than one
        return not replay.items.filter(state=ItemState.PLANNED).exists()

    wait_until(is_taken_up, "all that was planned", 30)
    assert {state for state, _ in states(replay)} == {"sent", "queued"}
    assert LedgerEntry.objects.count() == 6


@pytest.mark.parametrize("status", ["running", "paused", "cancelled"])
def test_what_an_older_copy_of_the_database_had_not_taken_up_is_claimed_as_sent(target: Target, status: str) -> None:
    replay = target.replay(THREE)
    send_slice(replay.pk, "first")
    LedgerEntry.objects.all().delete()
    replay.items.update(state=ItemState.PLANNED, reason="", sent_at=None, sent_offset=None)
    item_states.created(replay)
    Replay.objects.update(status=status, progress=1, shown=0, claim_token="", started_at=timezone.now())
    send_slice(replay.pk, "second")
    assert states(replay) == [("unknown", "coordinates_lost")] * 3
    assert sorted(entry.item.ordinal for entry in LedgerEntry.objects.all()) == [0, 1, 2]
    assert len(target.records()) == 3


def test_an_item_whose_bytes_are_gone_is_left_out_and_the_others_are_sent(target: Target) -> None:
    replay = target.replay(THREE)
    gone = replay.items.get(ordinal=1)
    DeadLetter.objects.filter(pk=gone.dead_letter_id).update(original="expired")
    send_slice(replay.pk, "one")
    assert states(replay) == [("sent", "waiting"), ("skipped", "unsendable"), ("sent", "waiting")]
    assert not LedgerEntry.objects.filter(item=gone).exists()


def test_a_topic_made_anew_in_the_middle_gets_nothing_of_the_rest(target: Target) -> None:
    replay = target.replay(THREE)
    Replay.objects.update(rate=1)
    send_slice(replay.pk, "one", budget_s=0.01)
    admin = AdminClient({"bootstrap.servers": target.servers, "log_level": 0})
    admin.delete_topics([target.name])[target.name].result(20)
    while target.name in admin.list_topics(timeout=10).topics:
        pass
    admin.create_topics([NewTopic(target.name, 1, 1)])[target.name].result(20)
    assert send_slice(replay.pk, "two") is False
    replay.refresh_from_db()
    assert (replay.status, "was deleted and recreated" in replay.trouble) == ("paused", True)
    assert [state for state, _ in states(replay)].count("queued") == 2


def test_a_cancelled_replay_with_items_left_over_is_taken_up(target: Target) -> None:
    replay = target.replay(THREE)
    Replay.objects.update(status="cancelled")
    assert list(sender.unsettled(Replay.objects.all())) == [replay]
    send_slice(replay.pk, "one")
    assert states(replay) == [("skipped", "cancelled")] * 3
    assert not sender.unsettled(Replay.objects.all()).exists()


def test_a_rate_made_slower_does_not_prolong_the_rest_that_has_begun(target: Target) -> None:
    replay = target.replay(THREE)
    resting_with: list[int] = []  # how many records were sent, at each look of a rest

    def wait(seconds: float) -> None:
        time.sleep(seconds)
        resting_with.append(replay.items.filter(state=ItemState.SENT).count())
        Replay.objects.update(rate=1, status="paused" if resting_with[-1] > 1 else "running")

    producer = ChunkProducer(replay.transactional_id)
    Replay.objects.update(rate=5, claim_token="one")
    producer.fence()
    slice_ = SendingSlice(Replay.objects.get(pk=replay.pk), producer, "one", time.monotonic())
    assert slice_.run(float("inf"), wait) is False
    producer.close()
    assert resting_with.count(1) <= 4  # 0.2 s at five a second; a whole second would be ten looks


def test_an_older_replays_outcome_does_not_hide_that_of_the_newer(target: Target) -> None:
    older, now = target.replay(THREE[:1]), timezone.now()
    first = older.items.get()
    ReplayItem.objects.filter(pk=first.pk).update(state=ItemState.UNKNOWN, sent_at=now)
    later = ReplayItem.objects.create(
        replay=older, ordinal=9, dead_letter=first.dead_letter, lineage=first.lineage, target_topic=first.target_topic,
        state=ItemState.SENT, state_at=now, sent_at=timezone.now(),
    )  # fmt: skip
    item_states.move([later], ItemState.SENT, ItemState.FAILED_AGAIN, now)
    item_states.move([first], ItemState.UNKNOWN, ItemState.PASSED, now)
    assert DeadLetter.objects.get(pk=first.dead_letter_id).replay_state == "failed_again"


def test_a_topic_that_became_a_dead_letter_topic_gets_nothing(target: Target, settings: Any) -> None:
    replay = target.replay(THREE)
    settings.DLQ_TOPICS = [target.name]
    assert send_slice(replay.pk, "one") is False
    replay.refresh_from_db()
    assert (replay.status, replay.trouble.endswith("is a dead letter topic")) == ("paused", True)
    assert target.records() == []

"""Where a replay may write to beside the origin, and what it says of outcomes there; its limits; its timestamps."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest

from dlqadmin.broker import clusters, topics
from dlqadmin.broker.transactions import ChunkProducer
from dlqadmin.deadletters.models import DeadLetter, ReplayMark
from dlqadmin.host.network import wait_until
from dlqadmin.replays.items import item_states
from dlqadmin.replays.models import ChunkState, ItemState, Replay
from dlqadmin.replays.sending.sender import send_slice, unsettled
from dlqadmin.replays.sending.slices import SendingSlice
from tests.broker.test_replay_bytes import Message, Target
from tests.dlqadmin.deadletters.letters import NOW

pytestmark = [pytest.mark.django_db(transaction=True)]
MESSAGES: list[Message] = [(b"%d" % number, b"v", ()) for number in range(3)]
NOWHERE = "127.0.0.1:1"


@pytest.fixture
def target(broker: str, settings: Any) -> Target:
    settings.KAFKA_BOOTSTRAP_SERVERS = broker
    return Target(broker)


def changed(replay: Replay, **columns: object) -> Replay:
    Replay.objects.filter(pk=replay.pk).update(**columns)
    replay.refresh_from_db()
    return replay


def outcomes(replay: Replay) -> set[tuple[str, str]]:
    return set(replay.items.values_list("state", "reason"))


def test_a_shadow_topic_is_made_like_its_origin_and_no_outcome_is_awaited(target: Target) -> None:
    replay = changed(target.replay(MESSAGES), shadow=True)
    name = f"{target.name}.shadow.{replay}"
    replay.items.update(target_topic=name)
    DeadLetter.objects.update(origin_topic=target.name)

    def sent() -> bool:
        """A new topic may have no leader for a moment; the replay waits then."""
        assert send_slice(replay.pk, "sender") is False
        return not unsettled(Replay.objects.all())

    wait_until(sent, "a sent replay", 20)
    assert topics.cluster().topics[name] == 1
    assert topics.configs([name])[name]["retention.ms"] == str(7 * 24 * 3600 * 1000)
    assert topics.ends([(name, 0)])[name, 0] > 0
    assert outcomes(replay) == {("unknown", "shadow")}
    assert target.records() == []


def test_another_cluster_is_written_to_and_its_outcomes_are_unknown(target: Target, settings: Any) -> None:
    replay = changed(target.replay(MESSAGES), target_cluster="eu")
    settings.OTHER_CLUSTERS = {"eu": {"bootstrap.servers": target.servers}}
    settings.KAFKA_BOOTSTRAP_SERVERS = NOWHERE
    assert send_slice(replay.pk, "sender") is False
    assert [record.value for record in target.records()] == [b"v"] * 3
    assert outcomes(replay) == {("unknown", "cluster_unwatched")}


def test_a_cluster_that_is_no_longer_configured_pauses_the_replay(target: Target) -> None:
    replay = changed(target.replay(MESSAGES), target_cluster="gone")
    assert send_slice(replay.pk, "sender") is False
    replay.refresh_from_db()
    assert (replay.status, replay.trouble) == (
        "paused",
        "the replay can't continue: cluster gone is no longer configured",
    )


def test_a_cancelled_replay_to_a_cluster_that_is_no_longer_configured_leaves_its_records_out(target: Target) -> None:
    replay = changed(target.replay(MESSAGES), target_cluster="gone", status="cancelled")
    assert send_slice(replay.pk, "sender") is False
    assert outcomes(replay) == {("skipped", "cancelled")}


def test_a_replay_that_is_paused_between_two_slices_shows_what_it_sent(target: Target) -> None:
    replay = changed(target.replay(MESSAGES), chunk_records=1, rate=1, shadow=False)
    item_states.on_their_way(replay.items.all())
    assert send_slice(replay.pk, "sender", 0.5) is True
    assert set(ReplayMark.objects.values_list("state", flat=True)) == {"queued"}
    changed(replay, status="paused")
    assert list(unsettled(Replay.objects.all())) == [replay]
    assert send_slice(replay.pk, "next") is False
    replay.refresh_from_db()
    sent = replay.items.filter(state=ItemState.SENT).values("dead_letter")
    assert sent
    assert set(ReplayMark.objects.filter(dead_letter__in=sent).values_list("state", flat=True)) == {"sent"}
    assert replay.shown == replay.progress
    assert not unsettled(Replay.objects.all())


def test_what_a_person_changed_in_a_pause_that_the_sender_slept_through_holds(target: Target) -> None:
    replay = changed(target.replay(MESSAGES), steps=[1, 1, 1], breaker_percent=10)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        if not slept:  # paused and resumed past the whole canary
            slept.append(seconds)
            settle(replay, 0, ItemState.FAILED_AGAIN)
            Replay.objects.filter(pk=replay.pk).update(step=3, accepted={"failed_again": 1})

    with clusters.on(""), ChunkProducer(replay.transactional_id) as producer:
        producer.fence()
        Replay.objects.filter(pk=replay.pk).update(claim_token="sender")
        SendingSlice(replay, producer, "sender", time.monotonic()).run(time.monotonic() + 20, sleep)
    assert states(replay) == ["failed_again", "sent", "sent"]


def test_original_timestamps_are_kept_on_request_where_they_are_known(target: Target) -> None:
    replay = changed(target.replay(MESSAGES), keep_timestamps=True)
    then = NOW - timedelta(days=1)
    known = DeadLetter.objects.filter(pk__in=replay.items.filter(ordinal__lt=2).values("dead_letter"))
    DeadLetter.objects.update(origin_timestamp=None)
    known.update(origin_timestamp=then)
    send_slice(replay.pk, "sender")
    stamps = [record.timestamp for record in target.records()]
    assert stamps[:2] == [int(then.timestamp() * 1000)] * 2
    assert stamps[2] > int(then.timestamp() * 1000)


def test_a_sender_that_is_slow_keeps_the_rate_with_larger_chunks(target: Target) -> None:
    replay = changed(target.replay(MESSAGES), rate=2, claim_token="sender")
    with clusters.on(""), ChunkProducer(replay.transactional_id) as producer:
        producer.fence()
        SendingSlice(replay, producer, "sender", time.monotonic() - 1.1).run(time.monotonic() + 0.1)
    assert list(replay.chunks.values_list("records", flat=True)) == [2]


def test_a_chunk_holds_no_more_records_than_the_replay_allows(target: Target) -> None:
    replay = changed(target.replay(MESSAGES), chunk_records=2)
    send_slice(replay.pk, "sender")
    assert list(replay.chunks.order_by("first").values_list("records", flat=True)) == [2, 1]


def test_the_canary_is_sent_and_awaited_step_by_step(target: Target) -> None:
    replay = changed(target.replay(MESSAGES), steps=[1, 1], breaker_percent=10)
    assert send_slice(replay.pk, "sender", 0.5) is True
    assert states(replay) == ["sent", "queued", "queued"]
    settle(replay, 0, ItemState.PASSED)
    send_slice(replay.pk, "sender", 1)
    assert states(replay) == ["passed", "sent", "queued"]
    settle(replay, 1, ItemState.FAILED_AGAIN)
    assert send_slice(replay.pk, "sender") is False
    replay.refresh_from_db()
    assert (replay.status, replay.trouble, states(replay)[2]) == (
        "paused",
        "1 of 1 canary records failed again",
        "queued",
    )
    assert replay.chunks.filter(state=ChunkState.COMMITTED).count() == 2
    assert len(target.records()) == 2


def states(replay: Replay) -> list[str]:
    return list(replay.items.order_by("ordinal").values_list("state", flat=True))


def settle(replay: Replay, ordinal: int, state: ItemState) -> None:
    item_states.move(replay.items.filter(ordinal=ordinal), ItemState.SENT, state, NOW)

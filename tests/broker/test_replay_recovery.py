"""What the next sender makes of a chunk that the last one left open, at each point where it may have died."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from confluent_kafka import Producer
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.broker.transactions import ChunkProducer, OutboundRecord, ProducerFenced, ProgressCommit
from dlqadmin.replays.items.item_rows import load, token
from dlqadmin.replays.items.messages import stamped
from dlqadmin.replays.models import Chunk, Replay
from dlqadmin.replays.sending.sender import send_slice
from engine.record.replay import ITEM
from tests.broker.test_replay_bytes import Target

pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(hours=1)


class Dying:
    """A sender of three records that got as far as a test says."""

    def __init__(self, servers: str) -> None:
        self.target = Target(servers)
        self.replay: Replay = self.target.replay([(b"%d" % n, b"v", ()) for n in range(3)])
        self.replay.progress_topic = self.target.name
        self.replay.save()
        self.producer = ChunkProducer(self.replay.transactional_id)
        self.producer.fence()

    def open(self, age: timedelta = timedelta(0)) -> None:
        """Write down what is about to be done."""
        name = self.target.name
        ends = {name: {"0": topics.ends([(name, 0)])[name, 0]}}
        Chunk.objects.create(replay=self.replay, first=0, after=3, records=3, ends=ends, opened_at=timezone.now() - age)

    def write(self, count: int = 3) -> None:
        """Commit the first records of the chunk, and its progress."""
        replay = self.replay
        batch = load(replay, replay.items.filter(ordinal__lt=count))
        records = [
            OutboundRecord(item.target_topic, None, message.key, message.value, headers)
            for item in batch
            for message in [item.message()]
            for named in [(str(replay.uuid), token(replay, item.ordinal), item.attempt, item.letter)]
            for headers in [stamped(message.headers, *named)]
        ]
        self.producer.write(records, ProgressCommit(replay.transactional_id, self.target.name, 3))

    def states(self) -> list[tuple[str, str, int | None]]:
        rows = self.replay.items.order_by("ordinal")
        return [(row.state, row.reason, row.sent_offset) for row in rows]

    def tokens(self) -> list[str]:
        return [(record.header(ITEM) or b"").decode().rpartition("/")[2] for record in self.target.records()]


@pytest.fixture
def dying(broker: str, settings: Any) -> Iterator[Dying]:
    settings.KAFKA_BOOTSTRAP_SERVERS = broker
    one = Dying(broker)
    yield one
    one.producer.close()


SENT = [("sent", "waiting", 0), ("sent", "waiting", 1), ("sent", "waiting", 2)]


def test_committed_in_kafka_and_not_in_the_database_is_found_and_not_sent_again(dying: Dying) -> None:
    dying.open()
    dying.write()
    send_slice(dying.replay.pk, "next")
    assert dying.states() == SENT
    assert dying.tokens() == ["0", "1", "2"]
    assert all(row.sent_digest for row in dying.replay.items.all())


def test_not_committed_is_sent_by_the_next_one(dying: Dying) -> None:
    dying.open()
    send_slice(dying.replay.pk, "next")
    assert [state for state, _, _ in dying.states()] == ["sent"] * 3
    assert dying.tokens() == ["0", "1", "2"]


def test_one_who_was_thought_dead_writes_nothing_after_the_takeover(dying: Dying) -> None:
    dying.open()
    send_slice(dying.replay.pk, "next")
    with pytest.raises(ProducerFenced):
        dying.write()
    assert dying.tokens() == ["0", "1", "2"]


def test_a_record_that_is_not_found_again_is_not_sent_again(dying: Dying) -> None:
    dying.open(LONG_AGO)
    dying.write(2)
    send_slice(dying.replay.pk, "next")
    assert dying.states() == [*SENT[:2], ("unknown", "coordinates_lost", None)]
    assert dying.tokens() == ["0", "1"]


def test_records_hidden_by_another_writers_open_transaction_are_waited_for(dying: Dying) -> None:
    name = dying.target.name
    other = Producer({"bootstrap.servers": dying.target.servers, "transactional.id": f"other-{name}", "log_level": 0})
    other.init_transactions(20)
    other.begin_transaction()
    other.produce(name, b"hides what comes after it", partition=0)
    other.flush(20)
    dying.open()
    dying.write()
    assert send_slice(dying.replay.pk, "next") is False
    assert dying.states() == [("queued", "", None)] * 3
    other.abort_transaction(20)
    send_slice(dying.replay.pk, "next")
    assert [state for state, _, _ in dying.states()] == ["sent"] * 3
    assert dying.tokens() == ["0", "1", "2"]


def test_where_the_stand_in_group_is_forgotten_the_records_decide(dying: Dying) -> None:
    dying.open()
    dying.write()
    forgotten = Target(dying.target.servers).name
    Replay.objects.update(progress_topic=forgotten, progress=1)
    send_slice(dying.replay.pk, "next")
    assert dying.states() == SENT
    assert dying.tokens() == ["0", "1", "2"]


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_what_nothing_may_be_left_of_is_not_sent_again(dying: Dying, policy: str) -> None:
    name = dying.target.name
    dying.open(LONG_AGO)
    dying.write()
    Replay.objects.update(progress_topic=Target(dying.target.servers).name)
    end = topics.ends([(name, 0)])[name, 0]
    if policy == "delete":
        dying.target.delete_before(end)
    else:
        dying.target.change("cleanup.policy", policy)
        Chunk.objects.update(ends={name: {"0": end}})  # as if none of its records were left
    send_slice(dying.replay.pk, "next")
    assert dying.states() == [("unknown", "coordinates_lost", None)] * 3
    assert all("it may have been sent" in row.evidence for row in dying.replay.items.all())


def test_an_old_chunk_that_would_have_left_a_trace_is_sent_by_the_next_one(dying: Dying) -> None:
    dying.open(LONG_AGO)
    send_slice(dying.replay.pk, "next")
    assert dying.tokens() == ["0", "1", "2"]


def test_one_sender_holds_a_replay_at_a_time(dying: Dying) -> None:
    Replay.objects.update(claim_token="alive", heartbeat=timezone.now())
    assert send_slice(dying.replay.pk, "other") is False
    assert dying.tokens() == []
    Replay.objects.update(heartbeat=timezone.now() - timedelta(seconds=11))
    send_slice(dying.replay.pk, "other")
    assert dying.tokens() == ["0", "1", "2"]


def test_a_cancelled_replay_sends_nothing_more_but_keeps_what_went_out(dying: Dying) -> None:
    dying.open()
    Replay.objects.update(status="cancelled")
    assert send_slice(dying.replay.pk, "next") is False
    assert dying.states() == [("skipped", "cancelled", None)] * 3
    assert dying.tokens() == []

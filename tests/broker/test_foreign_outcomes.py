"""What became of replayed records in real consumer groups that are not the engine's."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.deadletters.models import DeadLetter, IndexPosition
from dlqadmin.host.network import wait_until
from dlqadmin.replays.items import item_states
from dlqadmin.replays.models import Replay, ReplayItem, Selection, WatchPosition
from dlqadmin.replays.outcomes.watcher import watch
from engine.record.replay import ATTEMPT, ITEM
from tests.dlqadmin.deadletters.letters import index as index_rows
from tests.dlqadmin.deadletters.letters import letter
from tests.dlqadmin.fakes import FakeEngine

pytestmark = pytest.mark.django_db
SETTLE_S = 1.0


class Foreign:
    """Two records in a topic that no connector reads, their dead letter topic in the index, and a group."""

    def __init__(self, broker: str) -> None:
        name = uuid.uuid4().hex
        self.broker, self.group = broker, f"billing-{name}"
        self.topic, self.dlq = f"orders-{name}", f"orders-{name}.dlq"
        self.member: Consumer | None = None
        self.create(self.topic, self.dlq)

    def create(self, *names: str) -> None:
        admin = AdminClient({"log_level": 0, "bootstrap.servers": self.broker})
        for made in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
            made.result(20)

    def send(self) -> None:
        """What a replay has sent; its records had failed before, and their dead letters are in the index."""
        now = timezone.now()
        index_rows([letter(number, topic=self.dlq, connector="") for number in range(2)])
        DeadLetter.objects.update(origin_topic=self.topic, origin_offset=None)
        end = {"position": 0, "end_offset": 0, "updated_at": now}
        IndexPosition.objects.update_or_create(cluster="local", topic=self.dlq, partition=0, defaults=end)
        selection = Selection.objects.create(created_at=now, filters={}, title="two", watermark=2, count=2, digest="d")
        replay = Replay.objects.create(
            selection=selection,
            title="two",
            planned_at=now,
            created_at=now,
            started_at=now,
            status="watching",
            topic_ids=topics.topic_ids([self.topic]),
        )
        producer = Producer({"log_level": 0, "bootstrap.servers": self.broker})
        for number, dead in enumerate(DeadLetter.objects.order_by("offset")):
            item = ReplayItem.objects.create(
                replay=replay,
                ordinal=number,
                dead_letter=dead,
                lineage=f"{self.topic}/0/{number}",
                target_topic=self.topic,
                state="sent",
                state_at=now,
                sent_at=now,
                sent_partition=0,
                sent_offset=number,
            )
            headers: list[tuple[str, str | bytes | None]] = [(ITEM, item.token.encode()), (ATTEMPT, b"1")]
            producer.produce(self.topic, b"v", partition=0, headers=headers)
        producer.flush(20)
        item_states.created(replay)

    def join(self) -> None:
        options = {"group.id": self.group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        self.member = Consumer({"log_level": 0, "bootstrap.servers": self.broker, **options})
        self.member.subscribe([self.topic])
        self.member.poll(0.5)
        wait_until(lambda: self.member is not None and bool(self._polled().assignment()), "a partition is owned", 60)

    def read_and_commit(self) -> None:
        member, read = self._polled(rewind=True), list[Any]()

        def is_read() -> bool:
            read.extend(member.consume(2, 0.5))
            return len(read) >= 2

        wait_until(is_read, "both records read", 60)
        member.commit(asynchronous=False)

    def leave(self) -> None:
        if self.member is not None:
            self.member.close()
            self.member = None

    def outcomes(self) -> list[str]:
        WatchPosition.objects.update(slow_at=None)
        watch()
        rows = ReplayItem.objects.order_by("ordinal")
        return [f"{row.state}({row.reason})" if row.reason else row.state for row in rows]

    def _polled(self, *, rewind: bool = False) -> Consumer:
        assert self.member is not None
        if rewind:
            for place in self.member.assignment():
                place.offset = 0
                self.member.seek(place)
        else:
            self.member.poll(0.2)
        return self.member


def wait_for_settle_time() -> None:
    settled = time.monotonic() + SETTLE_S
    wait_until(lambda: time.monotonic() > settled, "the settle time", 30)


@pytest.fixture
def foreign(broker: str, settings: Any) -> Iterator[Foreign]:
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.CLUSTER, settings.OBSERVED_SETTLE_S = broker, "local", SETTLE_S
    settings.OUTCOME_TOPIC = f"outcomes-{uuid.uuid4().hex}"
    made = Foreign(broker)
    settings.DLQ_TOPICS = [made.dlq]
    with FakeEngine() as engine:
        settings.ENGINE_URL = engine.url
        yield made
    made.leave()


def test_a_real_group_that_read_and_committed_has_let_them_pass_and_nothing_more_is_claimed(foreign: Foreign) -> None:
    foreign.join()
    foreign.send()
    Replay.objects.update(watch=[foreign.group])
    assert foreign.outcomes() == ["sent(waiting)"] * 2
    foreign.read_and_commit()
    assert foreign.outcomes() == ["sent(settling)"] * 2
    wait_for_settle_time()
    assert foreign.outcomes() == ["passed(observed)"] * 2
    item = ReplayItem.objects.earliest("ordinal")
    assert (item.watched, item.evidence) == (
        f"group:{foreign.group}",
        f"observed: {foreign.group} committed past the record, and no dead letter arrived within 1 s",
    )
    assert Replay.objects.get().status == "done"


def test_the_marker_of_a_transaction_in_a_retry_topic_keeps_no_record_waiting(foreign: Foreign) -> None:
    """A group commits the offset after its last record, which is the marker's."""
    retry = f"{foreign.topic}-retry-0"
    foreign.create(retry)
    producer = Producer({"log_level": 0, "bootstrap.servers": foreign.broker, "transactional.id": retry})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(retry, b"v", partition=0)
    producer.commit_transaction(20)
    foreign.join()
    foreign.send()
    Replay.objects.update(watch=[foreign.group])
    foreign.read_and_commit()
    options = {"group.id": f"{foreign.group}-retry-0", "enable.auto.commit": False}
    with closing(Consumer({"log_level": 0, "bootstrap.servers": foreign.broker, **options})) as reader:
        for offset, outcome in ((0, "sent(in_retry)"), (1, "sent(settling)")):
            reader.commit(offsets=[TopicPartition(retry, 0, offset)], asynchronous=False)
            assert topics.ends([(retry, 0)]) == {(retry, 0): 2}
            assert foreign.outcomes() == [outcome] * 2
    wait_for_settle_time()
    assert foreign.outcomes() == ["passed(observed)"] * 2


def test_a_real_group_that_everybody_left_says_nothing_of_what_comes_after(foreign: Foreign) -> None:
    foreign.join()
    foreign.send()
    foreign.read_and_commit()
    foreign.leave()
    ReplayItem.objects.update(sent_offset=2, sent_at=timezone.now())
    ReplayItem.objects.filter(ordinal=1).update(sent_offset=3)
    assert foreign.outcomes() == ["unknown(group_empty)"] * 2
    assert ReplayItem.objects.earliest("ordinal").watched == f"group:{foreign.group}"


def test_a_member_that_came_and_left_between_two_looks_has_read_the_records(foreign: Foreign) -> None:
    foreign.join()
    foreign.leave()
    foreign.send()
    Replay.objects.update(watch=[foreign.group])
    assert foreign.outcomes() == ["unknown(group_empty)"] * 2
    foreign.join()
    foreign.read_and_commit()
    foreign.leave()
    assert foreign.outcomes() == ["sent(settling)"] * 2
    wait_for_settle_time()
    assert foreign.outcomes() == ["passed(observed)"] * 2


def test_an_offset_that_somebody_moved_between_two_looks_proves_nothing(foreign: Foreign) -> None:
    foreign.join()
    foreign.send()
    Replay.objects.update(watch=[foreign.group])
    assert foreign.outcomes() == ["sent(waiting)"] * 2
    foreign.leave()
    with closing(Consumer({"log_level": 0, "bootstrap.servers": foreign.broker, "group.id": foreign.group})) as tool:
        tool.commit(offsets=[TopicPartition(foreign.topic, 0, 2)], asynchronous=False)
    assert foreign.outcomes() == ["unknown(offset_moved_by_hand)"] * 2


def test_nobody_but_its_members_commits_for_a_group_that_has_some(foreign: Foreign) -> None:
    """So a rebalance, in which nobody owns a partition, moves no offset by hand."""
    foreign.join()
    options = {"log_level": 0, "bootstrap.servers": foreign.broker, "group.id": foreign.group}
    with closing(Consumer(options)) as stranger:
        with pytest.raises(KafkaException) as refused:
            stranger.commit(offsets=[TopicPartition(foreign.topic, 0, 1)], asynchronous=False)
        assert refused.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID
        foreign.leave()
        stranger.commit(offsets=[TopicPartition(foreign.topic, 0, 1)], asynchronous=False)

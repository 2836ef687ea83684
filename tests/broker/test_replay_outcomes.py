"""What became of replayed records, told by a real engine lease on a real broker."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.deadletters.index.consumer import follow
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import OutcomeReport, Replay, ReplayItem, Selection, WatchPosition
from dlqadmin.replays.outcomes.watcher import watch
from engine.kafka.client_options import consumer_settings
from engine.kafka.consumer import KafkaConsumer
from engine.ports import Committed
from engine.record.record import TopicPartition
from engine.record.replay import ATTEMPT, ID, ITEM
from engine.reporting.replay_outcomes import OUTCOME_TOPIC_CONFIG
from tests.broker.connector import Connector, file_sink
from tests.dlqadmin.deadletters.letters import index as index_rows
from tests.dlqadmin.deadletters.letters import letter
from tests.dlqadmin.fakes import FakeEngine

pytestmark = pytest.mark.django_db
GOOD, BAD = b'{"a": 1}', b'{"a: 10}'


class Replayed:
    """Records that were written back to a connector's topic, and the dashboard that watches them."""

    def __init__(self, connector: Connector, values: Sequence[bytes | None], engine: FakeEngine, settings: Any) -> None:
        settings.KAFKA_BOOTSTRAP_SERVERS, settings.ENGINE_URL = connector.broker, engine.url
        settings.DLQ_TOPICS, settings.OUTCOME_TOPIC, settings.CLUSTER = (
            [connector.dlq],
            connector.outcome_topic,
            "local",
        )
        self.connector, self.now = connector, timezone.now()
        engine.add(connector.name, connector.props)
        connector.admin.create_topic(connector.outcome_topic, 1, 1, OUTCOME_TOPIC_CONFIG)  # as the driver does
        self.replay = self._replay()
        start = topics.ends([(connector.topic, 0)])[connector.topic, 0]
        for ordinal, value in enumerate(values):
            self._send(ordinal, start + ordinal, value)

    def lease(self) -> None:
        self.connector.run()

    def index(self) -> int:
        return follow(threading.Event(), f"index-{self.connector.name}", once=True)

    def watch(self) -> list[str]:
        """Each item's outcome, in a word."""
        watch()
        rows = ReplayItem.objects.order_by("ordinal")
        return [f"{row.state}({row.reason})" if row.reason else row.state for row in rows]

    def _replay(self) -> Replay:
        at = self.now
        selection = Selection.objects.create(created_at=at, filters={}, title="some", watermark=1, count=1, digest="d")
        topic = self.connector.topic
        return Replay.objects.create(
            selection=selection,
            title="some",
            planned_at=at,
            created_at=at,
            status="watching",
            topic_ids=topics.topic_ids([topic]),
        )

    def _send(self, ordinal: int, offset: int, value: bytes | None) -> None:
        index_rows([letter(ordinal, topic="earlier.dlq")])
        item = ReplayItem.objects.create(
            replay=self.replay,
            ordinal=ordinal,
            dead_letter=DeadLetter.objects.get(topic="earlier.dlq", offset=ordinal),
            lineage=f"earlier/0/{ordinal}",
            watched=self.connector.name,
            target_topic=self.connector.topic,
            state="sent",
            state_at=self.now,
            sent_at=self.now,
            sent_partition=0,
            sent_offset=offset,
        )
        own = ((ID, str(self.replay.uuid).encode()), (ITEM, item.token.encode()), (ATTEMPT, b"1"))
        self.connector.send([value], headers=own)


@pytest.fixture
def engine() -> Any:
    with FakeEngine() as running:
        yield running


def test_each_record_gets_the_outcome_that_its_task_reported(
    broker: str, tmp_path: Path, engine: FakeEngine, settings: Any
) -> None:
    steps = {"transforms": "nulls", "transforms.nulls.type": "tests.broker.steps.LeaveOutNulls"}
    connector = Connector(broker, {**file_sink(tmp_path / "out"), **steps}).with_dead_letters()
    connector.send([GOOD])
    connector.run()
    replayed = Replayed(connector, [GOOD, None, BAD], engine, settings)
    assert replayed.watch() == ["sent(waiting)"] * 3
    replayed.lease()
    assert replayed.watch() == ["sent(indexing)"] * 3
    assert replayed.index() == 1
    assert replayed.watch() == ["passed", "passed(filtered)", "failed_again"]
    dead = DeadLetter.objects.get(topic=connector.dlq)
    assert ReplayItem.objects.get(ordinal=2).refailure == dead
    assert (dead.replay_item, dead.replay_attempt) == (ReplayItem.objects.get(ordinal=2).token, 1)
    assert Replay.objects.get().status == "done"
    assert OutcomeReport.objects.count() == 3


def test_a_record_that_is_tolerated_without_a_dead_letter_failed_again(
    broker: str, tmp_path: Path, engine: FakeEngine, settings: Any
) -> None:
    connector = Connector(broker, {**file_sink(tmp_path / "out"), "errors.tolerance": "all"})
    replayed = Replayed(connector, [BAD, GOOD], engine, settings)
    replayed.lease()
    assert replayed.watch() == ["failed_again(skipped)", "passed"]


def test_a_task_that_fails_at_the_record_leaves_it_and_what_follows_unread(
    broker: str, tmp_path: Path, engine: FakeEngine, settings: Any
) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out"))
    replayed = Replayed(connector, [GOOD, BAD, GOOD], engine, settings)
    replayed.lease()
    engine.add(connector.name, connector.props, state="FAILED")
    assert replayed.watch() == ["passed", "unknown(group_empty)", "unknown(group_empty)"]


def test_an_offset_that_was_moved_by_hand_proves_nothing(
    broker: str, tmp_path: Path, engine: FakeEngine, settings: Any
) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out")).with_dead_letters()
    connector.send([GOOD])
    connector.run()
    replayed = Replayed(connector, [GOOD, GOOD], engine, settings)
    hand = KafkaConsumer(consumer_settings(f"connect-{connector.name}", connector.client))
    hand.commit({TopicPartition(connector.topic, 0): Committed(2)})
    hand.close()
    assert replayed.watch() == ["unknown(no_reports)", "sent(waiting)"]
    replayed.lease()
    WatchPosition.objects.update(slow_at=None)
    assert replayed.watch() == ["unknown(offset_moved_by_hand)", "passed"]


def test_a_topic_that_was_deleted_is_not_the_one_it_was_sent_to(
    broker: str, tmp_path: Path, engine: FakeEngine, settings: Any
) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out")).with_dead_letters()
    replayed = Replayed(connector, [GOOD], engine, settings)
    Replay.objects.update(topic_ids={connector.topic: "AAAAAAAAAAAAAAAAAAAAAA"})
    assert replayed.watch() == ["unknown(topic_recreated)"]

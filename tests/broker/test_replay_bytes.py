"""The messages of a replay: the record as it was, byte for byte, with four headers of the replay behind its own."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.cimpl import NewTopic
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from demo.broker import LocalBroker
from dlqadmin.broker import topics
from dlqadmin.host.network import wait_until
from dlqadmin.replays.items import item_states
from dlqadmin.replays.items.lineage_claims import claim
from dlqadmin.replays.items.messages import stripped
from dlqadmin.replays.models import ItemState, Replay, ReplayItem, Selection
from dlqadmin.replays.sending.sender import send_slice
from engine.record.record import Headers
from engine.record.replay import ATTEMPT, ID, ITEM, LETTER
from tests.dlqadmin.deadletters.letters import NOW, index_one, letter
from tests.support.topics import Record, codec, read

pytestmark = pytest.mark.django_db
SOME_BYTES = st.none() | st.binary(max_size=40) | st.sampled_from([b"", b"\x00", b"\xff\xfe", b'{"a": 1,  "a": 2}\r\n'])
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
HEADERS = st.lists(st.tuples(NAMES, SOME_BYTES), max_size=4).map(tuple)
Message = tuple[bytes | None, bytes | None, Headers]


class Target:
    """A topic of its own, and replays into it."""

    def __init__(self, servers: str, config: dict[str, str] | None = None) -> None:
        self.servers, self.name, self.count = servers, f"target-{uuid.uuid4().hex[:8]}", 0
        self.admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        self.admin.create_topics([NewTopic(self.name, 1, 1, config=config or {})])[self.name].result(20)

    def replay(self, messages: Sequence[Message]) -> Replay:
        """A running replay of dead letters of these messages."""
        selection = Selection.objects.create(created_at=NOW, filters={}, title="some", watermark=1, count=1, digest="d")
        replay = Replay.objects.create(
            selection=selection,
            title="some",
            planned_at=NOW,
            created_at=NOW,
            rate=0,
            status="running",
            progress_topic=self.name,
        )
        for ordinal, (key, value, headers) in enumerate(messages):
            self.count += 1
            dead = index_one(letter(self.count, topic=f"{self.name}.dlq", key=key, value=value, headers=headers))
            ReplayItem.objects.create(
                replay=replay,
                ordinal=ordinal,
                dead_letter=dead,
                lineage=f"{self.name}/0/{self.count}",
                target_topic=self.name,
                state=ItemState.QUEUED,
                state_at=NOW,
            )
        item_states.created(replay)
        assert claim(replay, resend=False) == len(messages)
        return replay

    def records(self) -> list[Record]:
        return read(self.servers, self.name)

    def delete_before(self, offset: int) -> None:
        """As retention does."""
        before = TopicPartition(self.name, 0, offset)
        self.admin.delete_records([before])[before].result(20)

    def change(self, option: str, value: str) -> None:
        """Set an option of the topic, and wait until the broker says so: it learns it later than the controller."""
        entry = ConfigEntry(option, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, self.name, incremental_configs=[entry])
        self.admin.incremental_alter_configs([resource])[resource].result(20)
        wait_until(lambda: topics.configs([self.name])[self.name][option] == value, f"{option}={value}", 20)


@pytest.fixture
def target(broker: str, settings: Any) -> Target:
    settings.KAFKA_BOOTSTRAP_SERVERS = broker
    return Target(broker)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(st.tuples(SOME_BYTES, SOME_BYTES, HEADERS), min_size=1, max_size=8))
def test_an_unedited_record_is_byte_identical(target: Target, messages: list[Message]) -> None:
    before = len(target.records())
    replay = target.replay(messages)
    assert send_slice(replay.pk, "sender") is False
    written = target.records()[before:]
    expected = [
        (key, value, (*(row for row in headers if row[0] not in stripped(headers, "kip298")), *_own(replay, ordinal)))
        for ordinal, (key, value, headers) in enumerate(messages)
    ]
    assert [(record.key, record.value, record.headers) for record in written] == expected


def test_headers_of_an_earlier_replay_and_of_the_dead_letter_are_not_sent_again(target: Target) -> None:
    headers = ((ITEM, b"older/1"), ("kafka_dlt-exception-fqcn", b"X"), ("trace", None), (ATTEMPT, b"1"), ("trace", b""))
    replay = target.replay([(b"k", b"v", headers)])
    send_slice(replay.pk, "sender")
    assert target.records()[-1].headers == (("trace", None), ("trace", b""), *_own(replay, 0))


def test_a_record_that_the_topic_refuses_is_left_out_and_the_others_are_sent(broker: str, settings: Any) -> None:
    settings.KAFKA_BOOTSTRAP_SERVERS = broker
    target = Target(broker, {"max.message.bytes": "20000", "compression.type": "uncompressed"})
    big = b"".join(sha256(b"%d" % n).digest() for n in range(2000))  # does not compress
    replay = target.replay([(b"a", b"1", ()), (b"b", big, ()), (b"c", b"3", ())])
    while send_slice(replay.pk, "sender"):
        pass
    states = [(item.state, item.reason) for item in replay.items.order_by("ordinal")]
    assert states == [("sent", "waiting"), ("skipped", "rejected"), ("sent", "waiting")]
    assert [record.key for record in target.records()] == [b"a", b"c"]
    replay.refresh_from_db()
    assert replay.status == "watching"


def test_a_replay_is_written_without_compression_unless_the_topic_compresses(
    own_broker: LocalBroker, settings: Any
) -> None:
    # Not every consumer can read every codec: lz4 stops kafkajs.
    settings.KAFKA_BOOTSTRAP_SERVERS = servers = own_broker.bootstrap_servers
    targets = [Target(servers), Target(servers, {"compression.type": "gzip"})]
    for target in targets:
        send_slice(target.replay([(b"k", b"x" * 5000, ())]).pk, "sender")
    assert [codec(own_broker.home, target.name) for target in targets] == [0, 1]


def test_a_missing_topic_pauses_the_replay_and_says_so(target: Target) -> None:
    replay = target.replay([(b"k", b"v", ())])
    replay.items.update(target_topic="nowhere")
    assert send_slice(replay.pk, "sender") is False
    replay.refresh_from_db()
    assert (replay.status, replay.trouble) == ("paused", "the replay can't continue: topic nowhere does not exist")
    assert replay.items.get().state == "queued"


def _own(replay: Replay, ordinal: int) -> Headers:
    item = f"{replay.uuid}/{ordinal}".encode()
    letter = replay.items.get(ordinal=ordinal).dead_letter
    place = f"{letter.topic}/{letter.partition}/{letter.offset}".encode()
    return ((ID, str(replay.uuid).encode()), (ITEM, item), (ATTEMPT, b"1"), (LETTER, place))

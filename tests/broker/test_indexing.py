"""Dead letters from a real broker to the index."""

from __future__ import annotations

import base64
import json
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.cimpl import NewTopic
from django.core.management import call_command
from django.utils import timezone

from demo.broker import LocalBroker
from dlqadmin.broker.consumer import GroupConsumer
from dlqadmin.deadletters.index import consumer
from dlqadmin.deadletters.index.column_values import unpack_headers
from dlqadmin.deadletters.index.consumer import Indexer, follow
from dlqadmin.deadletters.index.followed_topics import followed_topics
from dlqadmin.deadletters.index.retention import prune
from dlqadmin.deadletters.models import (
    CountDay,
    DeadLetter,
    DeadLetterBody,
    DeadLetterText,
    IndexPosition,
    TopicRule,
)

pytestmark = pytest.mark.django_db
CONNECT = [
    ("__connect.errors.topic", b"origin"),
    ("__connect.errors.partition", b"0"),
    ("__connect.errors.offset", b"7"),
    ("__connect.errors.stage", b"TASK_PUT"),
    ("__connect.errors.exception.class.name", b"java.sql.SQLException"),
    ("__connect.errors.exception.message", b"line 1"),
]


class Topics:
    """An origin and a dead letter topic of one test."""

    def __init__(self, servers: str, settings: Any) -> None:
        name = uuid.uuid4().hex
        self.origin, self.dead, self.group = f"{name}.events", f"{name}.dlq", f"index-{name}"
        settings.KAFKA_BOOTSTRAP_SERVERS = servers
        settings.DLQ_TOPICS = [rf"{name}[.-]dlq$"]
        settings.CLUSTER = "local"
        self._producer = Producer({"bootstrap.servers": servers, "log_level": 0, "message.max.bytes": 12_000_000})
        self.admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        self.create([NewTopic(self.origin, 1, 1), NewTopic(self.dead, 3, 1)])

    def create(self, wanted: list[NewTopic]) -> None:
        for future in self.admin.create_topics(wanted).values():
            future.result(20)

    def send(self, topic: str, value: bytes | None, key: bytes | None = None, **more: Any) -> None:
        self._producer.produce(topic, value, key, **more)
        assert self._producer.flush(30) == 0

    def index(self) -> int:
        return follow(threading.Event(), self.group, once=True)


@pytest.fixture
def topics(broker: str, settings: Any) -> Topics:
    return Topics(broker, settings)


def context(topic: str, offset: int, value: bytes | None) -> bytes:
    """An error context of KIP-298, its message in it or not."""
    record: dict[str, Any] = {"topic": topic, "partition": 0, "offset": offset, "timestamp": 1, "key": None}
    record["timestamp_type"] = "CREATE_TIME"
    if value is not None:
        record["key"] = {"schema": "BYTES", "value": base64.b64encode(b"k").decode()}
        record["value"] = {"schema": "BYTES", "value": base64.b64encode(value).decode()}
    else:
        del record["key"]
    stage = {"type": "VALUE_CONVERTER", "class": "JsonConverter"}
    return json.dumps(
        {
            "record": record,
            "stages": [stage],
            "index": 0,
            "exception": "a.B: not JSON\n  at engine/x.py:f:1",
            "attempt": 2,
            "task_id": "c-0",
            "time_of_error": 1_790_000_000_000,
        }
    ).encode()


def test_every_message_of_a_dead_letter_topic_is_indexed_once(topics: Topics) -> None:
    topics.send(topics.dead, b"whole \xff", b"k1", headers=CONNECT)
    topics.send(topics.dead, context(topics.origin, 0, b'{"a: 10}'), b"k")
    topics.send(topics.dead, None)
    topics.send(topics.dead, b"not an error context")
    assert topics.index() == 4
    assert topics.index() == 0
    rows = {row.dialect: row for row in DeadLetter.objects.select_related("body")}
    assert rows.keys() == {"connect-headers", "kip298", "unreadable"}
    assert bytes(rows["connect-headers"].body.value or b"") == b"whole \xff"
    assert bytes(rows["kip298"].body.value or b"") == b'{"a: 10}'
    assert sum(CountDay.objects.values_list("n", flat=True)) == 4
    positions = IndexPosition.objects.filter(topic=topics.dead)
    assert positions.count() == 3
    assert all(row.position == row.end_offset for row in positions)


def test_a_pointer_gets_its_bytes_from_the_origin_or_is_expired(topics: Topics) -> None:
    for number in range(3):
        topics.send(topics.origin, b"original %d" % number, b"key %d" % number)
    topics.send(topics.origin, b"original 3", b"key 3", headers=[("mine", b"1"), ("mine", None)])
    topics.send(topics.dead, context(topics.origin, 1, None))
    topics.send(topics.dead, context(topics.origin, 3, None))
    topics.send(topics.dead, context(topics.origin, 99, None))
    topics.send(topics.dead, context("no.such.topic", 1, None))
    assert topics.index() == 4
    found = DeadLetter.objects.get(original="fetched", origin_offset=1)
    assert (found.key_text, bytes(found.body.value or b"")) == ("key 1", b"original 1")
    assert DeadLetter.objects.filter(original="expired", body__value=None).count() == 2
    headers = DeadLetter.objects.get(original="fetched", origin_offset=3).body.original_headers
    assert unpack_headers(bytes(headers or b"")) == (("mine", b"1"), ("mine", None))


def test_ten_megabytes_are_indexed(topics: Topics) -> None:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topics.dead)
    resource.add_incremental_config(
        ConfigEntry("max.message.bytes", "12000000", incremental_operation=AlterConfigOpType.SET)
    )
    for future in topics.admin.incremental_alter_configs([resource]).values():
        future.result(20)
    for _ in range(3):
        topics.send(topics.dead, b"x" * 10_000_000)
    assert topics.index() == 3
    assert set(DeadLetter.objects.values_list("value_size", flat=True)) == {10_000_000}


def test_the_command_indexes_once(topics: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    topics.send(topics.dead, b"?")
    call_command("index_deadletters", "--once", "--group", topics.group)
    assert "indexed 1 dead letters" in capsys.readouterr().out


def test_an_indexer_that_dies_before_it_commits_its_offsets_doubles_nothing(
    topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise Killed

    for number in range(10):
        topics.send(topics.dead, b"value %d" % number)
    with monkeypatch.context() as patched:
        patched.setattr(GroupConsumer, "commit", die)
        with pytest.raises(Killed):
            topics.index()
    assert DeadLetter.objects.exists()
    topics.index()
    assert (DeadLetter.objects.count(), sum(CountDay.objects.values_list("n", flat=True))) == (10, 10)
    assert DeadLetterText.objects.count() == 10


class Killed(BaseException):
    """The death of an indexer, made by a test; nothing catches it."""


class Acts(threading.Event):
    """Tells an indexer to go on while it does what a person does meanwhile: each act once its condition holds."""

    def __init__(self, *acts: tuple[Callable[[], object], Callable[[], object]]) -> None:
        super().__init__()
        self.left = list(acts)
        self._until = time.monotonic() + 60

    def is_set(self) -> bool:
        if self.left and self.left[0][0]():
            self.left.pop(0)[1]()
        return not self.left or time.monotonic() > self._until


def test_an_indexer_follows_the_rules_of_administrators_while_it_runs(topics: Topics) -> None:
    odd = topics.dead.removesuffix(".dlq") + ".parked"  # matches no pattern
    topics.create([NewTopic(odd, 1, 1)])

    def rule(topic: str, is_excluded: bool) -> None:
        TopicRule.objects.create(cluster="local", topic=topic, is_excluded=is_excluded, actor="admin", reason="r")

    def sent_by(value: bytes) -> Callable[[], object]:
        return lambda: DeadLetterBody.objects.filter(value=value).exists()

    def add() -> None:
        rule(odd, is_excluded=False)
        rule(topics.dead, is_excluded=True)
        topics.send(odd, b"in the added topic")

    def send_to_both() -> None:
        topics.send(topics.dead, b"in the excluded topic")
        topics.send(odd, b"later in the added topic")

    topics.send(topics.dead, b"first")
    acts = Acts(
        (sent_by(b"first"), add),
        (sent_by(b"in the added topic"), send_to_both),
        (sent_by(b"later in the added topic"), TopicRule.objects.filter(topic=topics.dead).delete),
        (sent_by(b"in the excluded topic"), lambda: None),
    )
    indexed = follow(acts, topics.group)
    # The excluded topic was read only after its rule was gone, from where the indexer had stopped.
    assert acts.left == []
    values = [
        bytes(row or b"") for row in DeadLetterBody.objects.order_by("dead_letter_id").values_list("value", flat=True)
    ]
    assert values == [b"first", b"in the added topic", b"later in the added topic", b"in the excluded topic"]
    assert indexed == 4


def test_an_indexer_without_topics_waits_for_the_first(topics: Topics, settings: Any) -> None:
    settings.DLQ_TOPICS = []
    topics.send(topics.dead, b"first")
    began = time.monotonic()
    acts = Acts(
        (
            lambda: time.monotonic() > began + 1,
            lambda: TopicRule.objects.create(cluster="local", topic=topics.dead, is_excluded=False),
        ),
        (DeadLetter.objects.exists, lambda: None),
    )
    assert (follow(acts, topics.group), acts.left) == (1, [])


def test_a_broker_that_restarts_is_waited_for(own_broker: LocalBroker, settings: Any) -> None:
    topics = Topics(own_broker.bootstrap_servers, settings)
    topics.send(topics.dead, b"before")
    assert topics.index() == 1
    own_broker.kill()
    restart = threading.Timer(0.5, own_broker.start)
    restart.start()
    assert topics.index() == 0
    restart.join()
    topics.send(topics.dead, b"after")
    assert topics.index() == 1
    assert DeadLetter.objects.count() == 2


@pytest.mark.django_db(transaction=True)  # another thread asks the database, too
def test_an_index_that_is_older_than_the_groups_offsets_reads_what_it_lacks(topics: Topics) -> None:
    for number in range(4):
        topics.send(topics.dead, b"%d" % number, partition=number // 3)
    assert topics.index() == 4
    DeadLetter.objects.exclude(partition=0, offset=0).delete()  # as if last night's database had been restored
    IndexPosition.objects.filter(topic=topics.dead, partition=0).update(position=1)
    IndexPosition.objects.filter(topic=topics.dead, partition=1).delete()
    topics.send(topics.dead, b"4", partition=0)
    assert topics.index() == 4
    assert topics.index() == 0
    values = DeadLetterBody.objects.values_list("value", flat=True)
    assert sorted(bytes(value or b"") for value in values) == [b"0", b"1", b"2", b"3", b"4"]


def test_an_indexer_stays_in_its_group_while_the_broker_is_away(
    own_broker: LocalBroker, settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    topics = Topics(own_broker.bootstrap_servers, settings)
    members: list[GroupConsumer] = []

    class Member(GroupConsumer):
        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            members.append(self)

    def sent_by(value: bytes) -> Callable[[], object]:
        return lambda: DeadLetterBody.objects.filter(value=value).exists()

    def come_back() -> None:
        own_broker.start()
        topics.send(topics.dead, b"after")

    monkeypatch.setattr(consumer, "GroupConsumer", Member)
    topics.send(topics.dead, b"before")
    acts = Acts(
        (sent_by(b"before"), own_broker.kill),
        (lambda: "the ends of the topics are not known" in caplog.text, come_back),
        (sent_by(b"after"), lambda: None),
    )
    assert (follow(acts, topics.group), acts.left) == (2, [])
    assert len(members) == 1  # a second one would wait until the group gives up the first


def test_a_topic_that_is_read_again_has_every_dead_letter_once(
    topics: Topics, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(5):
        topics.send(topics.dead, b"value %d" % number)
    assert topics.index() == 5
    before = set(DeadLetter.objects.values_list("pk", flat=True))
    call_command("reindex_deadletters", topics.dead)
    assert "reindexed 5 dead letters" in capsys.readouterr().out
    assert not before & set(DeadLetter.objects.values_list("pk", flat=True))
    assert (DeadLetter.objects.count(), sum(CountDay.objects.values_list("n", flat=True))) == (5, 5)
    assert topics.index() == 0


def test_the_first_batch_of_a_recreated_topic_is_indexed_after_retention_deleted_its_predecessor(
    topics: Topics, settings: Any
) -> None:
    settings.RETENTION_DAYS = 30
    letter = {"headers": CONNECT, "timestamp": 1}  # Kafka Connect copies the time of the failed record
    for number in range(3):
        topics.send(topics.dead, b"former %d" % number, b"k", **letter)
    assert topics.index() == 3
    assert prune(timezone.now()) == 3
    topics.admin.delete_topics([topics.dead])[topics.dead].result(20)
    topics.create([NewTopic(topics.dead, 3, 1)])
    topics.send(topics.dead, b"new", b"k", **letter)
    with GroupConsumer(topics.group, [topics.dead]) as consumer:
        # Not `run`: it may store the ends before the first records come.
        indexer = Indexer(consumer, topics.group, "local", followed_topics())
        until = time.monotonic() + 60
        while not (items := indexer.read().items) and time.monotonic() < until:
            pass
        assert indexer.index(items) == 1
    # A group without committed offsets reads the topic again. The deleted letter stays deleted.
    assert prune(timezone.now()) == 1
    assert follow(threading.Event(), f"{topics.group}-again", once=True) == 0

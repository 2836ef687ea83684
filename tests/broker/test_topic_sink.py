"""A KafkaSink on a real broker."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from engine.assembly.validation import validate
from engine.config.worker import parse_worker
from engine.errors import ConfigError
from engine.record.record import RawRecord, TopicPartition
from engine.record.replay import ATTEMPT, ID, ITEM
from engine.worker_messages import Delivery, LeaseEnd
from tests.broker.exactly import ExactlyOnce, read_committed
from tests.broker.test_lease import balance

GUARANTEES = ("exactly_once", "at_least_once")


class ToTopic(ExactlyOnce):
    """A KafkaSink that writes to `out`."""

    def __init__(self, broker: str, partitions: int = 1, guarantee: str = "exactly_once", **options: str) -> None:
        self.transactional = guarantee == "exactly_once"
        named = {name.replace("_", "."): value for name, value in options.items()}
        props = {"connector.class": "KafkaSink", "delivery.guarantee": guarantee, **named}
        super().__init__(broker, props, partitions)
        self.out = f"{self.topic}-out"
        self.props.setdefault("topic", self.out)
        self.admin.create_topic(self.out, 3, 1, {"max.message.bytes": "1000000"})
        self.configure(1)

    def written(self) -> list[RawRecord]:
        return [one for number in range(3) for one in read_committed(self.broker, TopicPartition(self.out, number))]

    def values(self) -> list[Any]:
        return [orjson.loads(one.value or b"null") for one in self.written()]


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_records_keep_key_headers_and_time(broker: str, guarantee: str) -> None:
    connector = ToTopic(broker, guarantee=guarantee)
    headers = (("h", b"\x00\xff"), ("h", None), ("text", b"1"))
    connector.send([b'{"a": 1}', b'{"a": 2}', None], headers=headers)
    report = connector.run()
    assert (report.end, balance(report.metrics)) == (LeaseEnd.CAUGHT_UP, (3, 3, 0, 0, 0)), report.trace
    sent = connector.read(connector.partitions[0])
    written = connector.written()
    assert [one.value for one in written] == [b'{"a":1}', b'{"a":2}', None]
    assert {(one.key, one.headers) for one in written} == {(b"k", headers)}
    assert [one.timestamp for one in written] == [one.timestamp for one in sent]
    assert connector.run().progressed is False
    assert len(connector.written()) == 3


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_equal_keys_meet_in_one_partition_unless_the_partition_is_kept(broker: str, guarantee: str) -> None:
    by_key = ToTopic(broker, 2, guarantee)
    kept = ToTopic(broker, 2, guarantee, partition_keep="true")
    for connector in (by_key, kept):
        connector.send([b"0"])
        connector.send([b"1"], partition=1)
        connector.run()
    assert len({one.partition for one in by_key.written()}) == 1
    assert [(one.partition, one.value) for one in kept.written()] == [(0, b"0"), (1, b"1")]


def test_it_writes_as_its_output_converters_say(broker: str) -> None:
    connector = ToTopic(broker)
    connector.props |= {"output.value.converter": "JsonConverter", "output.value.converter.schemas.enable": "true"}
    connector.send([b'{"a":1}'])
    connector.run()
    assert connector.values() == [{"schema": None, "payload": {"a": 1}}]


def test_records_that_a_converter_can_not_write_become_dead_letters(broker: str) -> None:
    connector = ToTopic(broker).with_dead_letters()
    connector.props |= {"output.value.converter": "LongConverter"}
    connector.send([b"1", b'"x"', b"2"])
    report = connector.run()
    assert (report.end, balance(report.metrics)) == (LeaseEnd.CAUGHT_UP, (3, 2, 1, 0, 0)), report.trace
    (context,) = connector.contexts()
    assert context["stages"][context["index"]]["type"] == "VALUE_CONVERTER"
    assert context["record"]["offset"] == 1


@pytest.mark.parametrize("limit", [20_000_000, 900_000], ids=["by the broker", "by the client"])
@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_records_that_are_rejected_become_dead_letters_and_the_others_are_written(
    broker: str, guarantee: str, limit: int
) -> None:
    connector = ToTopic(broker, guarantee=guarantee).with_dead_letters()
    connector.props["producer.override.max.request.size"] = str(limit)
    connector.props["producer.override.compression.type"] = "none"
    bad = {17, 18, 1500, 2999}
    large = b'"' + b"x" * 1_500_000 + b'"'
    connector.send(large if number in bad else b"%d" % number for number in range(3000))
    report = connector.run(60_000)
    assert (report.end, balance(report.metrics)) == (LeaseEnd.CAUGHT_UP, (3000, 2996, 4, 0, 0)), report.trace
    values = connector.values()
    if guarantee == "at_least_once":
        assert set(values) == set(range(3000)) - bad
    else:
        assert values == [number for number in range(3000) if number not in bad]
    contexts = connector.contexts()
    assert {context["record"]["offset"] for context in contexts} == bad
    assert len(contexts) == 4
    assert {context["stages"][context["index"]]["type"] for context in contexts} == {"TASK_PUT"}


@pytest.mark.parametrize("limit", [20_000_000, 900_000], ids=["by the broker", "by the client"])
def test_a_record_that_is_rejected_fails_a_task_that_tolerates_nothing_and_nothing_behind_it_is_written(
    broker: str, limit: int
) -> None:
    connector = ToTopic(broker)
    connector.props["producer.override.max.request.size"] = str(limit)
    connector.props["producer.override.compression.type"] = "none"
    connector.send([b"0", b'"' + b"x" * 1_500_000 + b'"', b"2"])
    report = connector.run()
    assert (report.end, report.positions) == (LeaseEnd.FAILED, {f"{connector.topic}-0": 1})
    assert "TASK_PUT" in str(report.trace)
    assert connector.values() == [0]


def test_outcomes_of_replayed_records_are_told_once(broker: str) -> None:
    connector = ToTopic(broker).with_dead_letters()
    for ordinal, value in enumerate((b"1", b"{")):
        headers = ((ID, b"r"), (ITEM, b"r/%d" % ordinal), (ATTEMPT, b"1"))
        connector.send([value], headers=headers)
    connector.run()
    connector.run()
    told = [(line["item"], line["outcome"]) for line in connector.outcomes()]
    assert told == [("r/0", "delivered"), ("r/1", "dead_lettered")]


def test_a_transform_may_send_records_elsewhere_but_not_in_a_circle(broker: str) -> None:
    connector = ToTopic(broker, topic="").with_dead_letters()
    connector.props |= {
        "transforms": "route",
        "transforms.route.type": "tests.broker.steps.Route",
        "transforms.route.to": connector.out,
        "value.converter": "StringConverter",
    }
    connector.send([b"there", b"here", b"there"])
    report = connector.run()
    assert (report.end, balance(report.metrics)) == (LeaseEnd.CAUGHT_UP, (3, 2, 1, 0, 0)), report.trace
    assert [one.value for one in connector.written()] == [b"there", b"there"]
    assert "is also a topic that the connector reads" in connector.contexts()[0]["exception"]


BASE = {"name": "c", "connector.class": "KafkaSink", "topics": "in"}
DLQ = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dlq"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "is required unless a transform"),
        ({"topic": "in"}, "in is also a topic that the connector reads"),
        ({"topic": "dlq", **DLQ}, "dlq is also the dead letter topic"),
        ({"topic": "connect-configs"}, "is the worker's config.storage.topic"),
        ({"topic": "o", "delivery.guarantee": "once"}, "must be one of"),
        ({"topic": "o", "output.value.converter": "No"}, "No"),
        ({"topic": "no topic"}, "is not a valid topic name"),
        ({"topic": "o", "partition.keep": "maybe"}, "must be true or false"),
    ],
)
def test_what_can_not_work_is_said_before(options: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        validate({**BASE, **options}, parse_worker({}))


def test_a_topic_that_the_expression_finds_would_be_a_circle() -> None:
    props = {"name": "c", "connector.class": "KafkaSink", "topics.regex": "a.*", "topic": "ab"}
    with pytest.raises(ConfigError, match="ab is also a topic that the connector reads"):
        validate(props, parse_worker({}))


def test_it_is_exactly_once_unless_it_is_told_otherwise() -> None:
    worker = parse_worker({})
    once = validate({**BASE, "topic": "o"}, worker)
    least = validate({**BASE, "topic": "o", "delivery.guarantee": "at_least_once"}, worker)
    assert (once.delivery, least.delivery) == (Delivery.EXACTLY_ONCE, Delivery.AT_LEAST_ONCE)
    types = [str(stage.type) for stage in once.stages]
    assert types == [
        "KEY_CONVERTER", "VALUE_CONVERTER",
        "KEY_CONVERTER", "VALUE_CONVERTER", "HEADER_CONVERTER", "TASK_PUT",
    ]  # fmt: skip

"""KIP-618 in configurations, as Kafka's own tests assert it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from engine.assembly.validation import validate
from engine.config.client_names import leader_id
from engine.config.worker import WorkerConfig
from engine.errors import ConfigError
from engine.tasks.source_offsets_topic import offsets_location
from engine.worker_messages import Delivery
from tests.support.permissions import open_worker

ENABLED = {"exactly.once.source.enabled": "true"}
WORKER = open_worker(ENABLED)
PLAIN = open_worker({})


class Says:
    """A source's class that answers what a test wants of it."""

    answer: Any = True

    @classmethod
    def exactly_once_support(cls, config: Mapping[str, str]) -> Any:
        if isinstance(cls.answer, Exception):
            raise cls.answer
        return cls.answer

    can_define_transaction_boundaries = exactly_once_support

    def poll(self) -> Any: ...


class Silent:
    """One that knows nothing of all that."""

    def poll(self) -> Any: ...


class Refuses(Says):
    answer = False


class Nothing(Says):
    answer = None


class Broken(Says):
    answer = KeyError("no idea")


def source(of: type = Says, **more: str) -> dict[str, str]:
    own = {"name": "s", "connector.class": f"{__name__}.{of.__name__}"}
    return own | {name.replace("__", "."): value for name, value in more.items()}


def problems(props: dict[str, str], worker: WorkerConfig = WORKER) -> list[tuple[str, str | None, str]]:
    try:
        validate(props, worker)
    except ConfigError as error:
        return list(error.problems)
    return []


def required(of: type) -> list[tuple[str, str | None, str]]:
    return problems(source(of, exactly__once__support="required"))


def test_a_class_that_supports_it_may_be_required_to() -> None:
    """E-57, DistributedHerderTest#testExactlyOnceSourceSupportValidation."""
    assert required(Says) == []


def test_a_class_that_does_not_is_refused() -> None:
    """E-58, DistributedHerderTest#testExactlyOnceSourceSupportValidationOnUnsupportedConnector."""
    [(option, value, text)] = required(Refuses)
    assert (option, value) == ("exactly.once.support", "required")
    assert text.endswith("Refuses can't be delivered exactly once with these options")


@pytest.mark.parametrize("of", [Nothing, Silent])
def test_a_class_that_does_not_say_is_refused(of: type) -> None:
    """E-59, DistributedHerderTest#testExactlyOnceSourceSupportValidationOnUnknownConnector."""
    [(_, _, text)] = required(of)
    assert "does not declare whether it can be delivered exactly once; exactly_once_support must return" in text


def test_a_class_that_can_not_answer_is_refused_with_its_own_words() -> None:
    """E-60, DistributedHerderTest#testExactlyOnceSourceSupportValidationHandlesConnectorErrorsGracefully."""
    [(_, _, text)] = required(Broken)
    assert "no idea" in text


def test_a_worker_that_has_it_not_enabled_says_so() -> None:
    """E-61, DistributedHerderTest#testExactlyOnceSourceSupportValidationWhenExactlyOnceNotEnabledOnWorker."""
    text = "This worker does not have exactly-once source support enabled."
    props = source(exactly__once__support="required")
    assert problems(props, PLAIN) == [("exactly.once.support", "required", text)]


@pytest.mark.parametrize("of", [Broken, Refuses, Silent])
def test_boundaries_of_its_own_are_for_a_class_that_says_so(of: type) -> None:
    """E-65, DistributedHerderTest#testConnectorTransactionBoundaryValidationHandlesConnectorErrorsGracefully."""
    [(option, value, _)] = problems(source(of, transaction__boundary="connector"))
    assert (option, value) == ("transaction.boundary", "connector")
    assert problems(source(Says, transaction__boundary="connector")) == []


@pytest.mark.parametrize("option", ["transaction.boundary", "exactly.once.support"])
def test_a_wrong_word_is_one_problem(option: str) -> None:
    """E-66, DistributedHerderTest#testConnectorTransactionBoundaryValidationHandlesInvalidValuesGracefully."""
    [(name, value, text)] = problems({**source(), option: "conector"})
    assert (name, value) == (option, "conector")
    assert "must be one of" in text


def isolation(worker: WorkerConfig, **more: str) -> str:
    plan = validate(source(Says, **more), worker)
    return dict(offsets_location(plan.config, worker, plan.delivery).consumer)["isolation.level"]


def test_offsets_are_read_committed_whatever_anybody_says() -> None:
    """E-83, WorkerTest#testExactlyOnceSourceOffsetsConsumerConfigs."""
    worker = open_worker(ENABLED | {"consumer.isolation.level": "read_uncommitted"})
    assert isolation(WORKER) == isolation(worker) == "read_committed"
    assert isolation(WORKER, consumer__override__isolation__level="read_uncommitted") == "read_committed"
    plan = validate(source(consumer__override__isolation__level="read_uncommitted"), worker)
    assert [(option, value) for option, value, _ in plan.warnings] == [
        ("consumer.isolation.level", "read_uncommitted"),
        ("consumer.override.isolation.level", "read_uncommitted"),
    ]


def test_without_exactly_once_the_worker_may_say_otherwise() -> None:
    """E-84, WorkerTest#testRegularSourceOffsetsConsumerConfigs. A connector's own overrides are for a topic
    of its own."""
    worker = open_worker({"consumer.isolation.level": "read_uncommitted"})
    assert (isolation(PLAIN), isolation(worker)) == ("read_committed", "read_uncommitted")
    override = {"offsets__storage__topic": "mine", "consumer__override__isolation__level": "read_uncommitted"}
    assert isolation(PLAIN, **override) == "read_uncommitted"


@pytest.mark.parametrize(("support", "is_on"), [("disabled", False), ("preparing", False), ("enabled", True)])
def test_the_workers_option_as_kafka_shipped_it(support: str, is_on: bool) -> None:
    """E-85, DistributedConfigTest#shouldIdentifyNeedForTransactionalLeader. Leaders always write transactions here, so
    that `preparing` prepares nothing."""
    worker = open_worker({"exactly.once.source.support": support})
    assert worker.exactly_once_source is is_on
    assert leader_id(worker.group_id) == "connect-cluster-connect-cluster"
    assert validate(source(), worker).delivery is (Delivery.EXACTLY_ONCE if is_on else Delivery.AT_LEAST_ONCE)


def test_two_spellings_must_not_contradict() -> None:
    with pytest.raises(ConfigError, match="contradicts"):
        open_worker({"exactly.once.source.enabled": "true", "exactly.once.source.support": "disabled"})
    assert open_worker({**ENABLED, "exactly.once.source.support": "enabled"}).exactly_once_source


def test_no_class_has_to_say_anything_but_one_that_says_no_is_believed() -> None:
    assert validate(source(Silent), WORKER).delivery is Delivery.EXACTLY_ONCE
    assert validate(source(Broken), WORKER).delivery is Delivery.EXACTLY_ONCE
    assert validate(source(Refuses), WORKER).delivery is Delivery.AT_LEAST_ONCE


def test_producer_options_that_are_ignored_are_told_of() -> None:
    more = {"producer.override.transactional.id": "mine", "producer.override.enable.idempotence": "false"}
    worker = open_worker(ENABLED | {"transactional.id": "ours", "producer.transactional.id": "ours"})
    assert [option for option, _, _ in validate({**source(), **more}, worker).warnings] == [
        "transactional.id", "producer.transactional.id", "producer.override.transactional.id",
        "producer.override.enable.idempotence",
    ]  # fmt: skip
    assert validate({**source(), **more}, PLAIN).warnings == ()


def test_no_topic_of_its_own_is_the_workers() -> None:
    [(option, _, _)] = problems(source(offsets__storage__topic="connect-configs"))
    assert option == "offsets.storage.topic"
    own = {"file": "/in", "topic": "mine", "offsets.storage.topic": "mine"}
    [(option, _, text)] = problems({"name": "s", "connector.class": "FileStreamSource", **own})
    assert (option, text) == (
        "topic",
        "mine is the connector's offsets.storage.topic; choose another topic for its records",
    )


@pytest.mark.parametrize(
    ("more", "topic", "is_own", "cluster"),
    [
        ({}, "connect-offsets", False, "127.0.0.1:9092"),
        ({"offsets.storage.topic": "connect-offsets"}, "connect-offsets", False, "127.0.0.1:9092"),
        ({"offsets.storage.topic": "mine"}, "mine", True, "127.0.0.1:9092"),
        ({"producer.override.bootstrap.servers": "far:1"}, "connect-offsets", True, "far:1"),
        ({"offsets.storage.topic": "mine", "producer.override.bootstrap.servers": "far:1"}, "mine", True, "far:1"),
    ],
)
def test_offsets_lie_where_the_records_go(more: dict[str, str], topic: str, is_own: bool, cluster: str) -> None:
    plan = validate({**source(), **more}, WORKER)
    place = offsets_location(plan.config, WORKER, plan.delivery)
    assert (place.topic, place.is_own) == (topic, is_own)
    assert {dict(one)["bootstrap.servers"] for one in (place.consumer, place.admin, place.producer)} == {cluster}

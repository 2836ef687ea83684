"""The admin client's answers, and those that never come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import confluent_kafka as ck
import pytest

from engine.errors import FatalError, RetriableError
from engine.kafka import admin as admin_module
from engine.kafka.admin import KafkaAdmin
from engine.record.record import TopicPartition

Answer = Mapping[str, Any] | Exception | None


class Client:
    """Brokers 1, 2 and so on answer as they are told to; None: not at all."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = dict(enumerate(answers, start=1))
        self.topics: dict[str, Any] = {}
        self.offsets: list[int | Exception] = []
        self.hidden: set[str] = set()

    def list_topics(self, timeout: float) -> Any:
        return SimpleNamespace(brokers=dict.fromkeys(self.answers), topics=self.topics)

    def describe_configs(self, resources: Sequence[Any]) -> dict[Any, Future[Any]]:
        [one] = resources
        future: Future[Any] = Future()
        answer = self.answers[int(one.name)] if one.name.isdecimal() else self.answers[1]
        if isinstance(answer, Exception):
            future.set_exception(answer)
        elif answer is not None:
            future.set_result({name: SimpleNamespace(value=value) for name, value in answer.items()})
        return {one: future}

    def describe_topics(self, topics: Any, request_timeout: float) -> dict[str, Future[Any]]:
        [name] = topics.topic_names
        future: Future[Any] = Future()
        if name in self.hidden:
            future.set_exception(ck.KafkaException(ck.KafkaError(ck.KafkaError.TOPIC_AUTHORIZATION_FAILED)))
        else:
            future.set_result(SimpleNamespace(name=name))
        return {name: future}

    def list_offsets(self, wanted: Mapping[Any, Any], isolation_level: Any) -> dict[Any, Future[Any]]:
        futures = {one: Future[Any]() for one in wanted}
        for one, future in futures.items():
            answer = self.offsets[one.partition]
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(SimpleNamespace(offset=answer))
        return futures

    def create_topics(self, topics: Sequence[Any], operation_timeout: float) -> dict[str, Future[None]]:
        return {one.topic: Future() for one in topics}


def admin(*answers: Answer) -> KafkaAdmin:
    made = KafkaAdmin({"log_level": "0"}, timeout_s=0.05)
    made._client = Client(*answers)  # type: ignore[assignment] # a fake
    return made


MINUTES = {"offsets.retention.minutes": "10"}
REFUSED = ck.KafkaException(ck.KafkaError(ck.KafkaError.CLUSTER_AUTHORIZATION_FAILED))


@pytest.mark.parametrize("answers", [(MINUTES,), (None, MINUTES), (REFUSED, MINUTES)])
def test_any_broker_that_answers_tells_how_long_offsets_are_kept(answers: tuple[Answer, ...]) -> None:
    assert admin(*answers).offsets_retention_ms() == 600_000


def test_brokers_tell_their_limit_of_transactions() -> None:
    assert admin({"transaction.max.timeout.ms": "900000"}).transaction_max_ms() == 900_000
    assert admin(REFUSED).transaction_max_ms() is None


@pytest.mark.parametrize("answers", [(), (REFUSED,), ({},), ({"offsets.retention.minutes": None},)])
def test_nobody_knows_what_may_not_be_asked(answers: tuple[Answer, ...]) -> None:
    assert admin(*answers).offsets_retention_ms() is None


def test_brokers_that_are_slow_are_the_worlds_fault() -> None:
    with pytest.raises(RetriableError):
        admin(None).offsets_retention_ms()
    with pytest.raises(RetriableError):
        admin(None).max_message_bytes("t")


def test_the_limit_of_a_topic_is_read() -> None:
    assert admin({"max.message.bytes": "12"}).max_message_bytes("t") == 12
    assert admin(REFUSED).max_message_bytes("t") is None


def test_a_topic_that_is_not_made_in_time_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_module, "TOPIC_SEEN_TIMEOUT_S", 0.02)
    monkeypatch.setattr(admin_module, "CALL_TIMEOUT_S", 0.02)
    with pytest.raises(RetriableError, match="topic t"):
        admin(MINUTES).create_topic("t", 1, 1)


def test_a_partition_whose_end_nobody_can_tell_holds_up_no_other() -> None:
    made, leaderless = admin(), ck.KafkaException(ck.KafkaError(ck.KafkaError.LEADER_NOT_AVAILABLE))
    made._client.offsets = [7, leaderless, -1]  # type: ignore[attr-defined] # a fake
    asked = [TopicPartition("t", number) for number in range(3)]
    assert made.end_offsets(asked) == {TopicPartition("t", 0): 7}
    with pytest.raises(RetriableError):
        made.end_offsets(asked[1:2])
    made._client.hidden = {"t"}  # type: ignore[attr-defined] # a fake
    with pytest.raises(FatalError, match="lacks Describe on topic t"):
        made.end_offsets(asked[1:2])

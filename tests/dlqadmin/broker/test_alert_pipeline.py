"""From a record in Kafka to the receivers of alerts: indexer, evaluation and deliveries as beat schedules them."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.alerts import evaluation
from dlqadmin.alerts.models import AlertFiring
from dlqadmin.deadletters.index.consumer import follow
from dlqadmin.deadletters.models import Group
from dlqadmin.notifications import delivery_tries
from dlqadmin.settings.beat import SCHEDULE
from tests.dlqadmin.alerts.rigs import rule
from tests.dlqadmin.deadletters.letters import NST, letter
from tests.dlqadmin.notifications.sending import made, work
from tests.dlqadmin.notifications.test_emails import MailServer, mail_server  # noqa: F401 (a fixture)
from tests.support.http_target import HttpTarget, http_target

pytestmark = pytest.mark.django_db
EVERY_S = float(SCHEDULE["evaluate-alerts"]["schedule"])
MOST_S = 10.0


class Pipeline:
    """The indexer, and workers that run the tasks of alerts at their intervals."""

    def __init__(self, broker: str, topic: str) -> None:
        self._producer, self._topic = Producer({"bootstrap.servers": broker}), topic
        self._evaluator = evaluation.RuleEvaluator()
        self._next = time.monotonic()
        self.group = f"g-{uuid.uuid4().hex}"

    def produce(self, offset: int, message: str) -> float:
        """Produce a dead letter, and return the time."""
        made_of = letter(offset, topic=self._topic, message=message)
        self._producer.produce(self._topic, key=made_of.key, value=made_of.value, headers=list(made_of.headers))
        self._producer.flush(20)
        return time.monotonic()

    def run_until(self, done: Callable[[], bool], most_s: float) -> None:
        """Work until it is done. Raises AssertionError after that time."""
        until = time.monotonic() + most_s
        while not done():
            assert time.monotonic() < until
            follow(threading.Event(), self.group, once=True)
            time.sleep(max(0.0, self._next - time.monotonic()))
            self._next = time.monotonic() + EVERY_S
            self._evaluator.run(timezone.now())
            for delivery in delivery_tries.due(timezone.now()):
                work(delivery)


@pytest.fixture
def topic(broker: str, settings: Settings) -> Iterator[str]:
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_TIMEOUT_S = broker, 20.0
    name = f"t-{uuid.uuid4().hex}.dlq"
    settings.DLQ_TOPICS = [name]
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(20)
    yield name
    admin.delete_topics([name])[name].result(20)


@pytest.fixture
def hook(settings: Settings) -> Iterator[HttpTarget]:
    settings.ALERT_PRIVATE_HOSTS = ["127.0.0.0/8"]
    with http_target() as running:
        yield running


def events(target: HttpTarget) -> list[str]:
    return [json.loads(seen.body)["event"] for seen in target.seen]


def test_a_new_group_reaches_its_receivers_within_ten_seconds_once(
    broker: str,
    topic: str,
    hook: HttpTarget,
    mail_server: MailServer,  # noqa: F811 (a fixture)
    as_operator: APIClient,
) -> None:
    pager, mail = made(hook.url), made("ops@example.com", "email", "mail")
    own = {"since": timezone.now(), "interval_s": 60}
    rule(tells=((pager.name, False), (mail.name, False)), escalate_after_s=2, escalate_to=pager, **own)
    pipeline = Pipeline(broker, topic)

    produced = pipeline.produce(0, "a is null")
    pipeline.run_until(lambda: len(hook.seen) == 1 and len(mail_server.mails) == 1, MOST_S)
    assert time.monotonic() - produced < MOST_S
    pipeline.run_until(lambda: events(hook) == ["alert.opened", "alert.escalated"], MOST_S)

    pipeline.produce(1, NST)
    pipeline.run_until(lambda: AlertFiring.objects.count() == 2, MOST_S)
    second = AlertFiring.objects.latest("pk")
    assert as_operator.post(f"/api/v1/alerts/{second.pk}/acknowledge").status_code == 200
    Group.objects.update(status="resolved")
    pipeline.run_until(lambda: events(hook).count("alert.resolved") == 2, 40.0)
    assert sorted(events(hook)) == sorted(
        ["alert.opened", "alert.escalated", "alert.opened", "alert.resolved", "alert.resolved"]
    )
    assert len(mail_server.mails) == 4

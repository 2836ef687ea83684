"""From a dead letter to the request that a webhook receives."""

from __future__ import annotations

import json

import pytest
from pytest_django import Settings

from dlqadmin.deadletters.models import Group
from dlqadmin.notifications.models import ChannelDelivery
from tests.dlqadmin.alerts.rigs import firing, rule, tick
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.notifications.sending import made, work
from tests.support.http_target import http_target

pytestmark = pytest.mark.django_db


def test_a_receiver_gets_a_new_group_once(settings: Settings) -> None:
    settings.ALERT_PRIVATE_HOSTS, settings.DLQADMIN_URL = ["127.0.0.0/8"], "https://dlq.example"
    with http_target() as target:
        hook = made(target.url)
        rule(tells=((hook.name, False),))
        index([letter(0, key=b"k-secret", value=b'{"ssn": 1}')])
        for _ in range(2):
            tick()
        for delivery in ChannelDelivery.objects.all():
            work(delivery)
        [seen] = target.seen
    told = json.loads(seen.body)
    group = Group.objects.get()
    assert (told["event"], told["subject"]) == ("alert.opened", group.title)
    assert told["link"] == f"https://dlq.example/alerts/firings/{firing().pk}"
    assert told["facts"]["subject"] == {"kind": "group", "key": str(group.pk), "title": group.title}
    assert b"secret" not in seen.body
    assert b"ssn" not in seen.body

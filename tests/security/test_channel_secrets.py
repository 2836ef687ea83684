"""Targets and secrets of channels are in no response, audit entry, log, message, page or row as they are."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.notifications import sealed_text, tasks, webhooks
from dlqadmin.notifications.models import Channel, ChannelDelivery, UsedKey
from dlqadmin.notifications.sealed_text import UnreadableText, keyed_digest, seal, unseal
from tests.dlqadmin.conftest import alone, as_admin  # noqa: F401  # alone is used by every test
from tests.dlqadmin.notifications.sending import made, queued, work
from tests.support.http_target import HttpTarget, Reply, http_target

pytestmark = pytest.mark.django_db

API = "/api/v1"
HIDDEN = "hunter2hunter2hunter2"
KEY = "k" * 40
TARGETS = {
    "webhook": "http://user:{hidden}@127.0.0.1:{port}/{hidden}?token={hidden}",
    "apprise": "mmost://127.0.0.1:{port}/{hidden}",
}


@pytest.fixture(autouse=True)
def loopback_allowed(settings: Settings) -> None:
    settings.ALERT_PRIVATE_HOSTS = ["127.0.0.0/8"]


@pytest.fixture
def target() -> Iterator[HttpTarget]:
    """A receiver that refuses everything and repeats what it was sent."""
    with http_target(lambda seen: Reply(400, f"{seen.path} {seen.headers}".encode())) as running:
        yield running


@pytest.mark.parametrize("kind", TARGETS)
def test_a_target_and_a_secret_leave_by_no_door(
    target: HttpTarget,
    as_admin: APIClient,  # noqa: F811 (the fixture)
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    messages: list[Any] = []
    monkeypatch.setattr(tasks.deliver, "apply_async", lambda args, retry: messages.append(args))
    shown: list[Any] = []
    url = TARGETS[kind].format(hidden=HIDDEN, port=target.port)
    with caplog.at_level(logging.DEBUG):
        headers = {"Idempotency-Key": "once"}
        body = {"name": "pager", "kind": kind, "target": url}
        created = as_admin.post(f"{API}/channels", body, headers=headers).json()
        secret = created.pop("secret") or HIDDEN
        shown.append(created)
        shown.append(as_admin.post(f"{API}/channels", body, headers=headers).json())
        channel = Channel.objects.get()
        pk = channel.pk
        shown.append(as_admin.put(f"{API}/channels/{pk}", {"name": "p", "kind": kind, "target": url + HIDDEN}).json())
        shown.append(as_admin.put(f"{API}/channels/{pk}", {"name": "pager", "kind": kind}).json())
        shown.append(as_admin.put(f"{API}/channels/{pk}", {"name": "p", "kind": "email", "target": url}).json())
        delivery = work(queued(Channel.objects.get()))
        assert delivery.state == "failed"
        shown.extend(as_admin.get(f"{API}/{path}").json() for path in ("channels", "deliveries", "audit?limit=100"))
        as_admin.delete(f"{API}/channels/{pk}")
    assert len(target.seen) == 1
    assert HIDDEN in target.seen[0].path
    told = json.dumps([*shown, messages, [repr(channel), str(channel), repr(delivery), delivery.log, delivery.result]])
    told += caplog.text + str(list(AuditEntry.objects.values()))
    assert HIDDEN not in told
    assert secret not in told


def test_no_page_of_the_admin_shows_channels() -> None:
    assert not admin.site._registry.keys() & {Channel, ChannelDelivery, UsedKey}


def test_the_database_holds_no_target_and_no_secret_as_it_is(target: HttpTarget) -> None:
    made(f"{target.url}/{HIDDEN}")
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM notifications_channel")
        rows = str(cursor.fetchall())
    assert HIDDEN not in rows
    assert "whsec_" not in rows


def test_texts_are_read_with_former_keys_and_with_no_others(settings: Settings) -> None:
    sealed = seal(HIDDEN)
    assert (unseal(sealed), seal(HIDDEN) == sealed) == (HIDDEN, False)
    former, digest = settings.ALERT_KEY, keyed_digest("a")
    settings.ALERT_KEY = KEY
    with pytest.raises(UnreadableText) as raised:
        unseal(sealed)
    assert HIDDEN not in str(raised.value)
    assert raised.value.__cause__ is None
    assert keyed_digest("a") != digest
    settings.ALERT_OLD_KEYS = [former]
    assert unseal(sealed) == HIDDEN


def test_a_target_that_no_key_reads_waits_for_its_key(target: HttpTarget, settings: Settings) -> None:
    delivery = queued(made(target.url))
    settings.ALERT_KEY = KEY
    assert (work(delivery).state, target.seen) == ("queued", [])
    assert "ALERT_OLD_KEYS" in delivery.result


def test_an_error_of_the_name_service_does_not_quote_the_target() -> None:
    channel = made(f"https://{'x' * 64}.example/{HIDDEN}")
    assert HIDDEN not in webhooks.send(channel, queued(channel), timezone.now()).text


def test_a_signing_secret_has_256_random_bits() -> None:
    from dlqadmin.notifications.signatures import new_secret

    assert len({new_secret() for _ in range(20)}) == 20
    assert len(new_secret()) == len("whsec_") + 44
    assert sealed_text.seal("x") != "x"

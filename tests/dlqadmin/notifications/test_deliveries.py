"""Queued deliveries: once for each key, after the commit, in plain text."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from dlqadmin.notifications import deliveries, tasks
from dlqadmin.notifications.messages import MAX_BODY, ChannelMessage
from dlqadmin.notifications.models import Channel, ChannelDelivery, UsedKey
from dlqadmin.notifications.retention import KEPT, prune
from dlqadmin.rest.problems import StateConflict
from tests.dlqadmin.notifications.sending import MESSAGE, made, queued, work
from tests.support.http_target import HttpTarget, Reply

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments of the messages to workers."""
    found: list[Any] = []
    monkeypatch.setattr(tasks.deliver, "apply_async", lambda args, retry: found.append(args))
    return found


def test_a_worker_is_told_after_the_commit(
    target: HttpTarget, sent: list[Any], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        delivery = queued(made(target.url))
        assert sent == []
    assert sent == [(delivery.pk, None)]  # no target and no text goes through the message queue


def test_a_later_delivery_waits_for_the_sweep(
    target: HttpTarget, sent: list[Any], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    later = timezone.now() + timedelta(minutes=5)
    with django_capture_on_commit_callbacks(execute=True):
        delivery = queued(made(target.url), not_before=later)
    assert (sent, delivery.not_before) == ([], later)


def test_a_repeated_key_queues_nothing_and_leaves_the_callers_transaction(target: HttpTarget) -> None:
    channel = made(target.url)
    with transaction.atomic():
        queued(channel, "rule 12 opened")
        assert deliveries.queue(channel, MESSAGE, "rule 12 opened") is None
        queued(channel, "rule 12 closed")
    assert ChannelDelivery.objects.count() == 2


def test_old_deliveries_are_deleted_and_their_keys_stay_used(target: HttpTarget) -> None:
    channel = made(target.url)
    work(queued(channel, "old"))
    waiting = queued(channel, "waits", not_before=timezone.now() + timedelta(days=1))
    work(queued(channel, "new"))
    ChannelDelivery.objects.filter(dedupe="old").update(not_before=timezone.now() - KEPT - timedelta(seconds=1))
    ChannelDelivery.objects.filter(pk=waiting.pk).update(not_before=timezone.now() - KEPT * 2)
    prune(timezone.now())
    assert set(ChannelDelivery.objects.values_list("dedupe", flat=True)) == {"waits", "new"}
    assert list(UsedKey.objects.values_list("dedupe", flat=True)) == ["old"]
    assert deliveries.queue(channel, MESSAGE, "old") is None


def test_more_old_deliveries_than_one_batch_are_deleted(target: HttpTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlqadmin.notifications.retention.BATCH", 2)
    channel = made(target.url)
    for number in range(5):
        queued(channel, str(number))
    ChannelDelivery.objects.update(state="delivered", not_before=timezone.now() - KEPT - timedelta(seconds=1))
    prune(timezone.now())
    assert (ChannelDelivery.objects.count(), UsedKey.objects.count()) == (0, 5)


def test_texts_are_cut_and_a_subject_is_one_line(target: HttpTarget) -> None:
    message = ChannelMessage(
        "e", "a\r\nBcc: x@example.com\u2028b\0" + "c" * 300, "d" * MAX_BODY + "e", facts={"f": "g" * 70_000}
    )
    delivery = queued(made(target.url), message=message)
    assert delivery.subject.startswith("a Bcc: x@example.com b")
    assert (len(delivery.subject), len(delivery.body)) == (200, MAX_BODY)
    assert delivery.facts == {"left_out": "The facts have 70008 bytes, more than 64000."}


def test_a_failed_delivery_is_tried_again_with_a_new_day(target: HttpTarget, operator: User) -> None:
    target.answer = lambda _: Reply(400)
    delivery = work(queued(made(target.url)))
    target.answer = lambda _: Reply(200)
    deliveries.retry(delivery, operator)
    delivery = work(delivery)
    assert (delivery.state, delivery.sends) == ("delivered", 2)
    assert delivery.give_up_at - timezone.now() > timedelta(hours=23)
    with pytest.raises(StateConflict):
        deliveries.retry(delivery, operator)


def test_a_delivery_without_a_channel_is_not_tried_again(target: HttpTarget, operator: User) -> None:
    target.answer = lambda _: Reply(400)
    delivery = work(queued(made(target.url)))
    Channel.objects.all().delete()
    with pytest.raises(StateConflict):
        deliveries.retry(delivery, operator)

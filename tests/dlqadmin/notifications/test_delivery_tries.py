"""Tries of deliveries: one worker sends, failures are tried again later, and the log says what happened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlqadmin.audit.models import AuditEntry
from dlqadmin.jobs import runs
from dlqadmin.notifications import delivery_tries, tasks
from dlqadmin.notifications.delivery_tries import DELIVERIES, LEASE, DecidedState, decide, due
from dlqadmin.notifications.models import Channel, ChannelDelivery, DeliveryState
from dlqadmin.notifications.results import SendAccepted, SendFailed, SendRefused
from tests.dlqadmin.deadletters.conftest import Beside, beside, several_writers  # noqa: F401 (fixtures)
from tests.dlqadmin.jobs.kinds import Killed
from tests.dlqadmin.notifications.sending import made, pass_pause, queued, work
from tests.support.http_target import HttpTarget, Reply

pytestmark = [pytest.mark.django_db, pytest.mark.sql]

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def pauses(count: int) -> list[float]:
    """The pauses in seconds after each of so many failures."""
    found = [decide(SendFailed("HTTP 503"), failures, NOW + timedelta(days=9), NOW) for failures in range(count)]
    return [(one.not_before - NOW).total_seconds() for one in found]


def test_pauses_grow_up_to_an_hour() -> None:
    assert pauses(7) == [10, 30, 120, 600, 3600, 3600, 3600]


@pytest.mark.parametrize(("asked_s", "pause_s"), [(5, 10), (90, 90), (1e9, 3600)])
def test_a_pause_that_the_receiver_asks_for_is_kept_within_an_hour(asked_s: float, pause_s: float) -> None:
    decided = decide(SendFailed("HTTP 429", asked_s), 0, NOW + timedelta(days=1), NOW)
    assert decided == DecidedState(DeliveryState.QUEUED, NOW + timedelta(seconds=pause_s))


@pytest.mark.parametrize(
    ("result", "state"),
    [
        (SendAccepted("HTTP 200"), DeliveryState.DELIVERED),
        (SendRefused("HTTP 400"), DeliveryState.FAILED),
        (SendFailed("HTTP 503"), DeliveryState.GIVEN_UP),
    ],
)
def test_a_result_after_the_time_for_tries_ends_the_delivery(result: Any, state: DeliveryState) -> None:
    assert decide(result, 9, NOW, NOW).state == state


def test_a_failed_try_is_logged_and_taken_up_by_the_sweep_when_it_is_due(
    target: HttpTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.answer = lambda _: Reply(503, b"busy")
    delivery = work(queued(made(target.url)))
    assert (delivery.state, delivery.failures, delivery.result) == ("queued", 1, "HTTP 503: busy")
    assert timedelta(seconds=8) < delivery.not_before - timezone.now() <= timedelta(seconds=10)
    sent: list[Any] = []
    monkeypatch.setattr(tasks.deliver, "apply_async", lambda args, retry: sent.append(args))
    tasks.sweep_notifications()
    assert sent == []
    pass_pause(delivery)
    tasks.sweep_notifications()
    assert sent == [(delivery.pk, delivery.heartbeat)]
    target.answer = lambda _: Reply(200)
    delivery = work(delivery)
    assert (delivery.state, delivery.sends, delivery.failures) == ("delivered", 2, 0)
    assert [(one["accepted"], one["result"]) for one in delivery.log] == [(False, "HTTP 503: busy"), (True, "HTTP 200")]
    channel = Channel.objects.get()
    assert (channel.last_result, channel.last_used_at) == ("HTTP 200", delivery.not_before)
    assert not due(timezone.now()).exists()


def test_a_message_that_comes_twice_or_too_early_sends_nothing(target: HttpTarget) -> None:
    target.answer = lambda _: Reply(503)
    delivery = queued(made(target.url))
    tasks.deliver(delivery.pk, None)
    tasks.deliver(delivery.pk, None)  # the second message of the row as it was
    work(delivery)  # the try is not due yet
    assert len(target.seen) == 1
    work(queued(Channel.objects.get(), "later", not_before=timezone.now() + timedelta(hours=1)))
    assert len(target.seen) == 1


def test_a_refused_message_is_tried_once_and_audited(target: HttpTarget) -> None:
    target.answer = lambda _: Reply(410)
    delivery = work(queued(made(target.url)))
    assert (delivery.state, delivery.result) == ("failed", "HTTP 410")
    pass_pause(delivery)
    work(delivery)
    assert len(target.seen) == 1
    entry = AuditEntry.objects.get(object_type="delivery")
    assert (entry.actor, entry.action) == ("dlqadmin", "failed")
    assert entry.detail == {"channel": "pager", "source": "rule 12", "said": "HTTP 410"}


def test_a_delivery_is_given_up_after_a_day_and_audited(target: HttpTarget) -> None:
    target.answer = lambda _: Reply(503)
    delivery = queued(made(target.url))
    assert delivery.give_up_at - delivery.not_before == timedelta(hours=24)
    ChannelDelivery.objects.update(give_up_at=timezone.now() + timedelta(seconds=1))
    assert work(delivery).state == "given_up"
    assert AuditEntry.objects.get(object_type="delivery").action == "gave up"


def test_the_log_keeps_the_newest_20_tries(target: HttpTarget) -> None:
    target.answer = lambda _: Reply(500 + len(target.seen))
    delivery = queued(made(target.url))
    for _ in range(23):
        work(delivery)
        pass_pause(delivery)
    delivery.refresh_from_db()
    assert [one["result"] for one in delivery.log] == [f"HTTP {500 + seen}" for seen in range(4, 24)]
    assert delivery.sends == 23


def test_while_one_worker_sends_another_sends_nothing(target: HttpTarget) -> None:
    delivery = queued(made(target.url))
    claimed = DELIVERIES.claim(delivery.pk, None, timezone.now())
    assert claimed is not None
    tasks.deliver(delivery.pk, None)
    tasks.deliver(delivery.pk, claimed.heartbeat)
    tasks.sweep_notifications()
    assert target.seen == []
    delivery_tries.try_once(claimed)
    assert len(target.seen) == 1


def test_a_worker_that_is_killed_after_it_sent_repeats_the_message_with_the_same_id(target: HttpTarget) -> None:
    delivery = queued(made(target.url))

    def killed_before_it_stores(claimed: ChannelDelivery) -> bool:
        delivery_tries._send(claimed, timezone.now())
        raise Killed

    with pytest.raises(Killed):
        runs.run(DELIVERIES, delivery.pk, None, killed_before_it_stores)
    assert not due(timezone.now()).exists()
    ChannelDelivery.objects.update(heartbeat=timezone.now() - LEASE)
    assert [one.pk for one in due(timezone.now())] == [delivery.pk]
    assert work(delivery).state == "delivered"
    assert [one.headers["Dlqadmin-Delivery"] for one in target.seen] == [delivery.public_id] * 2


def test_a_worker_whose_lease_has_passed_stores_nothing(target: HttpTarget) -> None:
    delivery = queued(made(target.url))
    slow = DELIVERIES.claim(delivery.pk, None, timezone.now())
    assert slow is not None
    ChannelDelivery.objects.update(heartbeat=timezone.now() - LEASE)
    work(delivery)
    target.answer = lambda _: Reply(410)
    delivery_tries.try_once(slow)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.sends) == ("delivered", 1)


def test_one_message_sends_what_else_is_due_for_the_channel(target: HttpTarget) -> None:
    channel, other = made(target.url), made(target.url, name="other")
    first, *rest = (queued(channel, str(number)) for number in range(5))
    queued(other, "of the other")
    work(first)
    assert {one.state for one in ChannelDelivery.objects.filter(channel=channel)} == {"delivered"}
    assert len(target.seen) == 1 + len(rest)


def test_a_slow_channel_takes_two_workers_at_most(target: HttpTarget) -> None:
    channel, other = made(target.url), made(target.url, name="other")
    for number in range(2):
        assert DELIVERIES.claim(queued(channel, str(number)).pk, None, timezone.now())
    assert work(queued(channel, "third")).state == "queued"
    assert work(queued(other, "of the other")).state == "delivered"


@pytest.mark.usefixtures("several_writers")
@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_send_one_request(target: HttpTarget, beside: Beside) -> None:  # noqa: F811 (the fixture)
    target.answer = lambda _: Reply(200, delay_s=0.2)
    delivery = queued(made(target.url))
    both = [beside(lambda: tasks.deliver(delivery.pk, None)) for _ in range(2)]
    for one in both:
        one.result(timeout=30)
    delivery.refresh_from_db()
    assert (len(target.seen), delivery.state, delivery.sends) == (1, "delivered", 1)

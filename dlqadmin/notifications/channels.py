"""Actions on channels: create, replace, delete, rotate the secret, test. Each is audited, without secrets."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError, RestrictedError
from django.utils import timezone

from dlqadmin.audit.entries import record
from dlqadmin.notifications import deliveries, signatures
from dlqadmin.notifications.messages import ChannelMessage
from dlqadmin.notifications.models import Channel, ChannelDelivery, ChannelKind, DeliveryState
from dlqadmin.notifications.sealed_text import seal
from dlqadmin.notifications.senders import SENDERS
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import ParameterError, StateConflict

MAX_CHANNELS = 200
TEST_WAIT_S, TEST_POLL_S = 15.0, 0.2
TEST_SOURCE = "test"


def create(
    name: str, kind: str, target: str, actor: User, once: RequestKey, may_have_samples: bool = False
) -> tuple[Channel, str]:
    """Create a channel. Return it with the secret of its signatures, which is "" for other kinds than webhooks.

    Raises ParameterError, and StateConflict at too many channels.
    """
    if Channel.objects.count() >= MAX_CHANNELS:
        raise StateConflict(f"There are {MAX_CHANNELS} channels, the maximum. Delete one first.")
    channel = Channel(
        may_have_samples=may_have_samples, created_by=actor, idempotency_key=once.key, request_digest=once.digest
    )
    secret = _fill(channel, name, kind, target)
    with transaction.atomic():
        _save(channel)
        _record(actor, "create channel", channel)
    return channel, secret


def replace(
    channel: Channel, name: str, kind: str, target: str, actor: User, may_have_samples: bool | None = None
) -> tuple[Channel, str]:
    """Change a channel. An empty target keeps the former one. Return it with its secret if it got a new one.

    A target elsewhere has no samples until an administrator allows them again.

    Raises ParameterError.
    """
    with transaction.atomic():
        locked = Channel.objects.select_for_update().get(pk=channel.pk)
        before = {"name": locked.name, "to": locked.description, "samples": locked.may_have_samples}
        if not target and kind != locked.kind:
            raise ParameterError("target", "is needed, because the kind changes")
        if may_have_samples is not None or target:
            locked.may_have_samples = bool(may_have_samples)
        secret = _fill(locked, name, kind, target)
        _save(locked)
        _record(actor, "change channel", locked, former=before, target="changed" if target else "kept")
    return locked, secret


def delete(channel: Channel, actor: User) -> None:
    """Delete a channel, and give up its queued deliveries. Raises StateConflict if something still uses it."""
    try:
        with transaction.atomic():
            deliveries.end_queued(channel)
            _record(actor, "delete channel", channel)
            channel.delete()
    except (ProtectedError, RestrictedError):
        raise StateConflict(f"The channel {channel.name} is still in use.") from None


def rotate_secret(channel: Channel, actor: User) -> tuple[Channel, str]:
    """Give a webhook a new secret. The former one also signs for 24 hours. Raises StateConflict for other kinds."""
    with transaction.atomic():
        locked = Channel.objects.select_for_update().get(pk=channel.pk)
        if locked.kind != ChannelKind.WEBHOOK:
            raise StateConflict("Only webhooks have a secret.")
        secret = signatures.rotate(locked, timezone.now())
        locked.save(update_fields=["signing_secret", "former_secret", "former_until"])
        _record(actor, "rotate channel secret", locked)
    return locked, secret


def send_test(channel: Channel, actor: User, sleep: Callable[[float], None] = time.sleep) -> ChannelDelivery:
    """Send a test message, and wait at most 15 seconds for its result. There is one try."""
    said = f"This is a test message of dlqadmin on cluster {settings.CLUSTER}, sent by {actor.get_username()}."
    message = ChannelMessage("test", f"Test of the channel {channel.name}", said)
    with transaction.atomic():
        key = f"test {uuid.uuid4().hex}"
        queued = deliveries.queue(channel, message, key, source=TEST_SOURCE, tried_for=timedelta(0))
        assert queued is not None
        _record(actor, "test channel", channel)
    until = time.monotonic() + TEST_WAIT_S
    while True:
        queued.refresh_from_db()
        if queued.state != DeliveryState.QUEUED or time.monotonic() > until:
            return queued
        sleep(TEST_POLL_S)


def _fill(channel: Channel, name: str, kind: str, target: str) -> str:
    """Set the columns of a channel, and return a new secret if it needs one. Raises ParameterError."""
    channel.name, channel.kind = name, kind
    if target:
        sender = SENDERS[kind]
        if problem := sender.problem(target):
            raise ParameterError("target", problem)
        channel.target, channel.description = seal(target), sender.describe(target)[:200]
    if kind != ChannelKind.WEBHOOK:
        channel.signing_secret = channel.former_secret = ""
        return ""
    return "" if channel.signing_secret else signatures.rotate(channel, timezone.now())


def _save(channel: Channel) -> None:
    try:
        with transaction.atomic():
            channel.save()
    except IntegrityError:
        if Channel.objects.exclude(pk=channel.pk).filter(name=channel.name).exists():
            raise ParameterError("name", "belongs to another channel") from None
        raise


def _record(actor: User, action: str, channel: Channel, **more: object) -> None:
    record(
        actor,
        action,
        "channel",
        channel.name,
        {"kind": channel.kind, "to": channel.description, "samples": channel.may_have_samples, **more},
    )

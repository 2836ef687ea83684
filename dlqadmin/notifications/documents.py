"""Channels and deliveries as API documents. No document holds a target or a body."""

from __future__ import annotations

from typing import Any

from dlqadmin.masking.rules import rules_for
from dlqadmin.notifications.models import Channel, ChannelDelivery, ChannelKind, DeliveryState
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.times import iso, iso_or_none
from dlqadmin.teams.reach import current_reach


class ChannelDocument(Document):
    """A channel. `description` names its kind and host. `last_result` is "" before its first message.

    People of a team see `last_result` without the words of the receiver.
    `may_have_samples`: its messages may have masked content of records.
    """

    id: int
    name: str
    kind: ChannelKind
    description: str
    created_by: str | None
    created_at: Time
    last_used_at: Time | None
    last_result: str
    may_have_samples: bool


class ChannelList(Document):
    """All channels, by name."""

    channels: list[ChannelDocument]


class ChannelWithSecret(Document):
    """A channel, and the secret of its signatures if it is new. The secret is not shown again."""

    channel: ChannelDocument
    secret: str | None


class DeliveryTry(Document):
    """One try to send a message."""

    at: Time
    accepted: bool
    result: str
    took_ms: int


class DeliveryDocument(Document):
    """A message on its way to a channel.

    - `delivery`: the id that the receiver saw.
    - `channel`: null if the channel was deleted; `channel_name` remains.
    - `source`: the part of the dashboard that sent it.
    - `subject`: `…` for people with masked fields, because it may be the title of a group, which may quote a record.
    - `next_try_at`: null if no try is planned.
    - `tries`: the number of all tries. `log` holds the newest 20.
    """

    id: int
    delivery: str
    channel: int | None
    channel_name: str
    source: str
    event: str
    subject: str
    link: str
    state: DeliveryState
    created_at: Time
    next_try_at: Time | None
    delivered_at: Time | None
    tries: int
    result: str
    log: list[DeliveryTry]


class DeliveryPage(Document):
    """Deliveries, newest first."""

    results: list[DeliveryDocument]
    next: str | None


def channel_document(channel: Channel) -> ChannelDocument:
    """Return a channel without its target."""
    return ChannelDocument(
        id=channel.pk,
        name=channel.name,
        kind=ChannelKind(channel.kind),
        description=channel.description,
        created_by=channel.created_by.get_username() if channel.created_by else None,
        created_at=iso(channel.created_at),
        last_used_at=iso_or_none(channel.last_used_at),
        last_result=_result_in_reach(channel.last_result),
        may_have_samples=channel.may_have_samples,
    )


def _result_in_reach(result: str) -> str:
    """Return the result of a channel's last message for the present request.

    The message may be another team's, and a receiver may repeat it in its answer, which follows the first colon.
    """
    return result.partition(": ")[0] if current_reach().is_limited else result


def delivery_document(delivery: ChannelDelivery, reader: Any) -> DeliveryDocument:
    """Return a delivery without its body, as this user sees it."""
    return DeliveryDocument(
        id=delivery.pk,
        delivery=delivery.public_id,
        channel=delivery.channel_id,
        channel_name=delivery.channel_name,
        source=delivery.source,
        event=delivery.event,
        subject="…" if rules_for(reader) else delivery.subject,
        link=delivery.link,
        state=DeliveryState(delivery.state),
        created_at=iso(delivery.created_at),
        next_try_at=iso(delivery.not_before) if delivery.state == DeliveryState.QUEUED else None,
        delivered_at=iso_or_none(delivery.delivered_at),
        tries=delivery.sends,
        result=delivery.result,
        log=[DeliveryTry(**one) for one in reversed(delivery.log)],
    )

"""The table of the kinds of channels: how each checks, describes and uses its target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple

from dlqadmin.notifications import apprise_services, emails, webhooks
from dlqadmin.notifications.models import Channel, ChannelDelivery, ChannelKind
from dlqadmin.notifications.results import SendFailed, SendResult
from dlqadmin.notifications.sealed_text import UnreadableText


class ChannelSender(NamedTuple):
    """The functions of one kind.

    - `problem(target)`: why the target can't be used, or "".
    - `describe(target)`: the target without its secrets.
    - `send(channel, delivery, now)`: sends once. Raises UnreadableText.
    """

    problem: Callable[[str], str]
    describe: Callable[[str], str]
    send: Callable[[Channel, ChannelDelivery, datetime], SendResult]


SENDERS: Mapping[str, ChannelSender] = {
    ChannelKind.WEBHOOK: ChannelSender(webhooks.target_problem, webhooks.describe, webhooks.send),
    ChannelKind.EMAIL: ChannelSender(emails.target_problem, emails.describe, emails.send),
    ChannelKind.APPRISE: ChannelSender(
        apprise_services.target_problem, apprise_services.describe, apprise_services.send
    ),
}


def send(channel: Channel, delivery: ChannelDelivery, now: datetime) -> SendResult:
    """Send the message once."""
    try:
        return SENDERS[channel.kind].send(channel, delivery, now)
    except UnreadableText as error:
        return SendFailed(str(error))

"""Send messages to services that Apprise knows. Only the services of a table are allowed.

Apprise knows more: some of its plugins write files, start programs or send to local services.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from dlqadmin.notifications.addresses import ForbiddenAddress, checked_connections, is_listed
from dlqadmin.notifications.models import Channel, ChannelDelivery
from dlqadmin.notifications.results import SendAccepted, SendFailed, SendRefused, SendResult, of_status
from dlqadmin.notifications.sealed_text import unseal

if TYPE_CHECKING:
    from apprise import NotifyBase

CONNECT_S, READ_S = 4.0, 10.0
LIBRARY = "apprise.plugins."
STATUS = re.compile(r"error=(\d{3})\b")


class ChatService(NamedTuple):
    """A service: its name, the schemas of its URLs, and its host, which is "" if the URL chooses it."""

    title: str
    schemas: tuple[str, ...]
    host: str = ""


# By the module of Apprise's plugin.
SERVICES: Mapping[str, ChatService] = {
    "discord": ChatService("Discord", ("discord",), "discord.com"),
    "google_chat": ChatService("Google Chat", ("gchat",), "chat.googleapis.com"),
    "matrix.base": ChatService("Matrix", ("matrix", "matrixs")),
    "mattermost": ChatService("Mattermost", ("mmost", "mmosts")),
    "ntfy": ChatService("ntfy", ("ntfy", "ntfys")),
    "opsgenie": ChatService("Opsgenie", ("opsgenie",), "opsgenie.com"),
    "pagerduty": ChatService("PagerDuty", ("pagerduty",), "events.pagerduty.com"),
    "pushover": ChatService("Pushover", ("pover",), "api.pushover.net"),
    "rocketchat": ChatService("Rocket.Chat", ("rocket", "rockets")),
    "signl4": ChatService("SIGNL4", ("signl4",), "connect.signl4.com"),
    "slack": ChatService("Slack", ("slack",), "slack.com"),
    "splunk": ChatService("Splunk On-Call", ("splunk", "victorops"), "alert.victorops.com"),
    "squadcast": ChatService("Squadcast", ("squadcast",), "api.squadcast.com"),
    "telegram": ChatService("Telegram", ("tgram",), "api.telegram.org"),
    "webexteams": ChatService("Webex", ("wxteams", "webex"), "webexapis.com"),
    "workflows": ChatService("Microsoft Teams", ("workflow", "workflows")),
    "zulip": ChatService("Zulip", ("zulip",)),
}
SCHEMAS = frozenset(schema for service in SERVICES.values() for schema in service.schemas)
# The other parameters of Apprise load templates from files, turn off TLS checks, follow redirects or fetch images.
PARAMETERS = frozenset(
    (
        *("to", "channel", "channels", "topic", "thread", "threadkey", "region", "priority", "version", "ver", "pa"),
        *("route", "api-version", "sp", "sv", "sig", "key", "token"),
    )
)


def target_problem(target: str) -> str:
    """Return why a text is no URL of an allowed service, or ""."""
    try:
        parts = urlsplit(target)
        names = {name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    except ValueError:
        return "is not a valid URL"
    if parts.scheme not in SCHEMAS | {"https"}:
        return f"must be a URL that begins with one of {', '.join(sorted(SCHEMAS))}, such as slack://"
    if more := sorted(names - PARAMETERS):
        return f"must not have the parameter {more[0][:30]}"
    plugin = _plugin(target)
    if plugin is None or _service(plugin) is None:
        return "is not complete; compare it with Apprise's description of the service"
    return ""


def describe(target: str) -> str:
    """Return the service and its host. In some URLs the token is where a host would be, so only a host is shown."""
    plugin = _plugin(target)
    service = _service(plugin)
    if plugin is None or service is None:
        return "Apprise"
    host = _host(plugin, service)
    return f"{service.title}, {host}" if "." in host or is_listed(host) else service.title


def send(channel: Channel, delivery: ChannelDelivery, now: datetime) -> SendResult:
    """Send the message once. Raises UnreadableText."""
    target = unseal(channel.target)
    plugin = None if target_problem(target) else _plugin(target)
    service = _service(plugin)
    if plugin is None or service is None:
        return SendRefused("This version of Apprise does not accept the URL. Enter the target again.")
    body = f"{delivery.body}\n\n{delivery.link}" if delivery.link else delivery.body
    try:
        with _warnings() as lines, checked_connections(_host(plugin, service)):
            accepted = plugin.notify(body=body or delivery.subject, title=delivery.subject, body_format="text")
    except ForbiddenAddress as error:
        return SendRefused(f"{error}.")
    except Exception as error:  # noqa: BLE001 (plugins raise anything, and their messages may quote tokens)
        return SendFailed(f"{service.title} could not be reached ({type(error).__name__}).")
    if accepted:
        return SendAccepted(f"{service.title} accepted it.")
    status = next((int(found[1]) for line in lines if (found := STATUS.search(line))), 0)
    if not status or 200 <= status < 300:
        return SendFailed(f"{service.title} did not accept it.")
    return of_status(status, f"{service.title} answered HTTP {status}.")


def _plugin(target: str) -> NotifyBase | None:
    """Return Apprise's object for a URL, or None. It connects to nothing yet."""
    # Apprise takes half a second and 30 MB to import, so only processes that send do.
    import apprise

    asset = apprise.AppriseAsset(app_id="dlqadmin", app_desc="dlqadmin", app_url="", http_redirects=False)
    plugin: Any = apprise.Apprise.instantiate(target, asset=asset, suppress_exceptions=True)
    if isinstance(plugin, apprise.NotifyBase):
        plugin.redirects, plugin.verify_certificate = False, True
        plugin.socket_connect_timeout, plugin.socket_read_timeout = CONNECT_S, READ_S
        plugin.overflow_mode = apprise.OverflowMode.TRUNCATE
        return plugin
    return None


def _service(plugin: NotifyBase | None) -> ChatService | None:
    """Return the row of the plugin. A class from another module than Apprise's own has none."""
    module = type(plugin).__module__
    return SERVICES.get(module.removeprefix(LIBRARY)) if module.startswith(LIBRARY) else None


def _host(plugin: Any, service: ChatService) -> str:
    if service.title == "ntfy" and plugin.mode == "cloud":
        return "ntfy.sh"
    if service.title == "Zulip":
        return f"{plugin.organization}.{plugin.hostname}"
    return service.host or str(plugin.host)


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collect the warnings that Apprise logs in this thread: they alone say why a message was not accepted."""
    lines: list[str] = []
    thread = threading.get_ident()

    class ThreadLines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.thread == thread and len(lines) < 20:
                lines.append(record.getMessage())

    handler = ThreadLines(logging.WARNING)
    logger = logging.getLogger("apprise")
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)

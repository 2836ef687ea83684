"""Send messages to webhooks: a signed POST of JSON to a checked address."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from urllib.parse import urlsplit

import httpx
import orjson

from dlqadmin.notifications import addresses, signatures
from dlqadmin.notifications.models import Channel, ChannelDelivery
from dlqadmin.notifications.results import SendFailed, SendRefused, SendResult, of_status, parts_of, quoted
from dlqadmin.notifications.sealed_text import unseal
from dlqadmin.rest.times import iso
from engine.http_rules import retry_after_ms

TIMEOUT_S = 10.0
READ_BYTES = 4096  # of an answer
SCHEMES = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """The result of a request, and the first READ_BYTES of the answer's body."""

    result: SendResult
    body: bytes = b""


def target_problem(target: str) -> str:
    """Return why a text is no URL of a webhook, or ""."""
    try:
        parts = urlsplit(target)
        url = httpx.URL(target)
        _ = parts.port
    except (ValueError, httpx.InvalidURL):
        return "is not a valid URL"
    if parts.scheme not in SCHEMES or not url.host:
        return "must be a URL that begins with https:// or http://"
    if parts.fragment:
        return "must have no fragment"
    return ""


def describe(target: str) -> str:
    """Return the kind and the host."""
    return f"Webhook, {urlsplit(target).hostname}"


def send(channel: Channel, delivery: ChannelDelivery, now: datetime) -> SendResult:
    """Send the message once. Raises UnreadableText."""
    return post(channel, delivery.public_id, body_of(delivery, now), now).result


def post(channel: Channel, message_id: str, body: bytes, now: datetime) -> WebhookAnswer:
    """Send a signed request once, and return the answer. Raises UnreadableText."""
    target = unseal(channel.target)
    headers = headers_of(channel, message_id, body, now)
    url = httpx.URL(target)
    port = url.port or SCHEMES[url.scheme]
    try:
        address = addresses.resolve(url.host, port)
    except addresses.ForbiddenAddress as error:
        return WebhookAnswer(SendRefused(f"{error}."))
    except OSError:
        return WebhookAnswer(SendFailed(f"The name {url.host} can't be resolved."))
    try:
        return asyncio.run(_post(url, address, body, headers, parts_of(target)))
    except TimeoutError:
        return WebhookAnswer(SendFailed(f"{url.host} did not answer within {TIMEOUT_S:g} s."))


def body_of(delivery: ChannelDelivery, now: datetime) -> bytes:
    """Return the body of the request."""
    return orjson.dumps(
        {
            "id": delivery.public_id,
            "event": delivery.event,
            "sent_at": iso(now),
            "subject": delivery.subject,
            "body": delivery.body,
            "link": delivery.link,
            "facts": delivery.facts,
        }
    )


def headers_of(channel: Channel, message_id: str, body: bytes, now: datetime) -> dict[str, str]:
    """Return the headers of the request, with its signatures."""
    timestamp = int(now.timestamp())
    keys = signatures.secrets_of(channel, now)
    return {
        "Content-Type": "application/json",
        "User-Agent": "dlqadmin",
        "Accept-Encoding": "identity",  # an answer that is unpacked may be a thousand times as large
        "Dlqadmin-Delivery": message_id,
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signatures.signature(keys, message_id, timestamp, body),
    }


async def _post(
    url: httpx.URL, checked: list[str], body: bytes, headers: dict[str, str], secrets: list[str]
) -> WebhookAnswer:
    """Post to the first checked address that can be reached. Raises TimeoutError after TIMEOUT_S, whatever happens."""
    host = url.host
    # The URL names the address, so that the name is not resolved again. Host header and TLS keep the name.
    headers = {"Host": url.netloc.decode(), **headers}
    auth = httpx.BasicAuth(url.username, url.password) if url.userinfo else None
    transport = httpx.AsyncHTTPTransport(verify=_trusted(), trust_env=False)
    async with (
        asyncio.timeout(TIMEOUT_S),
        httpx.AsyncClient(transport=transport, timeout=TIMEOUT_S, follow_redirects=False, trust_env=False) as client,
    ):
        for left, address in zip(reversed(range(len(checked))), checked, strict=True):
            request = client.build_request(
                "POST",
                url.copy_with(host=address, userinfo=b""),
                content=body,
                headers=headers,
                extensions={"sni_hostname": host},
            )
            try:
                response = await client.send(request, auth=auth, stream=True)
                return await _answer(response, secrets)
            except httpx.ConnectError as error:
                if not left:
                    reason = quoted(str(error), secrets)
                    return WebhookAnswer(SendFailed(f"{host} can't be reached: {reason}"))
            except httpx.TimeoutException:
                raise TimeoutError from None
            except httpx.HTTPError as error:
                said = f"{host} broke the connection off ({type(error).__name__})."
                return WebhookAnswer(SendFailed(said))
    raise AssertionError("a host without an address")


async def _answer(response: httpx.Response, secrets: list[str]) -> WebhookAnswer:
    answer = bytearray()
    async for part in response.aiter_raw():
        answer += part[: READ_BYTES - len(answer)]
        if len(answer) >= READ_BYTES:
            break
    await response.aclose()
    text = f"HTTP {response.status_code}"
    if response.is_redirect:
        return WebhookAnswer(SendRefused(f"{text}: redirects are not followed."))
    if not response.is_success and (said := quoted(answer.decode(errors="replace"), secrets)):
        text = f"{text}: {said}"
    pause_s = retry_after_ms(response.headers.get("retry-after", "")) / 1000
    return WebhookAnswer(of_status(response.status_code, text, pause_s), bytes(answer))


@cache  # the system's certificates take 0.1 s to load
def _trusted() -> ssl.SSLContext:
    return ssl.create_default_context()

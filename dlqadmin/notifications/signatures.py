"""Signatures of webhooks by the Standard Webhooks convention (standardwebhooks.com)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from dlqadmin.notifications.models import Channel
from dlqadmin.notifications.sealed_text import seal, unseal

PREFIX = "whsec_"
FORMER_VALID_FOR = timedelta(hours=24)


def new_secret() -> str:
    """Return a random secret of 32 bytes."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def rotate(channel: Channel, now: datetime) -> str:
    """Give the channel a new secret and return it. The former one also signs for 24 hours. Does not save."""
    secret = new_secret()
    channel.former_secret = channel.signing_secret
    channel.former_until = now + FORMER_VALID_FOR if channel.former_secret else None
    channel.signing_secret = seal(secret)
    return secret


def secrets_of(channel: Channel, now: datetime) -> list[str]:
    """Return the secrets that sign now, the newest first. Raises UnreadableText."""
    found = [unseal(channel.signing_secret)]
    if channel.former_secret and channel.former_until and channel.former_until > now:
        found.append(unseal(channel.former_secret))
    return found


def signature(keys: Iterable[str], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the header webhook-signature: one signature for each secret."""
    signed = b"%s.%d.%s" % (message_id.encode(), timestamp, body)
    digests = (hmac.new(base64.b64decode(key.removeprefix(PREFIX)), signed, hashlib.sha256).digest() for key in keys)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)

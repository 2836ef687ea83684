"""The results of a try to send: accepted, refused for good, or failed for now."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dlqadmin.rest.text import one_line, shortened

MAX_QUOTED = 200  # characters of a receiver's answer
MIN_SECRET = 4  # characters; shorter parts of a target are words such as "v1"
RETRIED = (408, 425, 429)
HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class SendAccepted:
    """The receiver accepted the message."""

    text: str


@dataclass(frozen=True, slots=True)
class SendRefused:
    """The receiver, or a rule of the dashboard, refused the message. Another try would not help."""

    text: str


@dataclass(frozen=True, slots=True)
class SendFailed:
    """The message may get through later. `pause_s`: the receiver asked for this pause, 0 if it did not."""

    text: str
    pause_s: float = 0.0


SendResult = SendAccepted | SendRefused | SendFailed


def of_status(status: int, text: str, pause_s: float = 0.0) -> SendResult:
    """Return the result of an HTTP status. No redirect is followed, so a redirect is a refusal."""
    if 200 <= status < 300:
        return SendAccepted(text)
    if status in RETRIED or status >= 500:
        return SendFailed(text, pause_s)
    return SendRefused(text)


def quoted(answer: str, secrets: Iterable[str]) -> str:
    """Return the beginning of a receiver's answer: one printable line, without the secrets that it may repeat."""
    text = one_line(answer)
    for secret in sorted(filter(lambda one: len(one) >= MIN_SECRET, secrets), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return shortened(text, MAX_QUOTED)


def parts_of(url: str) -> list[str]:
    """Return the parts of a URL that may be secret: everything after the host, and the user before it."""
    _, _, rest = url.partition("://")
    before, at, after = rest.rpartition("@")
    _, slash, path = after.partition("/")
    # The whole path first, so that a text that repeats it does not keep its structure.
    return [before, slash + path, *re.split(r"[/?&=#:;,]+", path), *(before.split(":") if at else ())]

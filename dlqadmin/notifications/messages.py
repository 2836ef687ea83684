"""The message that a part of the dashboard hands over for delivery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_SUBJECT = 200  # characters
MAX_BODY = 20_000
MAX_LINK = 1000
MAX_FACTS = 64_000  # bytes of JSON


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    """A message in plain text.

    - `event`: a name for programs, such as `alert.opened`.
    - `subject`: one line. Line breaks become spaces, and more than MAX_SUBJECT characters are cut.
    - `body`: the text for people; cut after MAX_BODY characters.
    - `link`: the address of a screen, or "".
    - `facts`: JSON for programs; only webhooks carry it. More than MAX_FACTS bytes are left out.
    """

    event: str
    subject: str
    body: str
    link: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

"""A broker for tests: what they write stays, whatever time the records say."""

from __future__ import annotations

from pathlib import Path

from demo.broker import Broker


def lasting_broker(folder: Path) -> Broker:
    """Return a broker, not started yet, that deletes nothing unless a topic asks for it.

    The demo's looks every minute for records older than a week, and to it those of 1970 are.
    """
    return Broker(folder, overrides={"log.retention.ms": "-1"})

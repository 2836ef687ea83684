"""A broker for tests: what they write stays, whatever time the records say."""

from __future__ import annotations

from pathlib import Path

from demo.broker import Broker


def lasting_broker(folder: Path) -> Broker:
    """Return a broker, not started yet, that keeps records older than their topic's retention.

    The demo's looks for them every minute, and to it those of 1970 are; this one looks once a day.
    """
    return Broker(folder, overrides={"log.retention.check.interval.ms": "86400000"})

"""A broker for tests: what they write stays, whatever time the records say."""

from __future__ import annotations

from pathlib import Path

from demo.broker import LocalBroker

BROKER_VARIABLE = "TEST_BROKER"  # the bootstrap servers of a broker that the processes of a suite share

OVERRIDES = {
    "log.retention.check.interval.ms": "86400000",
    # What times out is ended at once, not at the next look ten seconds later.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    # Members of the consumer protocol hear of a new assignment with their next heartbeat.
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
}


def lasting_broker(folder: Path) -> LocalBroker:
    """Return a broker, not started yet, that keeps records older than their topic's retention.

    The demo's looks for them every minute, and to it those of 1970 are; this one looks once a day.
    """
    return LocalBroker(folder, overrides=OVERRIDES)

"""The names of all task metrics (KIP-298, "Metrics"; KIP-1033) and their counters."""

from __future__ import annotations

from enum import StrEnum


class Metric(StrEnum):
    """The metric names. The order is part of the commit metadata: add new names at the end."""

    TOTAL_RECORD_FAILURES = "total-record-failures"
    TOTAL_RECORD_ERRORS = "total-record-errors"
    TOTAL_RECORDS_SKIPPED = "total-records-skipped"
    TOTAL_RETRIES = "total-retries"
    TOTAL_FAILURES_LOGGED = "total-failures-logged"
    DEADLETTERQUEUE_RECORDS_PRODUCED = "deadletterqueue-records-produced"
    DEADLETTERQUEUE_PRODUCE_FAILURES = "deadletterqueue-produce-failures"
    LAST_FAILURE_TIMESTAMP = "last-failure-timestamp"
    RECORDS_CONSUMED = "records-consumed"
    RECORDS_DELIVERED = "records-delivered"
    RECORDS_DEAD_LETTERED = "records-dead-lettered"
    RECORDS_SKIPPED = "records-skipped"
    RECORDS_FILTERED = "records-filtered"
    DROPPED_RECORDS_TOTAL = "dropped-records-total"

    __hash__ = str.__hash__  # much faster than the hash of an enum; each error looks up half a dozen metrics


Metrics = dict[Metric, int]
SIZE_MIN, SIZE_MAX, SIZE_AVG = "transaction-size-min", "transaction-size-max", "transaction-size-avg"
BUCKETS = (Metric.RECORDS_DELIVERED, Metric.RECORDS_DEAD_LETTERED, Metric.RECORDS_SKIPPED, Metric.RECORDS_FILTERED)


def zeros() -> Metrics:
    """Return the counters of a task that has done nothing."""
    return dict.fromkeys(Metric, 0)


def is_balanced(metrics: Metrics) -> bool:
    """Return whether every consumed record is in exactly one bucket."""
    return metrics[Metric.RECORDS_CONSUMED] == sum(metrics[bucket] for bucket in BUCKETS)

"""The availability of each Kafka cluster, cached for a few seconds."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from django.conf import settings

from dlqadmin.broker import clusters, topics
from dlqadmin.broker.messages import BrokerUnavailable

KEPT_S = 5.0
MOST_AT_ONCE = 8  # clusters
TIMEOUT_S = 1.5  # the banner of every screen waits for it


@dataclass(frozen=True, slots=True)
class KafkaAvailability:
    """The availability of Kafka, with its brokers and topics."""

    reachable: bool
    brokers: int
    topics: dict[str, int]


_answers: dict[str, tuple[float, KafkaAvailability]] = {}


def availability() -> KafkaAvailability:
    """Return the state of the cluster, at most five seconds old.

    An unreachable cluster is a result, not an error.
    """
    address = clusters.address()
    asked_at, found = _answers.get(address, (0.0, None))
    if found is None or time.monotonic() - asked_at > KEPT_S:
        try:
            view = topics.cluster(timeout_s=min(TIMEOUT_S, settings.KAFKA_TIMEOUT_S))
            found = KafkaAvailability(reachable=True, brokers=view.brokers, topics=dict(view.topics))
        except BrokerUnavailable:
            found = KafkaAvailability(reachable=False, brokers=0, topics={})
        _answers[address] = (time.monotonic(), found)
    return found


def availability_of(names: Sequence[str]) -> dict[str, KafkaAvailability]:
    """Return the state of each of these clusters. All are asked at the same time, and those that are away wait once."""

    def ask(name: str) -> KafkaAvailability:
        with clusters.on(name):
            return availability()

    if len(names) <= 1:
        return {name: ask(name) for name in names}
    with ThreadPoolExecutor(min(len(names), MOST_AT_ONCE)) as pool:
        return dict(zip(names, pool.map(ask, names), strict=True))


def describe_cluster() -> str | None:
    """Return a short description of the cluster for the banner; None if it does not respond."""
    found = availability()
    if not found.reachable:
        return None
    return f"Kafka, {found.brokers} broker{'' if found.brokers == 1 else 's'}"

"""The Kafka cluster that queries go to, and the client options of each cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from django.conf import settings

from dlqadmin.broker import cluster_settings
from dlqadmin.broker.cluster_settings import SERVERS, ClusterSettings, problem_message
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.logs import context
from engine.errors import ConfigError
from engine.kafka.client_options import admin_settings

ClientOption = str | int | float | bool
RECONNECT_MS = 1000  # librdkafka's 10 s would delay the indexer by as much after a broker is back
QUIET: Mapping[str, ClientOption] = {
    "log_level": 0,  # librdkafka must not log to stderr
    "socket.timeout.ms": 5000,
    "reconnect.backoff.max.ms": RECONNECT_MS,
}


def current() -> str:
    """Return the name of the cluster that queries go to: the own one, unless `on` chose another."""
    return _current.get() or str(settings.CLUSTER)


@contextmanager
def on(name: str) -> Iterator[None]:
    """Send all queries within this block to the cluster of that name; "" is the own one.

    Threads that the block starts need a copy of its context (`contextvars.copy_context`).
    """
    before = _current.set(key(name))
    try:
        with context.bound(cluster=name or settings.CLUSTER):
            yield
    finally:
        _current.reset(before)


def key(name: str) -> str:
    """Return "" for the own cluster, else the name. Rows about replays hold clusters in this form."""
    return "" if name == settings.CLUSTER else name


def is_known(name: str) -> bool:
    """Return whether a cluster of that name is configured and enabled."""
    try:
        cluster_settings.settings_of(name)
    except KeyError:
        return False
    return True


def is_read_only(name: str) -> bool:
    """Return whether the settings of the cluster keep replays away from it. An unknown one has no settings."""
    return is_known(name) and cluster_settings.settings_of(name).is_read_only


def names() -> tuple[str, ...]:
    """Return the names of the other clusters that are enabled, sorted."""
    return tuple(name for name, found in cluster_settings.others().items() if found.is_enabled)


def indexed() -> tuple[str, ...]:
    """Return the names of the clusters whose dead letters are indexed, the own one first."""
    others = cluster_settings.others().items()
    return (settings.CLUSTER, *(name for name, one in others if one.is_enabled and one.dead_letter_topics))


def dead_letter_topics() -> tuple[str, ...]:
    """Return the names and patterns of the current cluster's dead letter topics; none if the cluster is unknown."""
    try:
        return cluster_settings.settings_of(current()).dead_letter_topics
    except KeyError:
        return ()


def client_options(name: str = "") -> dict[str, ClientOption]:
    """Return the base options of every client of the cluster, in librdkafka's names.

    "" is the own cluster. Java key stores are read at each call, so the next client uses a renewed
    certificate. Raises KeyError for an unknown cluster, BrokerUnavailable for a key store or a secret that can no
    longer be read.
    """
    return client_options_of(cluster_settings.settings_of(name))


def client_options_of(one: ClusterSettings) -> dict[str, ClientOption]:
    """Return what `client_options` returns, also for a cluster that is disabled or not saved yet."""
    given = one.client_options()
    if given.keys() == {SERVERS}:
        return {**QUIET, SERVERS: given[SERVERS]}
    try:
        timeout = given.get("socket.timeout.ms", QUIET["socket.timeout.ms"])
        return {**admin_settings(given), **QUIET, "socket.timeout.ms": timeout}
    except ConfigError as error:
        if one.is_fixed:
            where = "" if one.name == settings.CLUSTER else one.name
            raise BrokerUnavailable(problem_message(where, error.problems[0])) from error
        option, _, text = error.problems[0]
        raise BrokerUnavailable(f"cluster {one.name}: {option} {text}") from error


def qualified(topic: str, cluster: str = "") -> str:
    """Return a topic's name, with the name of its cluster if that is not the own one."""
    return f"{cluster}/{topic}" if cluster not in ("", settings.CLUSTER) else topic


def address() -> str:
    """Return a key that distinguishes the clusters that queries go to: the name, and the servers."""
    name = current()
    try:
        return f"{name} {cluster_settings.settings_of(name).servers}"
    except KeyError:
        return f"{name} "


def unknown(name: str) -> str:
    """Return the sentence about a cluster that is not configured, or is disabled."""
    return f"There is no Kafka cluster {name}, or it is disabled"


_current: ContextVar[str] = ContextVar("cluster", default="")

"""Options of Java clients, as users know them, to those of librdkafka; with the lab's defaults below them."""

from __future__ import annotations

from collections.abc import Mapping

from engine.config.options import Problem

CONSUMER_DEFAULTS = {
    "fetch.queue.backoff.ms": "2",  # 1000, the client's own, halts a consumer whose queue is full
    "fetch.min.bytes": "1",
    "fetch.wait.max.ms": "100",
    "queued.max.messages.kbytes": "65536",
    "fetch.message.max.bytes": "10000000",
    "isolation.level": "read_committed",
}
CONSUMER_FIXED = {
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "enable.partition.eof": "true",
    "auto.offset.reset": "error",
}
PRODUCER_DEFAULTS = {"linger.ms": "20", "compression.type": "lz4"}
PRODUCER_FIXED = {"enable.idempotence": "true", "acks": "all"}
QUICK = {"linger.ms": "0", "delivery.timeout.ms": "5000", "request.timeout.ms": "4000"}  # for a few small records
SHARED = {"log_level": "3", "socket.keepalive.enable": "true"}

RENAMED = {"fetch.max.wait.ms": "fetch.wait.max.ms", "max.partition.fetch.bytes": "fetch.message.max.bytes"}
JAVA_ONLY = frozenset(
    {
        "auto.commit.interval.ms",
        "auto.include.jmx.reporter",
        "buffer.memory",
        "client.dns.lookup",
        "default.api.timeout.ms",
        "exclude.internal.topics",
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "max.block.ms",
        "max.poll.records",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "partition.assignment.strategy",
        "partitioner.class",
        "value.deserializer",
        "value.serializer",
    }
)
KEY_STORES = {
    "ssl.truststore.location": "ssl.ca.location (PEM)",
    "ssl.keystore.location": "ssl.certificate.location and ssl.key.location (PEM)",
}


def consumer_settings(group: str, *layers: Mapping[str, str]) -> dict[str, str]:
    """A consumer that reads committed records from assigned positions and never resets them."""
    return {**SHARED, **CONSUMER_DEFAULTS, **_merged(layers), **CONSUMER_FIXED, "group.id": group}


def producer_settings(*layers: Mapping[str, str]) -> dict[str, str]:
    """An idempotent producer."""
    return {**SHARED, **PRODUCER_DEFAULTS, **_merged(layers), **PRODUCER_FIXED}


def unacknowledged_settings(*layers: Mapping[str, str]) -> dict[str, str]:
    """A producer that honours `acks` as given: dead letters on another cluster, at best effort."""
    return {**SHARED, **PRODUCER_DEFAULTS, **_merged(layers)}


def admin_settings(*layers: Mapping[str, str]) -> dict[str, str]:
    """An admin client."""
    return {**SHARED, **_merged(layers)}


def client_problems(prefix: str, options: Mapping[str, str]) -> list[Problem]:
    """Options that can't be carried over to librdkafka, with the name of the one to use."""
    problems: list[Problem] = []
    for name, instead in KEY_STORES.items():
        value = options.get(name)
        if value is not None and options.get(name.replace("location", "type"), "JKS").upper() != "PEM":
            problems.append((prefix + name, value, f"Java key stores are not read; use {prefix}{instead}"))
    return problems


def _merged(layers: tuple[Mapping[str, str], ...]) -> dict[str, str]:
    merged: dict[str, str] = {}
    for layer in layers:
        for name, value in layer.items():
            if name not in JAVA_ONLY:
                merged[RENAMED.get(name, name)] = value
    return merged

"""Convert options of Java clients to librdkafka's, and add the engine's defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from pathlib import Path

from engine.config.masking import MASK, is_secret, mask_value
from engine.config.options import Problem, nearest, prefixed
from engine.config.permissions import NAMES_FILE
from engine.errors import ConfigError
from engine.kafka.keystores import INLINE, JAVA_STORES, PEM_MARK, override, with_pem
from engine.kafka.option_checks import refusal

CONSUMER_DEFAULTS = {
    "fetch.queue.backoff.ms": "2",  # the client's default of 1000 stalls a consumer whose queue is full
    "fetch.min.bytes": "1",
    "fetch.wait.max.ms": "100",
    "queued.max.messages.kbytes": "65536",
    "fetch.message.max.bytes": "10000000",
    "isolation.level": "read_committed",
}
CONSUMER_FIXED = {
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    # The position passes control records at the end of a partition only with this event.
    "enable.partition.eof": "true",
    # A position that is out of range must stop the task. Any reset would skip records, or repeat them all.
    "auto.offset.reset": "error",
}
# Without `compression.type`, as in Kafka Connect: not every consumer can read every codec.
PRODUCER_DEFAULTS = {"linger.ms": "20"}
QUEUE_KBYTES = 65_536  # a producer's queue limit; the client's default of 1 GB could take all of a worker's memory
# A retry inside the client must neither double a record nor change the order.
PRODUCER_FIXED = {"enable.idempotence": "true", "acks": "all"}
# The client insists that a record is delivered or lost before its transaction times out.
TRANSACTION_DEFAULTS = {"delivery.timeout.ms": "30000", "transaction.timeout.ms": "60000"}
# For clients that write a few small records.
QUICK = {"linger.ms": "0", "delivery.timeout.ms": "5000", "request.timeout.ms": "4000"}
# As Java's clients. The client's default of 10 s would delay all work by as much after a broker is back.
SHARED = {"log_level": "3", "socket.keepalive.enable": "true", "reconnect.backoff.max.ms": "1000"}

RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.partition.fetch.bytes": "fetch.message.max.bytes",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
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
        "sasl.jaas.config",
        "ssl.client.auth",  # for servers: the REST API's listeners
        "ssl.enabled.protocols",
        "ssl.engine.factory.class",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "transactional.id",  # known to librdkafka too, but users may not set it: transactional tasks have their own ids
        "value.deserializer",
        "value.serializer",
    }
)
ENDPOINT = "ssl.endpoint.identification.algorithm"
SECRETS = (
    "sasl.password",
    "sasl.jaas.config",
    "sasl.oauthbearer.client.secret",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.key",
    "ssl.keystore.password",
    "ssl.truststore.password",
)
STORE_TYPES = ("JKS", "PKCS12", "PEM")
PLAIN_FILES = ("ssl.ca.", "ssl.certificate.", "ssl.crl.", "ssl.key.", "https.ca.", "sasl.kerberos.keytab")
NO_FILES = ("", "probe")  # `probe`: the client looks for the system's certificates
_LOGIN = re.compile(r'\b(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')


def consumer_settings(group: str, *layers: Mapping[str, str]) -> dict[str, str]:
    """Return settings of a consumer that reads committed records and never resets its positions."""
    return {**SHARED, **CONSUMER_DEFAULTS, **_merged(layers), **CONSUMER_FIXED, "group.id": group}


def producer_settings(*layers: Mapping[str, str]) -> dict[str, str]:
    """Return settings of an idempotent producer."""
    merged = _merged(layers)
    # The fixed options come last: no worker or connector may weaken the guarantee of delivery.
    return {**SHARED, **PRODUCER_DEFAULTS, **_queue(merged), **merged, **PRODUCER_FIXED}


def transactional_settings(transactional_id: str, *layers: Mapping[str, str]) -> dict[str, str]:
    """Return settings of a producer with this transactional id. Layers can't override it (KIP-618)."""
    settings = producer_settings(TRANSACTION_DEFAULTS, *layers)
    return {**settings, "transactional.id": transactional_id}


def transactional_id(group: str, connector: str, task: int) -> str:
    """Return the transactional id of a task's producer: `<group.id>-<connector>-<task>` (KIP-618)."""
    return f"{group}-{connector}-{task}"


def unacknowledged_settings(*layers: Mapping[str, str]) -> dict[str, str]:
    """Return settings of a producer that honours `acks`: dead letters on another cluster, best effort."""
    merged = _merged(layers)
    # An idempotent producer insists on acks=all.
    return {**SHARED, **PRODUCER_DEFAULTS, **_queue(merged), **merged, "enable.idempotence": "false"}


def admin_settings(*layers: Mapping[str, str]) -> dict[str, str]:
    """Return settings of an admin client."""
    return {**SHARED, **_merged(layers)}


def client_problems(prefix: str, options: Mapping[str, str]) -> list[Problem]:
    """Return problems of options: librdkafka refuses them, or they can't be converted.

    The messages name the options to use instead.
    """
    problems: list[Problem] = []
    for name, value in options.items():
        is_javas = name in JAVA_ONLY or name.startswith(JAVA_STORES)
        reason = None if is_javas else refusal(RENAMED.get(name, name), value)
        if reason is not None and (value or name != ENDPOINT):
            problems.append(_hide_secrets(prefix, name, value, reason))
    problems += [
        (prefix + name, MASK, f"must be the path of a file, not a PEM text; {INLINE}")
        for name in ("ssl.truststore.location", "ssl.keystore.location")
        if PEM_MARK.decode() in options.get(name, "")
    ]
    for name in ("ssl.truststore.type", "ssl.keystore.type"):
        kind = options.get(name, "JKS")
        if kind.upper() not in STORE_TYPES:
            problems.append((prefix + name, kind, f"must be one of {', '.join(STORE_TYPES)}"))
    jaas = options.get("sasl.jaas.config")
    if jaas is not None and len(_login(jaas)) != 2:
        text = f"contains no username and password; use the client's own {prefix}sasl.* options"
        problems.append((f"{prefix}sasl.jaas.config", MASK, text))
    return problems


def file_problems(prefix: str, options: Mapping[str, str]) -> list[Problem]:
    """Return problems of a client's files on this machine: they can't be read, or are no key stores."""
    problems: list[Problem] = []
    try:
        with prefixed(prefix, options):
            with_pem(options)
    except ConfigError as error:
        problems += error.problems
    for name, path in options.items():
        if name.startswith(PLAIN_FILES) and name.endswith(NAMES_FILE) and path not in NO_FILES:
            try:
                with Path(path).open("rb"):
                    pass
            except IsADirectoryError:
                pass  # a directory of certificates
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                problems.append((prefix + name, path, f"can't be read: {reason}"))
    return problems


def _hide_secrets(prefix: str, name: str, value: str, reason: str) -> Problem:
    """Return a problem without secrets: none under a misspelt name, and none in librdkafka's message."""
    safe = MASK if is_secret(name) or nearest(name, SECRETS) else mask_value(value)
    return prefix + name, safe, reason.replace(value, safe) if value and safe != value else reason


def _queue(merged: Mapping[str, str]) -> dict[str, str]:
    """Return the producer's queue limit; the largest record it may send must fit in."""
    largest = merged.get("message.max.bytes", "0")
    # The client itself refuses a value that is not a number.
    largest_kbytes = int(largest) // 1024 + 1 if largest.isdecimal() else 0
    return {"queue.buffering.max.kbytes": str(max(QUEUE_KBYTES, largest_kbytes))}


def _merged(layers: tuple[Mapping[str, str], ...]) -> dict[str, str]:
    """Merge the layers, the last one on top, with librdkafka's names. Raises ConfigError for an unreadable store."""
    empty: Mapping[str, str] = {}
    merged = with_pem(reduce(override, (_librdkafka_names(layer) for layer in layers), empty))
    # Java's clients switch host name verification off with an empty value, librdkafka with `none`.
    if merged.get(ENDPOINT) == "":
        merged[ENDPOINT] = "none"
    return merged


def _librdkafka_names(layer: Mapping[str, str]) -> dict[str, str]:
    """Return a layer with librdkafka's names. Java's login module becomes the client's own SASL options."""
    named = {RENAMED.get(name, name): value for name, value in layer.items() if name not in JAVA_ONLY}
    return {**_login(layer.get("sasl.jaas.config", "")), **named}


def _login(jaas: str) -> dict[str, str]:
    return {f"sasl.{name}": re.sub(r"\\(.)", r"\1", value) for name, value in _LOGIN.findall(jaas)}

"""Clusters by name, and the client options of each: the own cluster and OTHER_CLUSTERS."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.conf import settings

from dlqadmin.broker.messages import BrokerUnavailable
from engine.config.masking import is_secret
from engine.config.options import nearest
from engine.errors import ConfigError
from engine.kafka.client_options import admin_settings, client_problems

ClientOption = str | int | float | bool
RECONNECT_MS = 1000  # librdkafka's 10 s would delay the indexer by as much after a broker is back
QUIET: Mapping[str, ClientOption] = {
    "log_level": 0,  # librdkafka must not log to stderr
    "socket.timeout.ms": 5000,
    "reconnect.backoff.max.ms": RECONNECT_MS,
}
SERVERS = "bootstrap.servers"
SECURITY = ("security.protocol", "sasl.", "ssl.")
OTHERS = frozenset({SERVERS, "broker.address.family", "client.id", "client.rack", "socket.timeout.ms"})
CHECKED = "enable.ssl.certificate.verification"
# The names used for hints about misspelt options only.
KNOWN = (
    SERVERS, "security.protocol", "sasl.mechanism", "sasl.username", "sasl.password", "sasl.jaas.config",
    "sasl.oauthbearer.method", "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.scope", "ssl.ca.location", "ssl.certificate.location",
    "ssl.key.location", "ssl.key.password", "ssl.truststore.location", "ssl.truststore.password",
    "ssl.keystore.location", "ssl.keystore.password", "ssl.endpoint.identification.algorithm",
)  # fmt: skip


def names() -> tuple[str, ...]:
    """Return the names of the other configured clusters, sorted.

    The own cluster is not among them; its name is "" everywhere.
    """
    return tuple(sorted(settings.OTHER_CLUSTERS))


def given_options(name: str = "") -> Mapping[str, str]:
    """Return a cluster's options as configured, including secrets.

    Raises KeyError for an unknown cluster.
    """
    if name:
        return {option: str(value) for option, value in settings.OTHER_CLUSTERS[name].items()}
    return {SERVERS: settings.KAFKA_BOOTSTRAP_SERVERS, **settings.KAFKA_SECURITY}


def client_options(name: str = "") -> dict[str, ClientOption]:
    """Return the base options of every client of the cluster, in librdkafka's names.

    "" is the own cluster. Java key stores are read at each call, so the next client uses a renewed
    certificate. Raises KeyError for an unknown cluster, BrokerUnavailable for a key store that can no longer
    be read.
    """
    given = given_options(name)
    if given.keys() == {SERVERS}:
        return {**QUIET, SERVERS: given[SERVERS]}
    try:
        return {**admin_settings(given), "log_level": 0, "socket.timeout.ms": given.get("socket.timeout.ms", 5000)}
    except ConfigError as error:
        raise BrokerUnavailable(_problem_message(name, error.problems[0])) from error


def problems() -> Iterator[str]:
    """Yield a sentence for each problem with the configured options, without secrets."""
    yield from _problems("", settings.KAFKA_SECURITY)
    for name, options in settings.OTHER_CLUSTERS.items():
        if not name or name == settings.CLUSTER:
            yield f"OTHER_CLUSTERS: {name!r} is the name of the main cluster. Choose another name"
        elif not isinstance(options, dict) or not options.get(SERVERS):
            yield f"OTHER_CLUSTERS: {name} must be an object with {SERVERS} and the other client options"
        else:
            yield from _problems(name, {option: str(value) for option, value in options.items()})


def _problems(name: str, options: Mapping[str, str]) -> Iterator[str]:
    allowed = {option: value for option, value in options.items() if _is_allowed(option, own=not name)}
    for option in options.keys() - allowed.keys():
        yield _problem_message(name, (option, None, _refusal(option)))
    found = client_problems("", allowed)
    for problem in found:
        yield _problem_message(name, problem)
    if not found:
        yield from (_problem_message(name, problem) for problem in _unreadable_files(allowed))


def _is_allowed(option: str, *, own: bool) -> bool:
    return option.startswith(SECURITY) or (not own and option in OTHERS)


def _refusal(option: str) -> str:
    if option == CHECKED:
        return "is not allowed, because it disables the check of the broker's certificate. Set ssl.ca.location instead"
    return f"is not a known connection option{nearest(option, KNOWN)}"


def _unreadable_files(options: Mapping[str, str]) -> Iterator[tuple[str, str | None, str]]:
    """Yield files that the dashboard, or its reader of Java key stores, cannot read."""
    for option, value in options.items():
        if option.endswith(".location") and not os.access(value, os.R_OK):
            yield option, value, "can't be read" if Path(value).exists() else "does not exist"
            return
    try:
        admin_settings(options)
    except ConfigError as error:
        yield from error.problems


def _problem_message(name: str, problem: tuple[str, str | None, str]) -> str:
    option, value, text = problem
    where = f"OTHER_CLUSTERS: {name}: {option}" if name else "KAFKA_" + option.upper().replace(".", "_")
    return f"{where}{f' {value!r}' if value and not is_secret(option) else ''} {text}"

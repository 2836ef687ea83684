"""The Kafka clusters: the own one, those of OTHER_CLUSTERS, and those that an administrator configured.

Secrets are in the environment only, each with the addresses to which it may be sent. So a changed address never gets a
password that was meant for another.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from django.conf import settings

from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.models import ConfiguredCluster
from engine.config.masking import is_secret
from engine.config.options import nearest
from engine.errors import ConfigError
from engine.kafka.client_options import admin_settings, client_problems

SERVERS = "bootstrap.servers"
PASSWORD = "sasl.password"  # noqa: S105 -- the name of an option
SECURITY = ("security.protocol", "sasl.", "ssl.")
OTHERS = frozenset({SERVERS, "broker.address.family", "client.id", "client.rack", "socket.timeout.ms"})
TOPICS, READ_ONLY, ENVIRONMENT, COLOUR = "dead.letter.topics", "read.only", "environment", "colour"
OURS = frozenset({TOPICS, READ_ONLY, ENVIRONMENT, COLOUR})  # options that are not the client's
COLOURS = ("", "grey", "blue", "green", "amber", "red", "purple")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
CHECKED = "enable.ssl.certificate.verification"
KEPT_S = 2.0
# The names used for hints about misspelt options only.
KNOWN = (
    SERVERS, "security.protocol", "sasl.mechanism", "sasl.username", PASSWORD, "sasl.jaas.config",
    "sasl.oauthbearer.method", "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.scope", "ssl.ca.location", "ssl.certificate.location",
    "ssl.key.location", "ssl.key.password", "ssl.truststore.location", "ssl.truststore.password",
    "ssl.keystore.location", "ssl.keystore.password", "ssl.endpoint.identification.algorithm", *sorted(OURS),
)  # fmt: skip
# The client's options, by the field of a configured cluster.
FIELDS: Mapping[str, str] = {
    "bootstrap_servers": SERVERS,
    "security_protocol": "security.protocol",
    "sasl_mechanism": "sasl.mechanism",
    "user": "sasl.username",
    "ca_file": "ssl.ca.location",
    "certificate_file": "ssl.certificate.location",
    "key_file": "ssl.key.location",
}


OptionProblem = tuple[str, str | None, str]  # the option, its value if it may be shown, and what is wrong


class ClusterSettings(msgspec.Struct, frozen=True):
    """A Kafka cluster. `options` are the client's, without a password that `secret` refers to.

    `is_fixed`: the environment sets them. Without `dead_letter_topics` replays only write to the cluster.
    """

    name: str
    options: Mapping[str, str]
    dead_letter_topics: tuple[str, ...] = ()
    is_read_only: bool = False
    is_enabled: bool = True
    environment: str = ""
    colour: str = ""
    secret: str = ""
    is_fixed: bool = False

    def __repr__(self) -> str:
        """Leave out what a mistake may have filled with a password."""
        return f"ClusterSettings({self.name!r}, {self.options.get(SERVERS)!r})"

    @property
    def servers(self) -> str:
        return self.options.get(SERVERS, "")

    def client_options(self) -> dict[str, str]:
        """Return the client's options, with the password. Raises BrokerUnavailable if it can't be read."""
        return {**self.options, PASSWORD: _secret(self)} if self.secret else dict(self.options)


def own() -> ClusterSettings:
    """Return the cluster of KAFKA_BOOTSTRAP_SERVERS, which also has the topics of the engine."""
    return ClusterSettings(
        settings.CLUSTER,
        {SERVERS: settings.KAFKA_BOOTSTRAP_SERVERS, **settings.KAFKA_SECURITY},
        tuple(settings.DLQ_TOPICS),
        is_read_only=settings.READ_ONLY,
        environment=settings.ENVIRONMENT,
        is_fixed=True,
    )


def others() -> dict[str, ClusterSettings]:
    """Return all other clusters by name, also those that are not enabled. One of the environment comes first."""
    found = {**_configured(), **{name: _of_environment(name) for name in settings.OTHER_CLUSTERS}}
    return {name: found[name] for name in sorted(found) if name != settings.CLUSTER}


def settings_of(name: str) -> ClusterSettings:
    """Return the settings of an enabled cluster; "" is the own one. Raises KeyError."""
    if name in ("", settings.CLUSTER):
        return own()
    if name in settings.OTHER_CLUSTERS:  # needs no database
        return _of_environment(name)
    found = _configured()[name]
    if not found.is_enabled:
        raise KeyError(name)
    return found


def forget() -> None:
    """Drop what is kept of the configured clusters, after a change."""
    _kept.clear()


def of_row(row: ConfiguredCluster) -> ClusterSettings:
    """Return the settings that a row has."""
    given = {option: str(getattr(row, field)) for field, option in FIELDS.items()}
    return ClusterSettings(
        row.name,
        {option: value for option, value in given.items() if value},
        tuple(row.dead_letter_topics),
        is_read_only=row.is_read_only,
        is_enabled=row.is_enabled,
        environment=row.environment,
        colour=row.colour,
        secret=row.secret,
    )


def problems(given: ClusterSettings) -> Iterator[tuple[str, str]]:
    """Yield (field, sentence) for everything wrong with a configured cluster, without secrets."""
    if not NAME.fullmatch(given.name):
        yield "name", "must have letters, digits, dots, underscores and hyphens only, at most 64"
    if given.name == settings.CLUSTER or given.name in settings.OTHER_CLUSTERS:
        yield "name", "is the name of a cluster that the environment sets"
    if given.colour not in COLOURS:
        yield "colour", f"must be one of {', '.join(COLOURS[1:])}"
    yield from (("dead_letter_topics", text) for text in _pattern_problems(given.dead_letter_topics))
    yield from (("secret", text) for text in _secret_problems(given))
    fields = {option: field for field, option in FIELDS.items()}
    if not given.servers:
        yield "bootstrap_servers", "must name at least one broker, such as kafka:9092"
    for option, _value, text in client_option_problems(given.options):
        yield fields.get(option, "bootstrap_servers"), text


def problems_of_environment() -> Iterator[str]:
    """Yield a sentence for each problem with the clusters of the environment, without secrets."""
    yield from _problems_of("", settings.KAFKA_SECURITY)
    yield from _malformed_secrets()
    for name, options in settings.OTHER_CLUSTERS.items():
        if not name or name == settings.CLUSTER:
            yield f"OTHER_CLUSTERS: {name!r} is the name of the main cluster. Choose another name"
        elif not isinstance(options, dict) or not options.get(SERVERS):
            yield f"OTHER_CLUSTERS: {name} must be an object with {SERVERS} and the other client options"
        else:
            yield from _problems_of(name, {option: str(value) for option, value in options.items()})


def client_option_problems(
    options: Mapping[str, str], *, is_own: bool = False
) -> Iterator[tuple[str, str | None, str]]:
    """Yield (option, value, text) for each connection option that is not allowed or can't be used."""
    allowed = {option: value for option, value in options.items() if _is_allowed(option, is_own=is_own)}
    for option in options.keys() - allowed.keys():
        yield option, None, _refusal(option)
    found = client_problems("", allowed)
    yield from found
    if not found:
        yield from _unreadable_files(allowed)


def problem_message(name: str, problem: OptionProblem) -> str:
    """Return the sentence about a problem with an option of the environment."""
    option, value, text = problem
    where = f"OTHER_CLUSTERS: {name}: {option}" if name else "KAFKA_" + option.upper().replace(".", "_")
    return f"{where}{f' {value!r}' if value and not is_secret(option) else ''} {text}"


def _problems_of(name: str, options: Mapping[str, str]) -> Iterator[str]:
    client = {option: value for option, value in options.items() if option not in OURS or not name}
    yield from (problem_message(name, problem) for problem in client_option_problems(client, is_own=not name))
    if name:
        found = _of_environment(name)
        yield from (f"OTHER_CLUSTERS: {name}: {TOPICS}: {text}" for text in _pattern_problems(found.dead_letter_topics))
        if options.get(READ_ONLY, "false").lower() not in ("true", "false"):
            yield f"OTHER_CLUSTERS: {name}: {READ_ONLY} must be true or false"
        if found.colour not in COLOURS:
            yield f"OTHER_CLUSTERS: {name}: {COLOUR} must be one of {', '.join(COLOURS[1:])}"


def _pattern_problems(patterns: tuple[str, ...]) -> Iterator[str]:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            yield f"{pattern!r} is not a regular expression: {error}"


def _is_allowed(option: str, *, is_own: bool) -> bool:
    return option.startswith(SECURITY) or (not is_own and option in OTHERS)


def _refusal(option: str) -> str:
    if option == CHECKED:
        return "is not allowed, because it disables the check of the broker's certificate. Set ssl.ca.location instead"
    return f"is not a known connection option{nearest(option, KNOWN)}"


def _unreadable_files(options: Mapping[str, str]) -> Iterator[OptionProblem]:
    """Yield files that the dashboard, or its reader of Java key stores, cannot read."""
    for option, value in options.items():
        if option.endswith(".location") and not os.access(value, os.R_OK):
            yield option, value, "can't be read" if Path(value).exists() else "does not exist"
            return
    try:
        admin_settings(options)
    except ConfigError as error:
        yield from error.problems


def _malformed_secrets() -> Iterator[str]:
    for name, entry in settings.KAFKA_CLUSTER_SECRETS.items():
        addresses = entry.get("addresses") if isinstance(entry, dict) else None
        has_addresses = isinstance(addresses, list) and bool(addresses)
        if not has_addresses or isinstance(entry.get("value"), str) == isinstance(entry.get("file"), str):
            yield f"KAFKA_CLUSTER_SECRETS: {name} needs 'addresses', a list, and either 'value' or 'file'"


def _secret_problems(given: ClusterSettings) -> Iterator[str]:
    if not given.secret:
        return
    entry = settings.KAFKA_CLUSTER_SECRETS.get(given.secret)
    if entry is None:
        yield f"{given.secret!r} is not an entry of KAFKA_CLUSTER_SECRETS"
        return
    allowed = {address.strip().lower() for address in entry["addresses"]}
    for address in given.servers.split(","):
        if address.strip().lower() not in allowed:
            yield f"{given.secret!r} may not be sent to {address.strip()}; KAFKA_CLUSTER_SECRETS lists its addresses"
            return
    if "file" in entry and not Path(entry["file"]).is_file():
        yield f"{given.secret!r} has a file that does not exist"


def _secret(given: ClusterSettings) -> str:
    # Checked at each use: the address of a row may have changed since it was validated.
    if problem := next(_secret_problems(given), None):
        raise BrokerUnavailable(f"cluster {given.name}: secret {problem}")
    entry: Mapping[str, Any] = settings.KAFKA_CLUSTER_SECRETS[given.secret]
    if "file" not in entry:
        return str(entry["value"])
    try:
        return Path(entry["file"]).read_text().strip()
    except OSError as error:
        raise BrokerUnavailable(f"the file of secret {given.secret!r} can't be read: {error.strerror}") from None


def _of_environment(name: str) -> ClusterSettings:
    given = {option: str(value) for option, value in settings.OTHER_CLUSTERS[name].items()}
    return ClusterSettings(
        name,
        {option: value for option, value in given.items() if option not in OURS},
        tuple(part.strip() for part in given.get(TOPICS, "").split(",") if part.strip()),
        is_read_only=given.get(READ_ONLY, "").lower() == "true",
        environment=given.get(ENVIRONMENT, "").upper(),
        colour=given.get(COLOUR, ""),
        is_fixed=True,
    )


def _configured() -> Mapping[str, ClusterSettings]:
    """Return the clusters of the database, at most two seconds old: they are asked for at each query of Kafka."""
    kept = _kept.get("")
    if kept is None or time.monotonic() - kept[0] > KEPT_S:
        kept = _kept[""] = (time.monotonic(), {row.name: of_row(row) for row in ConfiguredCluster.objects.all()})
    return kept[1]


_kept: dict[str, tuple[float, Mapping[str, ClusterSettings]]] = {}

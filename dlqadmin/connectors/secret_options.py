"""Secrets in configurations, which Java's Kafka Connect shows to every client.

A connector's definitions say which options are passwords. The dashboard asks for them with a validation of those
options only that decide which definitions there are. So no secret is sent, and no connector opens a connection.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from django.core.cache import cache

from dlqadmin.connectors import client
from dlqadmin.connectors.connect_clusters import ConnectCluster
from engine.config.masking import PROVIDED, mask

KNOWN_S, UNKNOWN_S = 600, 60  # a plugin may be replaced; a class whose definitions nobody told is asked again soon
# A cluster that did not answer in time is not asked for this long, or a list of connectors would wait for every class.
# It is shorter than UNKNOWN_S, so that one class that never answers does not take the turn of all others.
AWAY_S = 20
_CLASS = "connector.class"
_DECIDING = frozenset({_CLASS, "transforms", "predicates"})
_DECIDING_ENDS = (".type", ".converter")
# The framework's own options, without secrets. They are shown even if the definitions are unknown.
_FRAMEWORK = _DECIDING | {"name", "tasks.max", "topics", "topics.regex"}
_FRAMEWORK_BEGINS = "errors."


def secret_options(cluster: ConnectCluster, config: Mapping[str, str]) -> frozenset[str]:
    """Return the options of a Java connector that hold a password by their definitions.

    These are all options but the framework's if the definitions can't be read. An option whose value is only a
    reference to a config provider holds no secret.
    """
    passwords = _passwords(cluster, config)
    hidden = passwords if passwords is not None else frozenset(name for name in config if not _is_framework(name))
    return hidden - _references(config)


def masked(config: Mapping[str, str], secrets: frozenset[str]) -> dict[str, str]:
    """Return a copy for display: secrets are masked, references to config providers are not."""
    return mask(config, secrets, _references(config))


def without_values(text: str, stored: Mapping[str, str], shown: Mapping[str, str]) -> str:
    """Return a worker's message with the masked form of each stored value that people do not see."""
    for name, value in stored.items():
        if value and shown.get(name, value) != value:
            text = text.replace(value, shown[name])
    return text


def _passwords(cluster: ConnectCluster, config: Mapping[str, str]) -> frozenset[str] | None:
    """Return the options of type PASSWORD; None if the worker does not tell."""
    asked = {name: value for name, value in config.items() if _is_deciding(name)}
    key, away = _key("passwords", [cluster.urls, sorted(asked.items())]), _key("away", cluster.urls)
    kept = cache.get(key)
    if kept is not None:
        return None if kept is False else frozenset(kept)
    if cache.get(away):
        return None
    try:
        body = client.validate(cluster, config.get(_CLASS, ""), asked, client.TIMEOUT)
    except (client.EngineUnavailable, client.EngineRefused) as error:
        cache.set(key, False, UNKNOWN_S)
        if isinstance(error, client.EngineUnavailable):
            cache.set(away, True, AWAY_S)
        return None
    rows = body.get("configs") if isinstance(body, dict) else None
    if not isinstance(rows, list):
        cache.set(key, False, UNKNOWN_S)
        return None
    definitions = [row.get("definition") for row in rows if isinstance(row, dict)]
    found = [str(one.get("name")) for one in definitions if isinstance(one, dict) and one.get("type") == "PASSWORD"]
    cache.set(key, found, KNOWN_S)
    return frozenset(found)


def _key(kind: str, of: object) -> str:
    return f"connect-{kind}:{hashlib.sha256(json.dumps(of).encode()).hexdigest()}"


def _is_deciding(name: str) -> bool:
    return name in _DECIDING or name.endswith(_DECIDING_ENDS)


def _is_framework(name: str) -> bool:
    return name in _FRAMEWORK or name.startswith(_FRAMEWORK_BEGINS) or name.endswith(_DECIDING_ENDS)


def _references(config: Mapping[str, str]) -> frozenset[str]:
    return frozenset(name for name, value in config.items() if PROVIDED.fullmatch(str(value)))

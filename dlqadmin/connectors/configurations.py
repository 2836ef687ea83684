"""Read, create, change and delete the configurations of connectors. Every write is audited without secrets.

The engine shows secrets masked. A masked value that is sent back stands for the stored value: the engine puts it in
place. Java's Kafka Connect shows its secrets to the dashboard. There the dashboard masks them by the definitions of the
options, and puts the stored values in place itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from rest_framework import exceptions

from dlqadmin.audit.entries import record
from dlqadmin.connectors import client
from dlqadmin.connectors.cluster_responses import is_kafka_connect
from dlqadmin.connectors.configuration_reach import refuse_beyond_reach
from dlqadmin.connectors.connect_clusters import ConnectCluster
from dlqadmin.connectors.documents import ConnectorConfiguration
from dlqadmin.connectors.secret_addresses import CLASS, moving_options
from dlqadmin.connectors.secret_options import masked, secret_options, without_values
from dlqadmin.rest.problems import StateConflict, UpstreamUnavailable
from dlqadmin.rest.text import shortened
from engine.config.masking import MASK, masked_options, unmask

MAX_AUDITED_OPTIONS, MAX_AUDITED_VALUE = 200, 300
NO_STORED_VALUE = f"contains {MASK}, but there is no stored value behind it. Write the real value."
_INVALID = re.compile(r"(?P<option>[\w.\-$]+): (?P<message>.+)")
# Java's Kafka Connect names the option inside its sentences.
_INVALID_IN_JAVA = re.compile(
    r"Invalid value .*? for configuration (?P<option>[\w.\-$]+)\b.*"
    r"|Missing required configuration \"(?P<missing>[^\"]+)\".*"
)

Config = dict[str, str]
T = TypeVar("T")


class ConfigurationChanged(exceptions.ValidationError):
    """Somebody changed the connector since its configuration was opened. The findings say which options differ."""

    status_code = 409
    problem_code = "configuration_changed"


@dataclass(frozen=True, slots=True)
class StoredConfiguration:
    """A connector's configuration as its cluster has it, with the options that hold secrets in it.

    Our engine returns them masked; Java's Kafka Connect does not.
    """

    config: Config
    secrets: frozenset[str] = frozenset()
    is_java: bool = False

    @property
    def shown(self) -> Config:
        """Return the configuration with masked secrets."""
        return masked(self.config, self.secrets)

    def restored(self, config: Mapping[str, str]) -> Config:
        """Return a configuration with the stored values in place of unchanged masks."""
        return unmask(config, self.config, self.secrets)

    def unresolved_masks(self, sent: Mapping[str, str]) -> list[str]:
        """Return the options whose mask stands for no stored value."""
        return [name for name in masked_options(sent, self.secrets) if sent[name] != self.config.get(name)]


NOTHING = StoredConfiguration({})


def stored(cluster: ConnectCluster, name: str) -> StoredConfiguration:
    """Return the configuration as the cluster has it. Raises EngineRefused or UpstreamUnavailable."""
    config = reachable(cluster, lambda: client.configuration(cluster, name))
    return _with_secrets(cluster, config, is_java=reachable(cluster, lambda: is_kafka_connect(cluster)))


def opened(cluster: ConnectCluster, name: str) -> ConnectorConfiguration:
    """Return the configuration of a connector, with masked secrets. Raises EngineRefused or UpstreamUnavailable."""
    return _document(cluster, name, stored(cluster, name))


def create(
    user: Any, cluster: ConnectCluster, name: str, config: Mapping[str, str], reason: str
) -> ConnectorConfiguration:
    """Create a connector. Raises ValidationError, EngineRefused, UpstreamUnavailable, or StateConflict if it exists.

    Raises PermissionDenied for a name out of reach.
    """
    sent = _named(name, config)
    refuse_beyond_reach(name, sent)
    before = replace(NOTHING, is_java=reachable(cluster, lambda: is_kafka_connect(cluster)))
    _refuse_masks(sent, before)
    write = ConfigWrite(cluster, "create connector", name, reason, before, sent)
    return _document(cluster, name, _write_audited(user, write, lambda: client.create(cluster, name, sent)))


def change(
    user: Any,
    cluster: ConnectCluster,
    name: str,
    config: Mapping[str, str],
    shown_before: Mapping[str, str],
    reason: str,
) -> ConnectorConfiguration:
    """Replace the configuration of a connector that still has the one that the person saw.

    The API of Connect has no conditional write, so a change of another client in the same instant is not noticed.
    Raises ConfigurationChanged, ValidationError, EngineRefused or UpstreamUnavailable.
    """
    before = stored(cluster, name)
    if others := differences(shown_before, before.shown):
        raise ConfigurationChanged({option: [_change_text(*values)] for option, values in others.items()})
    sent = before.restored(_named(name, config))
    refuse_beyond_reach(name, sent)
    _refuse_masks(sent, before)
    kept = [name for name in sent if MASK in config.get(name, "") and sent[name] == before.config.get(name)]
    refuse_moved_secrets(kept, sent, before)
    if sent == before.config:
        raise exceptions.ValidationError({"config": ["No option differs from the connector's configuration."]})
    write = ConfigWrite(cluster, "change connector", name, reason, before, sent)
    return _document(cluster, name, _write_audited(user, write, lambda: client.configure(cluster, name, sent)))


def delete(user: Any, cluster: ConnectCluster, name: str, reason: str) -> None:
    """Delete a connector. Its offsets stay in Kafka. Raises EngineRefused or UpstreamUnavailable."""
    before = stored(cluster, name)

    def act() -> Config:
        client.delete(cluster, name)
        return {}

    _write_audited(user, ConfigWrite(cluster, "delete connector", name, reason, before, {}), act)


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """Return the options whose values differ, with both values. None means that the option is not set."""
    names = sorted({*before, *after})
    return {name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}


def refuse_moved_secrets(
    kept: Collection[str], sent: Mapping[str, str], before: StoredConfiguration, plugin: str | None = None
) -> None:
    """Raise ValidationError if stored secrets, which the person never saw, could go to an address of their choice.

    `kept` are the options with stored secrets. `plugin` is the class that gets them, if a request names one.
    """
    moved = set(moving_options(sent, before.config, is_java=before.is_java))
    if plugin is not None and plugin != before.config.get(CLASS):
        moved.add(CLASS)
    if kept and moved:
        text = f"A stored secret is not sent to another address. Enter the secret again: {', '.join(sorted(kept))}."
        raise exceptions.ValidationError({name: [text] for name in sorted(moved)})


def reachable(cluster: ConnectCluster, call: Callable[[], T]) -> T:
    """Return the result of a read of the cluster. Raises EngineRefused or UpstreamUnavailable."""
    try:
        return call()
    except client.EngineUnavailable as error:
        raise UpstreamUnavailable(f"{cluster.title} does not respond, so nothing was read or changed.") from error


def _with_secrets(cluster: ConnectCluster, config: Config, *, is_java: bool) -> StoredConfiguration:
    secrets = secret_options(cluster, config) if is_java and config else frozenset[str]()
    return StoredConfiguration(config, secrets, is_java)


def _document(cluster: ConnectCluster, name: str, found: StoredConfiguration) -> ConnectorConfiguration:
    shown = found.shown
    return ConnectorConfiguration(
        cluster=cluster.name, connector=name, config=shown, hidden=[one for one in shown if MASK in shown[one]]
    )


def _named(name: str, config: Mapping[str, str]) -> Config:
    if config.get("name", name) != name:
        raise exceptions.ValidationError(
            {"name": [f"A connector can't be renamed: the name must stay {name}. Create another connector instead."]}
        )
    return {**config, "name": name}


def _refuse_masks(sent: Mapping[str, str], before: StoredConfiguration) -> None:
    if left := before.unresolved_masks(sent):
        raise exceptions.ValidationError({name: [NO_STORED_VALUE] for name in left})


@dataclass(frozen=True, slots=True)
class ConfigWrite:
    """A write of a configuration, as it is audited. `sent` has the real values of secrets."""

    cluster: ConnectCluster
    action: str
    name: str
    reason: str
    before: StoredConfiguration
    sent: Config


def _write_audited(user: Any, write: ConfigWrite, act: Callable[[], Config]) -> StoredConfiguration:
    """Write to the cluster, and record what was asked and how it ended."""
    outcome, made = "accepted", None
    try:
        made = _with_secrets(write.cluster, act(), is_java=write.before.is_java)
    except client.EngineRefused as error:
        told = without_values(error.message, write.before.config, write.before.shown)
        outcome = f"refused: {told}"
        raise _refusal(client.EngineRefused(error.status, told)) from error
    except client.EngineUnavailable as error:
        outcome = f"unknown: {error}"
        raise UpstreamUnavailable(
            f"{write.cluster.title} does not respond. It may or may not have received the request."
        ) from error
    finally:
        facts = {"reason": write.reason, "cluster": write.cluster.name, "outcome": outcome}
        record(user, write.action, "connector", write.name, {**facts, **_audited(write, made)})
    return made


def _audited(write: ConfigWrite, made: StoredConfiguration | None) -> dict[str, Any]:
    """Return the changed options, and the digests of both configurations, without secrets.

    The cluster knows more secret options than their names tell, so only values that it has returned are kept.
    `made` is None if it did not accept the request: then only the names of the new options are.
    """
    before, sent = write.before.config, write.sent
    changed = [name for name in sorted({*before, *sent}) if before.get(name) != sent.get(name)][:MAX_AUDITED_OPTIONS]
    old = write.before.shown
    facts: dict[str, Any] = {"before": _digest(old) if before else None}
    if made is None:
        return {**facts, "options": changed}
    new = made.shown
    values = {name: {"before": _cut(old.get(name)), "after": _cut(new.get(name))} for name in changed}
    return {**facts, "after": _digest(new) if made.config else None, "changed": values}


def _digest(masked: Config) -> str:
    """Return the SHA-256 of a configuration without secrets, which proves nothing about their values."""
    return hashlib.sha256(json.dumps(masked, sort_keys=True).encode()).hexdigest()


def _cut(value: str | None) -> str | None:
    return None if value is None else shortened(value, MAX_AUDITED_VALUE)


def _change_text(before: str | None, after: str | None) -> str:
    was = "was not set" if before is None else f"was {before or '(empty)'}"
    now = "is not set now" if after is None else f"is {after or '(empty)'} now"
    return f"{was} when it was opened, and {now}"


def _refusal(error: client.EngineRefused) -> Exception:
    """Convert a cluster's list of invalid options to findings. Other refusals stay as they are."""
    if error.status == 409:
        return StateConflict(error.message)
    if error.status != 400:
        return error
    findings: dict[str, list[str]] = {}
    for line in error.message.splitlines():
        if match := _INVALID_IN_JAVA.fullmatch(line.strip()):
            findings.setdefault(match["option"] or match["missing"], []).append(match[0])
        elif match := _INVALID.fullmatch(line.strip()):
            findings.setdefault(match["option"], []).append(match["message"])
    return exceptions.ValidationError(findings or {"config": [error.message]})

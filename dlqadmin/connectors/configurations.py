"""Read, create, change and delete the configurations of connectors. Every write is audited without secrets.

The engine shows secrets masked. A masked value that is sent back stands for the stored value: the engine puts it in
place. Other Kafka Connect workers show their secrets to the dashboard. There the dashboard masks them by the names of
the options, and puts the stored values in place itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from rest_framework import exceptions

from dlqadmin.audit.entries import record
from dlqadmin.connectors import client
from dlqadmin.connectors.documents import ConnectorConfiguration
from dlqadmin.rest.problems import StateConflict, UpstreamUnavailable
from engine.config.masking import MASK, mask, masked_options, unmask

MAX_AUDITED_OPTIONS, MAX_AUDITED_VALUE = 200, 300
NO_STORED_VALUE = f"contains {MASK}, but there is no stored value behind it. Write the real value."
_INVALID = re.compile(r"(?P<option>[\w.\-$]+): (?P<message>.+)")
_ADDRESS = re.compile(
    r"(?:^|[._])(?:bootstrap\.servers|servers?|ur[il]s?|hosts?|hostname|endpoints?|address)$", re.IGNORECASE
)

Config = dict[str, str]


class ConfigurationChanged(exceptions.ValidationError):
    """Somebody changed the connector since its configuration was opened. The findings say which options differ."""

    status_code = 409
    problem_code = "configuration_changed"


def opened(name: str) -> ConnectorConfiguration:
    """Return the configuration of a connector, with masked secrets. Raises EngineRefused or UpstreamUnavailable."""
    return _document(name, _stored(name))


def create(user: Any, name: str, config: Mapping[str, str], reason: str) -> ConnectorConfiguration:
    """Create a connector. Raises ValidationError, EngineRefused, UpstreamUnavailable, or StateConflict if it exists."""
    sent = _named(name, config)
    _refuse_masks(sent, {})
    made = _write_audited(user, "create connector", name, reason, {}, sent, lambda: client.create(name, sent))
    return _document(name, made)


def change(
    user: Any, name: str, config: Mapping[str, str], shown_before: Mapping[str, str], reason: str
) -> ConnectorConfiguration:
    """Replace the configuration of a connector that still has the one that the person saw.

    The engine's API has no conditional write, so a change of another client in the same instant is not noticed.
    Raises ConfigurationChanged, ValidationError, EngineRefused or UpstreamUnavailable.
    """
    stored = _stored(name)
    shown = mask(stored)
    if others := differences(shown_before, shown):
        raise ConfigurationChanged({option: [_change_text(*values)] for option, values in others.items()})
    sent = unmask(_named(name, config), stored)
    _refuse_masks(sent, stored)
    _refuse_moved_secrets(config, sent, stored)
    if sent == stored:
        raise exceptions.ValidationError({"config": ["No option differs from the connector's configuration."]})
    made = _write_audited(user, "change connector", name, reason, stored, sent, lambda: client.configure(name, sent))
    return _document(name, made)


def delete(user: Any, name: str, reason: str) -> None:
    """Delete a connector. Its offsets stay in Kafka. Raises EngineRefused or UpstreamUnavailable."""
    stored = _stored(name)

    def act() -> Config:
        client.delete(name)
        return {}

    _write_audited(user, "delete connector", name, reason, stored, {}, act)


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """Return the options whose values differ, with both values. None means that the option is not set."""
    names = sorted({*before, *after})
    return {name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}


def unresolved_masks(sent: Mapping[str, str], stored: Mapping[str, str]) -> list[str]:
    """Return the options whose mask stands for no stored value."""
    return [name for name in masked_options(sent) if sent[name] != stored.get(name)]


def reachable(call: Callable[[], Any]) -> Any:
    """Return the result of a read of the engine. Raises EngineRefused or UpstreamUnavailable."""
    try:
        return call()
    except client.EngineUnavailable as error:
        raise UpstreamUnavailable("The engine does not respond, so nothing was read or changed.") from error


def _stored(name: str) -> Config:
    found: Config = reachable(lambda: client.configuration(name))
    return found


def _document(name: str, config: Mapping[str, str]) -> ConnectorConfiguration:
    shown = mask(config)
    return ConnectorConfiguration(connector=name, config=shown, hidden=[one for one in shown if MASK in shown[one]])


def _named(name: str, config: Mapping[str, str]) -> Config:
    if config.get("name", name) != name:
        raise exceptions.ValidationError(
            {"name": [f"A connector can't be renamed: the name must stay {name}. Create another connector instead."]}
        )
    return {**config, "name": name}


def _refuse_masks(sent: Mapping[str, str], stored: Mapping[str, str]) -> None:
    if left := unresolved_masks(sent, stored):
        raise exceptions.ValidationError({name: [NO_STORED_VALUE] for name in left})


def _refuse_moved_secrets(config: Mapping[str, str], sent: Mapping[str, str], stored: Mapping[str, str]) -> None:
    """Raise ValidationError if stored secrets, which the person never saw, would go to an address of their choice."""
    kept = [name for name in sent if MASK in config.get(name, "") and sent[name] == stored.get(name)]
    moved = [name for name in sent if _ADDRESS.search(name) and sent[name] != stored.get(name)]
    if kept and moved:
        text = f"A stored secret is not sent to another address. Enter the secret again: {', '.join(sorted(kept))}."
        raise exceptions.ValidationError({name: [text] for name in moved})


def _write_audited(
    user: Any, action: str, name: str, reason: str, before: Config, after: Config, act: Callable[[], Config]
) -> Config:
    """Write to the engine, and record what was asked and how it ended."""
    outcome, made = "accepted", None
    try:
        made = act()
    except client.EngineRefused as error:
        outcome = f"refused: {error.message}"
        raise _refusal(error) from error
    except client.EngineUnavailable as error:
        outcome = f"unknown: {error}"
        raise UpstreamUnavailable(
            "The engine does not respond. It may or may not have received the request."
        ) from error
    finally:
        detail = {"reason": reason, "outcome": outcome, **_audited(before, after, made)}
        record(user, action, "connector", name, detail)
    return made


def _audited(before: Config, sent: Config, made: Config | None) -> dict[str, Any]:
    """Return the changed options, and the digests of both configurations, without secrets.

    The engine knows more secret options than their names tell, so only values that it has returned are kept.
    `made` is None if it did not accept the request: then only the names of the new options are.
    """
    changed = [name for name in sorted({*before, *sent}) if before.get(name) != sent.get(name)][:MAX_AUDITED_OPTIONS]
    old, new = mask(before), mask(made or {})
    facts: dict[str, Any] = {"before": _digest(old) if before else None}
    if made is None:
        return {**facts, "options": changed}
    values = {name: {"before": _cut(old.get(name)), "after": _cut(new.get(name))} for name in changed}
    return {**facts, "after": _digest(new) if made else None, "changed": values}


def _digest(masked: Config) -> str:
    """Return the SHA-256 of a configuration without secrets, which proves nothing about their values."""
    return hashlib.sha256(json.dumps(masked, sort_keys=True).encode()).hexdigest()


def _cut(value: str | None) -> str | None:
    return value if value is None or len(value) <= MAX_AUDITED_VALUE else f"{value[: MAX_AUDITED_VALUE - 1]}…"


def _change_text(before: str | None, after: str | None) -> str:
    was = "was not set" if before is None else f"was {before or '(empty)'}"
    now = "is not set now" if after is None else f"is {after or '(empty)'} now"
    return f"{was} when it was opened, and {now}"


def _refusal(error: client.EngineRefused) -> Exception:
    """Convert the engine's list of invalid options to findings. Other refusals stay as they are."""
    if error.status == 409:
        return StateConflict(error.message)
    if error.status != 400:
        return error
    findings: dict[str, list[str]] = {}
    for line in error.message.splitlines():
        if match := _INVALID.fullmatch(line.strip()):
            findings.setdefault(match["option"], []).append(match["message"])
    return exceptions.ValidationError(findings or {"config": [error.message]})

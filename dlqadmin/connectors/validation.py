"""Validate a configuration before it is written, by the engine's own table of options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import exceptions

from dlqadmin.connectors import client
from dlqadmin.connectors.configurations import NO_STORED_VALUE, reachable, unresolved_masks
from dlqadmin.connectors.documents import ConfigValidation, ConnectorOption, ConnectorPlugin, ConnectorPluginList
from engine.config.masking import MASK, unmask

KINDS = ("sink", "source", "stream")


def plugins() -> ConnectorPluginList:
    """Return the connector classes of the engine. Raises EngineRefused or UpstreamUnavailable."""
    found = reachable(lambda: client.get("/connector-plugins"))
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return ConnectorPluginList(
        results=[
            ConnectorPlugin(class_name=str(row.get("class", "")), type=str(row.get("type", "")).lower())
            for row in rows
            if str(row.get("type", "")).lower() in KINDS
        ]
    )


def validate(plugin: str, config: Mapping[str, str], connector: str | None) -> ConfigValidation:
    """Return every option of the class with its problems. Nothing is written.

    `connector` is the connector whose stored values stand behind masked values. The engine can't check a secret that
    it has not been sent, so problems of unchanged secrets are left out until the configuration is written.
    Raises ValidationError for an unknown class, EngineRefused or UpstreamUnavailable.
    """
    stored = reachable(lambda: client.configuration(connector)) if connector else {}
    sent = unmask(config, stored)
    try:
        body = reachable(lambda: client.validate(plugin, sent))
    except client.EngineRefused as error:
        if error.status not in (400, 404):
            raise
        raise exceptions.ValidationError({"connector.class": [error.message]}) from error
    unchecked = {name for name, value in sent.items() if MASK in value and stored.get(name) == value}
    unknown = set(unresolved_masks(sent, stored))
    rows = [row for row in body.get("configs", ()) if isinstance(row, dict)] if isinstance(body, dict) else []
    options = [_option(row, unchecked, unknown) for row in rows]
    return ConfigValidation(plugin=plugin, error_count=sum(len(option.errors) for option in options), options=options)


def _option(row: Mapping[str, Any], unchecked: set[str], unknown: set[str]) -> ConnectorOption:
    definition, value = row.get("definition") or {}, row.get("value") or {}
    name = str(value.get("name") or definition.get("name") or "")
    errors = [] if name in unchecked else [str(error) for error in value.get("errors") or ()]
    default = definition.get("default_value")
    return ConnectorOption(
        name=name,
        type=str(definition.get("type", "STRING")).lower(),
        required=bool(definition.get("required")),
        default=None if default is None else str(default),
        doc=str(definition.get("documentation") or ""),
        group=str(definition.get("group") or "Common"),
        errors=[NO_STORED_VALUE, *errors] if name in unknown else errors,
    )

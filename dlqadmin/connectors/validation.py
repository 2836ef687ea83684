"""Validate a configuration before it is written, by its cluster's own definitions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rest_framework import exceptions

from dlqadmin.connectors import client
from dlqadmin.connectors.configurations import (
    NO_STORED_VALUE,
    NOTHING,
    StoredConfiguration,
    reachable,
    refuse_moved_secrets,
    stored,
)
from dlqadmin.connectors.connect_clusters import ConnectCluster
from dlqadmin.connectors.documents import ConfigValidation, ConnectorOption, ConnectorPlugin, ConnectorPluginList
from dlqadmin.connectors.secret_options import without_values
from engine.config.masking import MASK

MAX_RECOMMENDED = 100
KINDS = ("sink", "source", "stream")
# Tags in the documentation of Java's options. Other words in angle brackets are placeholders.
_MARKUP = re.compile(r"</?(?:a|b|br|code|em|i|li|ol|p|pre|strong|tt|ul)(?: [^<>]*)?/?>")


def plugins(cluster: ConnectCluster) -> ConnectorPluginList:
    """Return the connector classes of the cluster. Raises EngineRefused or UpstreamUnavailable."""
    found = reachable(cluster, lambda: client.get(cluster, "/connector-plugins"))
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return ConnectorPluginList(
        results=[
            ConnectorPlugin(class_name=str(row.get("class", "")), type=str(row.get("type", "")).lower())
            for row in rows
            if str(row.get("type", "")).lower() in KINDS
        ]
    )


def validate(
    cluster: ConnectCluster, plugin: str, config: Mapping[str, str], connector: str | None
) -> ConfigValidation:
    """Return every option of the class with its problems. Nothing is written.

    `connector` is the connector whose stored values stand behind masked values. The engine can't check a secret that
    it has not been sent, so problems of unchanged secrets are left out until the configuration is written.
    Raises ValidationError for an unknown class, and for a stored secret that would go to another address, because a
    worker may connect while it validates. Raises EngineRefused or UpstreamUnavailable.
    """
    before = stored(cluster, connector) if connector else NOTHING
    sent = before.restored(config)
    refuse_moved_secrets([name for name in sent if sent[name] != config[name]], sent, before, plugin)
    try:
        body = reachable(cluster, lambda: client.validate(cluster, plugin, sent))
    except client.EngineRefused as error:
        text = without_values(error.message, before.config, before.shown)
        if error.status not in (400, 404):
            raise type(error)(error.status, text) from error
        raise exceptions.ValidationError({"connector.class": [text]}) from error
    unchecked = {name for name, value in sent.items() if MASK in value and before.config.get(name) == value}
    unknown = set(before.unresolved_masks(sent))
    rows = body.get("configs") if isinstance(body, dict) else None
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    options = [_option(row, unchecked, unknown, before) for row in found]
    return ConfigValidation(plugin=plugin, error_count=sum(len(option.errors) for option in options), options=options)


def _option(
    row: Mapping[str, Any], unchecked: set[str], unknown: set[str], before: StoredConfiguration
) -> ConnectorOption:
    definition, value = row.get("definition") or {}, row.get("value") or {}
    name = str(value.get("name") or definition.get("name") or "")
    told = [without_values(str(error), before.config, before.shown) for error in value.get("errors") or ()]
    errors = [] if name in unchecked else told
    default = definition.get("default_value")
    recommended = value.get("recommended_values")
    return ConnectorOption(
        name=name,
        type=str(definition.get("type", "STRING")).lower(),
        required=bool(definition.get("required")),
        default=None if default is None else str(default),
        doc=_MARKUP.sub("", str(definition.get("documentation") or "")),
        group=str(definition.get("group") or _own_group(name)),
        importance=str(definition.get("importance") or "").lower(),
        recommended=[str(one) for one in recommended[:MAX_RECOMMENDED]] if isinstance(recommended, list) else [],
        visible=value.get("visible") is not False,
        errors=[NO_STORED_VALUE, *errors] if name in unknown else errors,
    )


def _own_group(name: str) -> str:
    """Return the group of an option that has none: of its class, of a converter, or of a client."""
    if ".override." in name:
        return "Client options"
    return "Converters" if ".converter." in name else "Connector"

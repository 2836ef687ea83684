"""List connector classes and step classes, as Kafka Connect lists plugins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.assembly.connector_classes import built_in, find_class
from engine.assembly.java_connectors import java_connector_hint
from engine.config.connector import options_of_kind
from engine.config.options import Option
from engine.errors import NotFound
from engine.steps import plugins
from engine.steps.registry import BUILT_IN, step_options
from engine.worker_messages import ConnectorKind

TYPES = {
    "converter": plugins.CONVERTERS,
    "header_converter": plugins.CONVERTERS,
    "transformation": plugins.TRANSFORMS,
    "predicate": plugins.PREDICATES,
}


class Plugin(NamedTuple):
    """A class under each of its names; `type` is Kafka Connect's term."""

    class_name: str
    type: str


def connector_plugins(*, connectors_only: bool = True) -> list[Plugin]:
    """Return all built-in and installed plugins, sorted, without importing any."""
    plugin_rows = list(_connectors())
    if not connectors_only:
        for type_name, group in TYPES.items():
            plugin_rows += [Plugin(name, type_name) for name in {*BUILT_IN[group], *plugins.names(group)}]
    return sorted(plugin_rows, key=lambda plugin: (plugin.type, plugin.class_name))


def connector_options(class_name: str, allow: Sequence[str] = ()) -> tuple[Option, ...]:
    """Return the options of a connector class; `allow` as in `find_class`. Raises NotFound."""
    known, _ = find_class(class_name, allow)
    if known is None:
        hint = java_connector_hint(class_name)
        raise NotFound(f"Unknown plugin {class_name}{hint}" if hint else f"Unknown plugin {class_name}.")
    shared = options_of_kind(known.kind)
    names = {option.name for option in shared}
    return (*shared, *(option for option in known.options or () if option.name not in names))


def plugin_options(class_name: str, allow: Sequence[str] = ()) -> tuple[Option, ...]:
    """Return the options of a connector, converter, transform or predicate. Raises NotFound."""
    for group in (plugins.CONVERTERS, plugins.TRANSFORMS, plugins.PREDICATES):
        if class_name in BUILT_IN[group] or class_name in plugins.names(group):
            return step_options(group, class_name, allow)
    return connector_options(class_name, allow)


def _connectors() -> Iterator[Plugin]:
    own = built_in()
    yield from (Plugin(name, known.kind) for name, known in own.items())
    yield from (Plugin(name, ConnectorKind.SINK) for name in plugins.names(plugins.SINKS) if name not in own)
    yield from (Plugin(name, ConnectorKind.SOURCE) for name in plugins.names(plugins.SOURCES) if name not in own)

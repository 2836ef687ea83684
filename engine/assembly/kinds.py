"""The classes of connectors: which there are, what they do, their options."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.config.options import Option, Problem, nearest
from engine.kafka.sinks import file, sql
from engine.ports import Kind

TaskConfigs = Callable[[Mapping[str, str], int], Sequence[dict[str, str]]]


@dataclass(frozen=True, slots=True)
class ConnectorClass:
    """A class of connectors: how to make one, its options (None: not known), what it does.

    `task_configs(properties, tasks_max)` says what each task of a source adds to the connector's properties.
    """

    factory: Callable[[], Any]
    options: tuple[Option, ...] | None
    kind: Kind = Kind.SINK
    task_configs: TaskConfigs = lambda _properties, _tasks_max: ({},)


_FILE = ConnectorClass(file.FileSink, file.OPTIONS)
_SQL = ConnectorClass(sql.SqlSink, sql.OPTIONS)
CLASSES: dict[str, ConnectorClass] = {
    "FileStreamSink": _FILE,
    "FileStreamSinkConnector": _FILE,
    "org.apache.kafka.connect.file.FileStreamSinkConnector": _FILE,
    "SqlSink": _SQL,
}


def find_class(name: str) -> tuple[ConnectorClass | None, list[Problem]]:
    """The class of a connector; a dotted name may be one of the user's own, with an `OPTIONS` table.

    A class of the user's own with `poll` is a source, any other a sink.
    """
    if name in CLASSES:
        return CLASSES[name], []
    module, _, attribute = name.replace(":", ".").rpartition(".")
    text = "is no known class"
    if module and not module.startswith("org.apache."):
        try:
            factory = getattr(importlib.import_module(module), attribute)
        except Exception as error:  # noqa: BLE001, importing runs code of the user's own
            text = f"can't be loaded: {error}"
        else:
            return own_class(factory), []
    if not name:
        return None, []  # its absence is reported with the other options
    return None, [("connector.class", name, text + nearest(name, list(CLASSES)))]


def own_class(factory: Any) -> ConnectorClass:
    """A class that somebody else wrote."""
    kind = Kind.SOURCE if hasattr(factory, "poll") else Kind.SINK
    known = ConnectorClass(factory, getattr(factory, "OPTIONS", None), kind)
    task_configs = getattr(factory, "task_configs", None)
    if task_configs is None:
        return known
    return ConnectorClass(factory, known.options, kind, task_configs)

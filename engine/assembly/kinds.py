"""The classes of connectors: which there are, what they do, their options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.config import stream
from engine.config.connector import ConnectorConfig
from engine.config.options import Option, Problem, nearest
from engine.config.worker import WorkerConfig
from engine.kafka.sinks import file, sql
from engine.kafka.sources import file as source_file
from engine.kafka.sources import sql as source_sql
from engine.ports import Delivery, Kind
from engine.steps import plugins

TaskConfigs = Callable[[Mapping[str, str], int], Sequence[dict[str, str]]]
Targets = Callable[[Mapping[str, Any]], Sequence[tuple[str, str]]]
Deliveries = Callable[[ConnectorConfig, WorkerConfig], Delivery]


@dataclass(frozen=True, slots=True)
class ConnectorClass:
    """A class of connectors: how to make one, its options (None: not known), what it does.

    `task_configs(properties, tasks_max)` says what each task of a source adds to the connector's properties;
    `targets(values)` which topics its own options name, as (option, topic) rows; `delivery(config, worker)` how often
    its records arrive. `opener` names how its tasks are opened where its kind does not say it all.
    """

    factory: Callable[[], Any]
    options: tuple[Option, ...] | None
    kind: Kind = Kind.SINK
    task_configs: TaskConfigs = lambda _properties, _tasks_max: ({},)
    targets: Targets = lambda _values: ()
    delivery: Deliveries = lambda _config, _worker: Delivery.AT_LEAST_ONCE
    opener: str | None = None


_FILE = ConnectorClass(file.FileSink, file.OPTIONS)
_SQL = ConnectorClass(sql.SqlSink, sql.OPTIONS)
_FILE_SOURCE = ConnectorClass(
    source_file.FileSource, source_file.OPTIONS, Kind.SOURCE, targets=source_file.FileSource.targets
)
_SQL_SOURCE = ConnectorClass(
    source_sql.SqlSource,
    source_sql.OPTIONS,
    Kind.SOURCE,
    source_sql.SqlSource.task_configs,
    source_sql.SqlSource.targets,
)
_STREAM = ConnectorClass(object, stream.OPTIONS, Kind.STREAM)  # it is made of its processors, not of one object
CLASSES: dict[str, ConnectorClass] = {
    "FileStreamSink": _FILE,
    "FileStreamSinkConnector": _FILE,
    "org.apache.kafka.connect.file.FileStreamSinkConnector": _FILE,
    "SqlSink": _SQL,
    "stream": _STREAM,
    "FileStreamSource": _FILE_SOURCE,
    "FileStreamSourceConnector": _FILE_SOURCE,
    "org.apache.kafka.connect.file.FileStreamSourceConnector": _FILE_SOURCE,
    "SqlSource": _SQL_SOURCE,
}


def find_class(name: str) -> tuple[ConnectorClass | None, list[Problem]]:
    """The class of a connector: built in, offered by an installed package, or at a dotted path of the user's own."""
    if name in CLASSES:
        return CLASSES[name], []
    if not name:
        return None, []  # its absence is reported with the other options
    text = "is no known class"
    try:
        found = plugins.find(plugins.SINKS, name) or plugins.find(plugins.SOURCES, name) or plugins.at_path(name)
    except plugins.BrokenPlugin as error:
        text = str(error)
    else:
        if found is not None:
            return own_class(found), []
    known = [*CLASSES, *plugins.names(plugins.SINKS), *plugins.names(plugins.SOURCES)]
    return None, [("connector.class", name, text + nearest(name, known))]


def own_class(factory: Any) -> ConnectorClass:
    """A class that somebody else wrote: with `poll` it is a source, else a sink; `OPTIONS` is its table."""
    kind = Kind.SOURCE if hasattr(factory, "poll") else Kind.SINK
    known = ConnectorClass(factory, getattr(factory, "OPTIONS", None), kind)
    task_configs = getattr(factory, "task_configs", None)
    if task_configs is None:
        return known
    return ConnectorClass(factory, known.options, kind, task_configs)

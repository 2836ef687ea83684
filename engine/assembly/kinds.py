"""The classes of connectors: which there are, what they do, their options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from engine.assembly.mirror_plan import Mirror, mirror_delivery, mirror_stages, mirror_targets, prepare
from engine.assembly.source_support import source_delivery
from engine.assembly.topic_sink_plan import (
    prepare_topic_sink,
    topic_sink_delivery,
    topic_sink_stages,
    topic_sink_targets,
)
from engine.config import mirror, stream, topic_sink
from engine.config.connector import ConnectorConfig
from engine.config.options import Option, Problem, nearest
from engine.config.worker import WorkerConfig
from engine.kafka.sinks import file
from engine.kafka.sources import file as source_file
from engine.leases import Delivery, Kind
from engine.record.stage import Stage
from engine.steps import plugins

TaskConfigs = Callable[[Mapping[str, str], int], Sequence[dict[str, str]]]
Targets = Callable[[Mapping[str, Any]], Sequence[tuple[str, str]]]
Deliveries = Callable[[ConnectorConfig, WorkerConfig], Delivery]
Prepare = Callable[[ConnectorConfig], tuple[ConnectorConfig, list[Problem]]]
Stages = Callable[[ConnectorConfig, Collection[str]], tuple[Stage, ...]]


@dataclass(frozen=True, slots=True)
class ConnectorClass:
    """A class of connectors: how to make one, its options (None: not known), what it does.

    `task_configs(properties, tasks_max)` says what each task of a source adds to the connector's properties;
    `targets(values)` which topics its own options name, as (option, topic) rows; `delivery(config, worker)` how often
    its records arrive. `opener` names how its tasks are opened where its kind does not say it all.
    `prepare(config)` answers with the configuration as it is run, and what is wrong with it; `stages(config, secrets)`
    with the stages, where they are not its kind's.
    """

    factory: Callable[[], Any]
    options: tuple[Option, ...] | None
    kind: Kind = Kind.SINK
    task_configs: TaskConfigs = lambda _properties, _tasks_max: ({},)
    targets: Targets = lambda _values: ()
    delivery: Deliveries = lambda _config, _worker: Delivery.AT_LEAST_ONCE
    opener: str | None = None
    prepare: Prepare = lambda config: (config, [])
    stages: Stages | None = None


_FILE = ConnectorClass(file.FileSink, file.OPTIONS)
_FILE_SOURCE = ConnectorClass(
    source_file.FileSource,
    source_file.OPTIONS,
    Kind.SOURCE,
    targets=source_file.FileSource.targets,
    delivery=partial(source_delivery, source_file.FileSource),
)
_STREAM = ConnectorClass(
    object,  # it is made of its processors, not of one object
    stream.OPTIONS,
    Kind.STREAM,
    delivery=lambda config, _worker: stream.stream_delivery(config),
)
_KAFKA = ConnectorClass(
    object,  # its opener makes it, with its producer
    topic_sink.OPTIONS,
    targets=topic_sink_targets,
    delivery=topic_sink_delivery,
    opener="topics",
    prepare=prepare_topic_sink,
    stages=topic_sink_stages,
)
_MIRROR = ConnectorClass(
    Mirror,
    mirror.OPTIONS,
    Kind.SOURCE,  # its tasks read no partitions of the worker's cluster
    task_configs=lambda _properties, _tasks_max: (),  # they are found by whoever watches the source
    targets=mirror_targets,
    delivery=mirror_delivery,
    opener="mirror",
    prepare=prepare,
    stages=mirror_stages,
)
CLASSES: dict[str, ConnectorClass] = {
    "FileStreamSink": _FILE,
    "FileStreamSinkConnector": _FILE,
    "org.apache.kafka.connect.file.FileStreamSinkConnector": _FILE,
    "KafkaSink": _KAFKA,
    "stream": _STREAM,
    "FileStreamSource": _FILE_SOURCE,
    "FileStreamSourceConnector": _FILE_SOURCE,
    "org.apache.kafka.connect.file.FileStreamSourceConnector": _FILE_SOURCE,
    "mirror": _MIRROR,
    "MirrorSourceConnector": _MIRROR,
    "MirrorSinkConnector": _MIRROR,
    "org.apache.kafka.connect.mirror.MirrorSourceConnector": _MIRROR,
    "org.apache.kafka.connect.mirror.MirrorSinkConnector": _MIRROR,
}
OF_DATABASES = ("SqlSink", "SqlSource")  # SQLAlchemy takes as long to load as all the rest: only who wants them does


@cache
def of_databases() -> Mapping[str, ConnectorClass]:
    """The classes `OF_DATABASES` names."""
    from engine.kafka.sinks import sql
    from engine.kafka.sources import sql as source_sql

    sink = ConnectorClass(
        sql.SqlSink,
        sql.OPTIONS,
        delivery=lambda config, _worker: Delivery(config.own["delivery.guarantee"]),
        opener="sql",
    )
    source = ConnectorClass(
        source_sql.SqlSource,
        source_sql.OPTIONS,
        Kind.SOURCE,
        source_sql.SqlSource.task_configs,
        source_sql.SqlSource.targets,
        partial(source_delivery, source_sql.SqlSource),
    )
    return dict(zip(OF_DATABASES, (sink, source), strict=True))


def built_in() -> Mapping[str, ConnectorClass]:
    """All classes of the engine's own."""
    return {**CLASSES, **of_databases()}


def find_class(name: str) -> tuple[ConnectorClass | None, list[Problem]]:
    """The class of a connector: built in, offered by an installed package, or at a dotted path of the user's own."""
    if name in CLASSES:
        return CLASSES[name], []
    if name in OF_DATABASES:
        return of_databases()[name], []
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
    known = [*CLASSES, *OF_DATABASES, *plugins.names(plugins.SINKS), *plugins.names(plugins.SOURCES)]
    return None, [("connector.class", name, text + nearest(name, known))]


def own_class(factory: Any) -> ConnectorClass:
    """A class that somebody else wrote: with `poll` it is a source, else a sink; `OPTIONS` is its table."""
    kind = Kind.SOURCE if hasattr(factory, "poll") else Kind.SINK
    known = ConnectorClass(factory, getattr(factory, "OPTIONS", None), kind)
    if kind is Kind.SOURCE:
        known = replace(known, delivery=partial(source_delivery, factory))
    task_configs = getattr(factory, "task_configs", None)
    return known if task_configs is None else replace(known, task_configs=task_configs)

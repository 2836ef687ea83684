"""The classes of connectors, with their options and behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from engine.assembly.java_connectors import java_connector_hint
from engine.config import stream
from engine.config.options import Problem, nearest
from engine.connectors.file import sink as file
from engine.connectors.file import source as source_file
from engine.connectors.kafka import options as topic_sink
from engine.connectors.kafka.plan import prepare_topic_sink, topic_sink_delivery, topic_sink_stages, topic_sink_targets
from engine.connectors.mirror import options as mirror
from engine.connectors.mirror.connector_plan import Mirror, mirror_delivery, mirror_stages, mirror_targets, prepare
from engine.steps import plugins
from engine.tasks.connector_class import ConnectorClass
from engine.tasks.source_support import source_delivery
from engine.worker_messages import ConnectorKind, Delivery


def _files(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [("file", values["file"])] if values["file"] else []


_FILE_TASK = "org.apache.kafka.connect.file.FileStream{}Task"
_FILE = ConnectorClass(
    file.FileSink, file.OPTIONS, files=_files, task_class=_FILE_TASK.format("Sink"), uses_console=True
)
_FILE_SOURCE = ConnectorClass(
    source_file.FileSource,
    source_file.OPTIONS,
    ConnectorKind.SOURCE,
    targets=source_file.FileSource.targets,
    delivery=partial(source_delivery, source_file.FileSource),
    files=_files,
    task_class=_FILE_TASK.format("Source"),
    uses_console=True,
)
_STREAM = ConnectorClass(
    object,  # a stream consists of its processors, not of one object
    stream.OPTIONS,
    ConnectorKind.STREAM,
    delivery=lambda config, _worker: stream.stream_delivery(config),
)
_KAFKA = ConnectorClass(
    object,  # the opener makes the sink, because it needs the producer
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
    ConnectorKind.SOURCE,  # its tasks read no partitions of the worker's cluster
    task_configs=lambda _properties, _tasks_max: (),  # the watch of the source cluster finds the partitions
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
# SQLAlchemy takes as long to load as all the rest, so it is loaded only if a connector needs it.
OF_DATABASES = ("SqlSink", "SqlSource")


@cache
def of_databases() -> Mapping[str, ConnectorClass]:
    """Return the classes that `OF_DATABASES` names."""
    from engine.connectors.sql import sink as sql
    from engine.connectors.sql import source as source_sql
    from engine.connectors.sql.database import database_files

    def files(values: Mapping[str, Any]) -> list[tuple[str, str]]:
        return [("connection.url", path) for path in database_files(values["connection.url"] or "")]

    sink = ConnectorClass(
        sql.SqlSink,
        sql.OPTIONS,
        delivery=lambda config, _worker: Delivery(config.own["delivery.guarantee"]),
        opener="sql",
        files=files,
    )
    source = ConnectorClass(
        source_sql.SqlSource,
        source_sql.OPTIONS,
        ConnectorKind.SOURCE,
        source_sql.SqlSource.task_configs,
        source_sql.SqlSource.targets,
        partial(source_delivery, source_sql.SqlSource),
        files=files,
    )
    return dict(zip(OF_DATABASES, (sink, source), strict=True))


# The HTTP client takes 0.1 s to load.
OF_HTTP = ("HttpSink", "ElasticsearchSink")


@cache
def of_http() -> Mapping[str, ConnectorClass]:
    """Return the classes that `OF_HTTP` names."""
    from engine.connectors.elasticsearch import options as search
    from engine.connectors.elasticsearch.sink import ElasticsearchSink
    from engine.connectors.http import options as http
    from engine.connectors.http.sink import HttpSink

    sinks = (
        ConnectorClass(HttpSink, http.OPTIONS, prepare=http.prepare, urls=http.urls),
        ConnectorClass(ElasticsearchSink, search.OPTIONS, prepare=search.prepare, urls=search.urls),
    )
    return dict(zip(OF_HTTP, sinks, strict=True))


# The client of object stores takes 0.2 s to load.
OF_OBJECTS = ("ObjectStoreSink",)


@cache
def of_objects() -> Mapping[str, ConnectorClass]:
    """Return the class that `OF_OBJECTS` names."""
    from engine.connectors.objects import options
    from engine.connectors.objects.sink import ObjectStoreSink

    return dict(zip(OF_OBJECTS, (_offset_keeping(ObjectStoreSink, options),), strict=True))


# Delta Lake's library takes 0.1 s to load.
OF_DELTA = ("DeltaSink",)


@cache
def of_delta() -> Mapping[str, ConnectorClass]:
    """Return the class that `OF_DELTA` names."""
    from engine.connectors.delta import options
    from engine.connectors.delta.sink import DeltaSink

    return dict(zip(OF_DELTA, (_offset_keeping(DeltaSink, options),), strict=True))


def _offset_keeping(factory: Any, table: Any) -> ConnectorClass:
    """Return the class of a sink whose target keeps the offsets. `table` is the module of its options."""
    from engine.connectors.objects import options as stores

    return ConnectorClass(
        factory,
        table.OPTIONS,
        delivery=lambda _config, _worker: Delivery.EXACTLY_ONCE,
        opener="target offsets",
        prepare=table.prepare,
        files=stores.files,
        urls=stores.urls,
    )


LAZY = {
    **dict.fromkeys(OF_DATABASES, of_databases),
    **dict.fromkeys(OF_HTTP, of_http),
    **dict.fromkeys(OF_OBJECTS, of_objects),
    **dict.fromkeys(OF_DELTA, of_delta),
}


def built_in() -> Mapping[str, ConnectorClass]:
    """Return all of the engine's own classes."""
    return {**CLASSES, **of_databases(), **of_http(), **of_objects(), **of_delta()}


def find_class(name: str, allow: Sequence[str] = ()) -> tuple[ConnectorClass | None, list[Problem]]:
    """Find the class of a connector.

    It is built in, offered by an installed package, or at a dotted path that `allow` matches.
    """
    if name in CLASSES:
        return CLASSES[name], []
    if name in LAZY:
        return LAZY[name]()[name], []
    if not name:
        return None, []  # a check of required options reports this
    known = [*CLASSES, *LAZY, *plugins.names(plugins.SINKS), *plugins.names(plugins.SOURCES)]
    text = "is not a known connector class" + nearest(name, known)
    try:
        loaded = plugins.find(plugins.SINKS, name) or plugins.find(plugins.SOURCES, name)
        loaded = loaded or plugins.at_path(name, allow, known)
    except plugins.BrokenPlugin as error:
        text = str(error)
    else:
        if loaded is not None:
            return own_class(loaded), []
    hint = java_connector_hint(name)
    return None, [("connector.class", name, f"is a class of Java{hint}" if hint else text)]


def own_class(factory: Any) -> ConnectorClass:
    """Wrap a class of another package: with `poll` it is a source, else a sink; its table is `OPTIONS`."""
    kind = ConnectorKind.SOURCE if hasattr(factory, "poll") else ConnectorKind.SINK
    known = ConnectorClass(factory, getattr(factory, "OPTIONS", None), kind)
    if kind is ConnectorKind.SOURCE:
        known = replace(known, delivery=partial(source_delivery, factory))
    task_configs = getattr(factory, "task_configs", None)
    return known if task_configs is None else replace(known, task_configs=task_configs)

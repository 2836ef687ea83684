"""The requests that are sent to Kafka Connect and to the engine, in this order.

`{folder}` in a body stands for the side's own folder. The connectors read the topic `orders` and write the topic
`lines`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
FILE = "org.apache.kafka.connect.file.FileStream"
SINK_CLASS, SOURCE_CLASS = f"{FILE}SinkConnector", f"{FILE}SourceConnector"
TEXT = "org.apache.kafka.connect.storage.StringConverter"
TRANSFORMS = "org.apache.kafka.connect.transforms."


@dataclass(frozen=True, slots=True)
class RestRequest:
    """A request; `body` is sent as JSON unless it is bytes. The names of differences begin with `name`."""

    name: str
    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    """A pause until the connector has this state, its tasks have these states, and it has used these topics."""

    connector: str
    state: str
    tasks: tuple[str, ...]
    topics: tuple[str, ...] = ()


Step = RestRequest | Wait
R = RestRequest


def sink(**changes: str | None) -> dict[str, Any]:
    """A file sink's properties; `__` in names stands for a dot, None removes a property."""
    return _changed({"connector.class": SINK_CLASS, "tasks.max": "1", "topics": "orders", "file": "{folder}/out",
                     "key.converter": TEXT, "value.converter": TEXT}, changes)  # fmt: skip


def source(**changes: str | None) -> dict[str, Any]:
    """A file source's properties."""
    return _changed({"connector.class": SOURCE_CLASS, "tasks.max": "1", "topic": "lines", "file": "{folder}/lines",
                     "key.converter": TEXT, "value.converter": TEXT}, changes)  # fmt: skip


def _changed(properties: dict[str, Any], changes: Mapping[str, str | None]) -> dict[str, Any]:
    merged = {**properties, **{name.replace("__", "."): value for name, value in changes.items()}}
    return {name: value for name, value in merged.items() if value is not None}


# Bodies of every kind, for requests that expect a JSON object.
BODIES: tuple[tuple[str, Any, Mapping[str, str]], ...] = (
    ("no-body", None, {}),
    ("no-body-json", None, {"content-type": JSON}),
    ("empty", b"", {"content-type": JSON}),
    ("not-json", b"{", {"content-type": JSON}),
    ("words", b"hello", {"content-type": JSON}),
    ("array", b"[]", {"content-type": JSON}),
    ("string", b'"x"', {"content-type": JSON}),
    ("number", b"5", {"content-type": JSON}),
    ("null", b"null", {"content-type": JSON}),
    ("trailing", b"{} x", {"content-type": JSON}),
    ("no-type", b"{}", {}),
    ("text", b"{}", {"content-type": "text/plain"}),
    ("form", b"a=b", {"content-type": FORM}),
    ("charset", b"{}", {"content-type": "application/json; charset=utf-8"}),
    ("latin", b'{"a": "\xe4"}', {"content-type": JSON}),
)


def bad_bodies(name: str, method: str, path: str, leave_out: tuple[str, ...] = ()) -> list[Step]:
    """A request with each kind of body."""
    return [R(f"{name}-{kind}", method, path, body, headers) for kind, body, headers in BODIES if kind not in leave_out]


def methods(name: str, path: str, *wrong: str) -> list[Step]:
    """A path with methods that it does not have, and with HEAD and OPTIONS."""
    return [R(f"{name}-{method.lower()}", method, path) for method in (*wrong, "HEAD", "OPTIONS")]


ROOT: list[Step] = [
    R("root", "GET", "/"),
    *methods("root", "/", "POST", "PUT", "DELETE"),
    R("root-empty-path", "GET", "//"),
    R("unknown-path", "GET", "/nothing"),
    R("unknown-path-post", "POST", "/nothing", {}),
    R("upper-case", "GET", "/Connectors"),
    R("health", "GET", "/health"),
    R("health-slash", "GET", "/health/"),
    *methods("health", "/health", "POST", "PUT"),
]

EMPTY_CLUSTER: list[Step] = [
    R("list-empty", "GET", "/connectors"),
    R("list-empty-expand", "GET", "/connectors?expand=status"),
    R("list-slash", "GET", "/connectors/"),
    *methods("list", "/connectors", "PUT", "DELETE", "PATCH"),
    *(
        R(f"missing-{name}", method, f"/connectors/missing{path}", body)
        for name, method, path, body in (
            ("info", "GET", "", None),
            ("config", "GET", "/config", None),
            ("status", "GET", "/status", None),
            ("tasks", "GET", "/tasks", None),
            ("tasks-config", "GET", "/tasks-config", None),
            ("task-status", "GET", "/tasks/0/status", None),
            ("topics", "GET", "/topics", None),
            ("topics-reset", "PUT", "/topics/reset", None),
            ("offsets", "GET", "/offsets", None),
            ("offsets-reset", "DELETE", "/offsets", None),
            (
                "offsets-alter", "PATCH", "/offsets",
                {"offsets": [{"partition": {"filename": "f"}, "offset": {"position": 1}}]},
            ),
            ("pause", "PUT", "/pause", None),
            ("resume", "PUT", "/resume", None),
            ("stop", "PUT", "/stop", None),
            ("restart", "POST", "/restart", None),
            ("restart-tasks", "POST", "/restart?includeTasks=true", None),
            ("task-restart", "POST", "/tasks/0/restart", None),
            ("patch", "PATCH", "/config", {"a": "b"}),
            ("delete", "DELETE", "", None),
        )
    ),
]  # fmt: skip

CREATE: list[Step] = [
    *bad_bodies("create", "POST", "/connectors"),
    R("create-nothing", "POST", "/connectors", {}),
    R("create-unknown-field", "POST", "/connectors", {"name": "x", "config": sink(), "colour": "red"}),
    R("create-no-config", "POST", "/connectors", {"name": "x"}),
    R("create-null-config", "POST", "/connectors", {"name": "x", "config": None}),
    R("create-list-config", "POST", "/connectors", {"name": "x", "config": []}),
    R("create-text-config", "POST", "/connectors", {"name": "x", "config": "a"}),
    R("create-nested-config", "POST", "/connectors", {"name": "x", "config": {**sink(), "a": {"b": "c"}}}),
    R("create-list-value", "POST", "/connectors", {"name": "x", "config": {**sink(), "topics": ["a", "b"]}}),
    R("create-null-value", "POST", "/connectors", {"name": "x", "config": {**sink(), "errors.tolerance": None}}),
    R("create-number-name", "POST", "/connectors", {"name": 7, "config": {}}),
    R("create-object-name", "POST", "/connectors", {"name": {}, "config": {}}),
    R("create-empty-config", "POST", "/connectors", {"name": "x", "config": {}}),
    R("create-no-class", "POST", "/connectors", {"name": "x", "config": sink(connector__class=None)}),
    R("create-unknown-class", "POST", "/connectors", {"name": "x", "config": sink(connector__class="org.x.Nothing")}),
    R("create-no-name", "POST", "/connectors", {"config": sink()}),
    R("create-null-name", "POST", "/connectors", {"name": None, "config": sink()}),
    R("create-empty-name", "POST", "/connectors", {"name": "", "config": sink()}),
    R("create-blank-name", "POST", "/connectors", {"name": "  ", "config": sink()}),
    R("create-control-name", "POST", "/connectors", {"name": "a\u0001b", "config": sink()}),
    R("create-other-name", "POST", "/connectors", {"name": "x", "config": sink(name="y")}),
    R("create-no-tasks", "POST", "/connectors", {"name": "x", "config": sink(tasks__max="0")}),
    R("create-text-tasks", "POST", "/connectors", {"name": "x", "config": sink(tasks__max="many")}),
    R("create-no-topics", "POST", "/connectors", {"name": "x", "config": sink(topics=None)}),
    R("create-two-topics", "POST", "/connectors", {"name": "x", "config": sink(topics__regex="o.*")}),
    R("create-bad-regex", "POST", "/connectors", {"name": "x", "config": sink(topics=None, topics__regex="[")}),
    R("create-letters-read", "POST", "/connectors",
      {"name": "x", "config": sink(errors__deadletterqueue__topic__name="orders")}),
    R("create-bad-tolerance", "POST", "/connectors", {"name": "x", "config": sink(errors__tolerance="some")}),
    R("create-bad-converter", "POST", "/connectors", {"name": "x", "config": sink(value__converter="org.x.Nothing")}),
    R("create-bad-transform", "POST", "/connectors",
      {"name": "x", "config": sink(transforms="t", transforms__t__type="org.x.Nothing")}),
    R("create-no-transform-type", "POST", "/connectors", {"name": "x", "config": sink(transforms="t")}),
    R("create-transform-twice", "POST", "/connectors",
      {"name": "x", "config": sink(transforms="t,t", transforms__t__type=f"{TRANSFORMS}Filter")}),
    R("create-two-problems", "POST", "/connectors",
      {"name": "x", "config": sink(tasks__max="0", errors__tolerance="some")}),
    R("create-no-source-topic", "POST", "/connectors", {"name": "x", "config": source(topic=None)}),
    R("create-bad-state", "POST", "/connectors", {"name": "x", "config": sink(), "initial_state": "SLEEPING"}),
    R("create-number-state", "POST", "/connectors", {"name": "x", "config": sink(), "initial_state": 5}),
    R("create-accept-text", "POST", "/connectors", {"name": "x", "config": {}}, {"accept": "text/plain"}),
    R("list-after-refusals", "GET", "/connectors"),
]  # fmt: skip

RUN_SINK: list[Step] = [
    R("create-sink", "POST", "/connectors", {"name": "  sink ", "config": sink()}),
    Wait("sink", "RUNNING", ("RUNNING",), ("orders",)),
    R("create-sink-again", "POST", "/connectors", {"name": "sink", "config": sink()}),
    R("create-sink-again-wrong", "POST", "/connectors", {"name": "sink", "config": sink(tasks__max="0")}),
    R("list-one", "GET", "/connectors"),
    R("list-status", "GET", "/connectors?expand=status"),
    R("list-info", "GET", "/connectors?expand=info"),
    R("list-both", "GET", "/connectors?expand=info&expand=status"),
    R("list-with-text-type", "GET", "/connectors", None, {"content-type": "text/plain"}),
    R("list-odd", "GET", "/connectors?expand=colour"),
    R("info", "GET", "/connectors/sink"),
    R("info-slash", "GET", "/connectors/sink/"),
    R("info-encoded", "GET", "/connectors/s%69nk"),
    R("info-accept-text", "GET", "/connectors/sink", headers={"accept": "text/plain"}),
    R("info-accept-any", "GET", "/connectors/sink", headers={"accept": "text/html,*/*;q=0.5"}),
    *methods("info", "/connectors/sink", "POST", "PUT", "PATCH"),
    R("config", "GET", "/connectors/sink/config"),
    R("config-slash", "GET", "/connectors/sink/config/"),
    *methods("config", "/connectors/sink/config", "POST", "DELETE"),
    R("status", "GET", "/connectors/sink/status"),
    *methods("status", "/connectors/sink/status", "POST", "PUT"),
    R("tasks", "GET", "/connectors/sink/tasks"),
    *methods("tasks", "/connectors/sink/tasks", "POST"),
    R("tasks-config", "GET", "/connectors/sink/tasks-config"),
    R("task", "GET", "/connectors/sink/tasks/0"),
    R("task-status", "GET", "/connectors/sink/tasks/0/status"),
    R("task-status-slash", "GET", "/connectors/sink/tasks/0/status/"),
    R("task-status-missing", "GET", "/connectors/sink/tasks/9/status"),
    R("task-status-word", "GET", "/connectors/sink/tasks/x/status"),
    R("task-status-negative", "GET", "/connectors/sink/tasks/-1/status"),
    *methods("task-status", "/connectors/sink/tasks/0/status", "POST"),
    R("task-restart", "POST", "/connectors/sink/tasks/0/restart"),
    Wait("sink", "RUNNING", ("RUNNING",)),
    R("task-restart-missing", "POST", "/connectors/sink/tasks/9/restart"),
    R("task-restart-word", "POST", "/connectors/sink/tasks/x/restart"),
    *methods("task-restart", "/connectors/sink/tasks/0/restart", "GET", "PUT"),
    R("restart", "POST", "/connectors/sink/restart"),
    Wait("sink", "RUNNING", ("RUNNING",)),
    R("restart-failed", "POST", "/connectors/sink/restart?onlyFailed=true"),
    R("restart-failed-tasks", "POST", "/connectors/sink/restart?includeTasks=true&onlyFailed=true"),
    R("restart-tasks", "POST", "/connectors/sink/restart?includeTasks=true"),
    Wait("sink", "RUNNING", ("RUNNING",)),
    R("restart-odd-flag", "POST", "/connectors/sink/restart?includeTasks=maybe"),
    R("restart-with-body", "POST", "/connectors/sink/restart", {}),
    Wait("sink", "RUNNING", ("RUNNING",)),
    *methods("restart", "/connectors/sink/restart", "GET", "PUT"),
    R("topics", "GET", "/connectors/sink/topics"),
    *methods("topics", "/connectors/sink/topics", "PUT"),
    R("topics-reset", "PUT", "/connectors/sink/topics/reset"),
    *methods("topics-reset", "/connectors/sink/topics/reset", "GET", "POST"),
    R("metrics-path", "GET", "/connectors/sink/nothing"),
]

CONFIGURE: list[Step] = [
    *bad_bodies("put", "PUT", "/connectors/x/config"),
    *bad_bodies("patch", "PATCH", "/connectors/sink/config", ("trailing", "charset", "form")),
    R("put-nested", "PUT", "/connectors/x/config", {"a": {"b": "c"}}),
    R("put-no-class", "PUT", "/connectors/x/config", sink(connector__class=None)),
    R("put-unknown-class", "PUT", "/connectors/x/config", sink(connector__class="Nothing")),
    R("put-other-name", "PUT", "/connectors/x/config", sink(name="y")),
    R("put-no-topics", "PUT", "/connectors/x/config", sink(topics=None)),
    R("put-null-value", "PUT", "/connectors/x/config", {**sink(), "errors.tolerance": None}),
    R("put-same", "PUT", "/connectors/sink/config", sink()),
    Wait("sink", "RUNNING", ("RUNNING",)),
    R("put-change", "PUT", "/connectors/sink/config", sink(errors__log__enable="true")),
    Wait("sink", "RUNNING", ("RUNNING",)),
    R("put-change-seen", "GET", "/connectors/sink/config"),
    R("topics-after-reset", "GET", "/connectors/sink/topics"),
    R("put-numbers", "PUT", "/connectors/sink/config", {**sink(), "tasks.max": 1, "errors.log.enable": True}),
    Wait("sink", "RUNNING", ("RUNNING",)),
    R("put-unknown-option", "PUT", "/connectors/sink/config", sink(colour="red")),
    Wait("sink", "RUNNING", ("RUNNING",)),
    R("put-standard-options", "PUT", "/connectors/sink/config",
      sink(config__action__reload="none", tasks__max__enforce="true")),
    Wait("sink", "RUNNING", ("RUNNING",)),
    R("put-bad-reload", "PUT", "/connectors/sink/config", sink(config__action__reload="later")),
    R("put-back", "PUT", "/connectors/sink/config", sink()),
    Wait("sink", "RUNNING", ("RUNNING",)),
    R("patch-add", "PATCH", "/connectors/sink/config", {"errors.log.enable": "true"}),
    Wait("sink", "RUNNING", ("RUNNING",)),
    R("patch-remove", "PATCH", "/connectors/sink/config", {"errors.log.enable": None, "errors.tolerance": "all"}),
    Wait("sink", "RUNNING", ("RUNNING",)),
    R("patch-invalid", "PATCH", "/connectors/sink/config", {"tasks.max": "0"}),
    R("patch-required", "PATCH", "/connectors/sink/config", {"topics": None}),
    R("patch-class", "PATCH", "/connectors/sink/config", {"connector.class": None}),
    R("patch-name", "PATCH", "/connectors/sink/config", {"name": "other"}),
    R("patch-name-undo", "PUT", "/connectors/sink/config", sink(errors__tolerance="all")),
    Wait("sink", "RUNNING", ("RUNNING",)),
    R("patch-list", "PATCH", "/connectors/sink/config", {"topics": ["a"]}),
    R("patch-seen", "GET", "/connectors/sink/config"),
]  # fmt: skip

OFFSETS = "/connectors/sink/offsets"
ROW = {"partition": {"kafka_topic": "orders", "kafka_partition": 0}, "offset": {"kafka_offset": 1}}
STOP: list[Step] = [
    R("offsets-alter-running", "PATCH", OFFSETS, {"offsets": [ROW]}),
    R("offsets-reset-running", "DELETE", OFFSETS),
    *methods("offsets", OFFSETS, "POST", "PUT"),
    R("pause", "PUT", "/connectors/sink/pause"),
    Wait("sink", "PAUSED", ("PAUSED",)),
    R("pause-status", "GET", "/connectors/sink/status"),
    R("pause-again", "PUT", "/connectors/sink/pause"),
    R("pause-with-body", "PUT", "/connectors/sink/pause", {}),
    R("pause-with-form-type", "PUT", "/connectors/sink/pause", None, {"content-type": FORM}),
    *methods("pause", "/connectors/sink/pause", "GET", "POST"),
    R("resume", "PUT", "/connectors/sink/resume"),
    Wait("sink", "RUNNING", ("RUNNING",)),
    R("resume-again", "PUT", "/connectors/sink/resume"),
    *methods("resume", "/connectors/sink/resume", "GET"),
    R("stop", "PUT", "/connectors/sink/stop"),
    Wait("sink", "STOPPED", ()),
    R("stop-again", "PUT", "/connectors/sink/stop"),
    *methods("stop", "/connectors/sink/stop", "GET"),
    R("stop-status", "GET", "/connectors/sink/status"),
    R("stop-info", "GET", "/connectors/sink"),
    R("stop-tasks", "GET", "/connectors/sink/tasks"),
    R("stop-task-status", "GET", "/connectors/sink/tasks/0/status"),
    R("stop-task-restart", "POST", "/connectors/sink/tasks/0/restart"),
    R("stop-restart", "POST", "/connectors/sink/restart?includeTasks=true"),
    Wait("sink", "STOPPED", ()),
    R("stop-config", "PUT", "/connectors/sink/config", sink(errors__tolerance="all")),
    Wait("sink", "STOPPED", ()),
    *bad_bodies("offsets-alter", "PATCH", OFFSETS, ("trailing", "charset", "form", "latin")),
    R("offsets-alter-nothing", "PATCH", OFFSETS, {}),
    R("offsets-alter-no-rows", "PATCH", OFFSETS, {"offsets": []}),
    R("offsets-alter-object", "PATCH", OFFSETS, {"offsets": {}}),
    R("offsets-alter-unknown-field", "PATCH", OFFSETS, {"offsets": [ROW], "colour": "red"}),
    R("offsets-alter-row-field", "PATCH", OFFSETS, {"offsets": [{**ROW, "colour": "red"}]}),
    R("offsets-alter-row-words", "PATCH", OFFSETS, {"offsets": ["x"]}),
    R("offsets-alter-no-partition", "PATCH", OFFSETS, {"offsets": [{"offset": {"kafka_offset": 1}}]}),
    R("offsets-alter-empty-partition", "PATCH", OFFSETS, {"offsets": [{**ROW, "partition": {}}]}),
    R("offsets-alter-no-topic", "PATCH", OFFSETS, {"offsets": [{**ROW, "partition": {"kafka_partition": 0}}]}),
    R("offsets-alter-no-number", "PATCH", OFFSETS, {"offsets": [{**ROW, "partition": {"kafka_topic": "orders"}}]}),
    R("offsets-alter-word-partition", "PATCH", OFFSETS,
      {"offsets": [{**ROW, "partition": {"kafka_topic": "orders", "kafka_partition": "x"}}]}),
    R("offsets-alter-other-topic", "PATCH", OFFSETS,
      {"offsets": [{**ROW, "partition": {"kafka_topic": "nothing", "kafka_partition": 0}}]}),
    R("offsets-alter-word-offset", "PATCH", OFFSETS, {"offsets": [{**ROW, "offset": {"kafka_offset": "x"}}]}),
    R("offsets-alter-no-offset", "PATCH", OFFSETS, {"offsets": [{**ROW, "offset": {}}]}),
    R("offsets-alter-negative", "PATCH", OFFSETS, {"offsets": [{**ROW, "offset": {"kafka_offset": -1}}]}),
    R("offsets-alter", "PATCH", OFFSETS, {"offsets": [ROW]}),
    R("offsets-altered", "GET", OFFSETS),
    R("offsets-altered-slash", "GET", f"{OFFSETS}/"),
    R("offsets-alter-as-text", "PATCH", OFFSETS,
      {"offsets": [{"partition": {"kafka_topic": "orders", "kafka_partition": "0"}, "offset": {"kafka_offset": "2"}}]}),
    R("offsets-alter-null-offset", "PATCH", OFFSETS, {"offsets": [{**ROW, "offset": None}]}),
    R("offsets-after-null", "GET", OFFSETS),
    R("offsets-reset", "DELETE", OFFSETS),
    R("offsets-after-reset", "GET", OFFSETS),
]  # fmt: skip

SOURCE: list[Step] = [
    R("source-create", "PUT", "/connectors/source/config", source()),
    Wait("source", "RUNNING", ("RUNNING",), ("lines",)),
    R("source-info", "GET", "/connectors/source"),
    R("source-status", "GET", "/connectors/source/status"),
    R("source-tasks", "GET", "/connectors/source/tasks"),
    R("source-topics", "GET", "/connectors/source/topics"),
    R("source-alter-running", "PATCH", "/connectors/source/offsets",
      {"offsets": [{"partition": {"filename": "{folder}/lines"}, "offset": {"position": 3}}]}),
    R("source-stop", "PUT", "/connectors/source/stop"),
    Wait("source", "STOPPED", ()),
    R("source-offsets", "GET", "/connectors/source/offsets"),
    R("source-alter", "PATCH", "/connectors/source/offsets",
      {"offsets": [{"partition": {"filename": "{folder}/lines"}, "offset": {"position": 3}}]}),
    R("source-altered", "GET", "/connectors/source/offsets"),
    R("source-alter-other", "PATCH", "/connectors/source/offsets",
      {"offsets": [{"partition": {"file": "x"}, "offset": {"position": 3}}]}),
    R("source-alter-word", "PATCH", "/connectors/source/offsets",
      {"offsets": [{"partition": {"filename": "{folder}/lines"}, "offset": {"position": "x"}}]}),
    R("source-alter-null", "PATCH", "/connectors/source/offsets",
      {"offsets": [{"partition": {"filename": "{folder}/lines"}, "offset": None}]}),
    R("source-after-null", "GET", "/connectors/source/offsets"),
    R("source-reset", "DELETE", "/connectors/source/offsets"),
    R("source-after-reset", "GET", "/connectors/source/offsets"),
    R("source-topic-creation", "PUT", "/connectors/source/config",
      source(topic__creation__default__replication__factor="1", topic__creation__default__partitions="1",
             topic__creation__groups="wide", topic__creation__wide__include="l.*",
             topic__creation__wide__partitions="2",
             exactly__once__support="requested", transaction__boundary="poll", offsets__storage__topic="own-offsets")),
]  # fmt: skip

STATES: list[Step] = [
    R("create-stopped", "POST", "/connectors", {"name": "stopped", "config": sink(), "initial_state": "STOPPED"}),
    Wait("stopped", "STOPPED", ()),
    R("create-stopped-status", "GET", "/connectors/stopped/status"),
    R("create-stopped-tasks", "GET", "/connectors/stopped/tasks"),
    R("create-paused", "POST", "/connectors", {"name": "paused", "config": sink(), "initial_state": "paused"}),
    Wait("paused", "PAUSED", ()),
    R("create-paused-status", "GET", "/connectors/paused/status"),
    R("create-running", "POST", "/connectors",
      {"name": "running", "config": sink(file="{folder}/other"), "initial_state": "RUNNING"}),
    Wait("running", "RUNNING", ("RUNNING",)),
    R("create-running-status", "GET", "/connectors/running/status"),
    R("create-alias", "PUT", "/connectors/alias/config", sink(connector__class="FileStreamSink", tasks__max="2")),
    Wait("alias", "RUNNING", ("RUNNING", "RUNNING")),
    R("create-alias-info", "GET", "/connectors/alias"),
    R("create-alias-tasks", "GET", "/connectors/alias/tasks"),
    R("create-space", "PUT", "/connectors/with%20space/config", sink()),
    Wait("with%20space", "RUNNING", ("RUNNING",)),
    R("create-space-info", "GET", "/connectors/with%20space"),
    R("list-many", "GET", "/connectors"),
    *(R(f"delete-{name}", "DELETE", f"/connectors/{name}")
      for name in ("stopped", "paused", "running", "alias", "with%20space", "source", "sink")),
    R("delete-again", "DELETE", "/connectors/sink"),
    R("delete-seen", "GET", "/connectors/sink"),
    R("list-deleted", "GET", "/connectors"),
]  # fmt: skip


def _validate(name: str, plugin: str, body: Any, **more: Any) -> RestRequest:
    return R(f"validate-{name}", "PUT", f"/connector-plugins/{plugin}/config/validate", body, **more)


def _plugin(name: str, class_name: str) -> RestRequest:
    return R(f"plugin-{name}", "GET", f"/connector-plugins/{class_name}/config")


NAMED_SINK = sink(name="x")
PLUGINS: list[Step] = [
    R("plugins", "GET", "/connector-plugins"),
    R("plugins-slash", "GET", "/connector-plugins/"),
    R("plugins-all", "GET", "/connector-plugins?connectorsOnly=false"),
    R("plugins-odd-flag", "GET", "/connector-plugins?connectorsOnly=maybe"),
    *methods("plugins", "/connector-plugins", "POST", "PUT"),
    _plugin("sink", SINK_CLASS),
    _plugin("sink-alias", "FileStreamSink"),
    _plugin("source", SOURCE_CLASS),
    _plugin("json", "org.apache.kafka.connect.json.JsonConverter"),
    _plugin("json-alias", "JsonConverter"),
    _plugin("string", TEXT),
    _plugin("bytes", "org.apache.kafka.connect.converters.ByteArrayConverter"),
    _plugin("header", "org.apache.kafka.connect.storage.SimpleHeaderConverter"),
    *(
        _plugin(f"transform-{name.partition('$')[0].lower()}", f"{TRANSFORMS}{name}")
        for name in ("Cast$Value", "DropHeaders", "ExtractField$Key", "Filter", "Flatten$Value", "HeaderFrom$Value",
                     "HoistField$Value", "InsertField$Value", "InsertHeader", "MaskField$Value", "RegexRouter",
                     "ReplaceField$Value", "SetSchemaMetadata$Value", "TimestampConverter$Value", "TimestampRouter",
                     "ValueToKey")
    ),
    *(
        _plugin(f"predicate-{name.lower()}", f"{TRANSFORMS}predicates.{name}")
        for name in ("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches")
    ),
    _plugin("unknown", "org.x.Nothing"),
    R("plugin-version", "GET", f"/connector-plugins/{SINK_CLASS}/config?version=latest"),
    R("plugin-version-odd", "GET", f"/connector-plugins/{SINK_CLASS}/config?version=(1"),
    *methods("plugin", f"/connector-plugins/{SINK_CLASS}/config", "POST", "PUT"),
    R("plugin-path", "GET", f"/connector-plugins/{SINK_CLASS}"),
    *bad_bodies("validate", "PUT", "/connector-plugins/FileStreamSink/config/validate"),
    _validate("sink", SINK_CLASS, NAMED_SINK),
    _validate("sink-alias", "FileStreamSink", NAMED_SINK),
    _validate("sink-short", "FileStreamSinkConnector", NAMED_SINK),
    _validate("source", SOURCE_CLASS, source(name="x")),
    _validate("no-name", SINK_CLASS, sink()),
    _validate("no-class", SINK_CLASS, sink(connector__class=None)),
    _validate("other-class", SINK_CLASS, source()),
    _validate("unknown", "Nothing", sink(connector__class="Nothing")),
    _validate("mistakes", SINK_CLASS, sink(name="x", topics=None, tasks__max="0", errors__tolerance="some")),
    _validate("converter", SINK_CLASS, {**NAMED_SINK, "value.converter": "org.apache.kafka.connect.json.JsonConverter",
                                        "value.converter.schemas.enable": "maybe"}),
    _validate("transform", SINK_CLASS, {**NAMED_SINK, "transforms": "t", "transforms.t.type": f"{TRANSFORMS}Cast$Value",
                                        "transforms.t.spec": "a:int32"}),
    _validate("transform-options", SINK_CLASS,
              {**NAMED_SINK, "transforms": "t", "transforms.t.type": f"{TRANSFORMS}InsertField$Value"}),
    _validate("transform-missing-option", SINK_CLASS,
              {**NAMED_SINK, "transforms": "t", "transforms.t.type": f"{TRANSFORMS}HoistField$Value"}),
    _validate("transform-unknown", SINK_CLASS,
              {**NAMED_SINK, "transforms": "t", "transforms.t.type": "org.x.Nothing"}),
    _validate("predicate", SINK_CLASS,
              {**NAMED_SINK, "transforms": "t", "transforms.t.type": f"{TRANSFORMS}Filter",
               "transforms.t.predicate": "p", "predicates": "p",
               "predicates.p.type": f"{TRANSFORMS}predicates.TopicNameMatches",
               "predicates.p.pattern": "a.*"}),
    _validate("unknown-option", SINK_CLASS, {**NAMED_SINK, "colour": "red"}),
    _validate("override", SINK_CLASS, {**NAMED_SINK, "consumer.override.max.poll.records": "5"}),
    _validate("null-value", SINK_CLASS, {**NAMED_SINK, "errors.tolerance": None}),
    *methods("validate", f"/connector-plugins/{SINK_CLASS}/config/validate", "GET", "POST"),
]  # fmt: skip

LOGGER = "/admin/loggers/org.apache.kafka.connect"
LOGGERS: list[Step] = [
    R("loggers", "GET", "/admin/loggers"),
    R("loggers-slash", "GET", "/admin/loggers/"),
    R("loggers-root", "GET", "/admin/loggers/root"),
    R("loggers-unknown", "GET", "/admin/loggers/no.such.logger"),
    *methods("loggers", "/admin/loggers", "POST"),
    *bad_bodies("logger-put", "PUT", "/admin/loggers/new.logger", ("trailing", "charset", "form", "latin")),
    R("logger-put-bad-level", "PUT", "/admin/loggers/new.logger", {"level": "LOUD"}),
    R("logger-put-number-level", "PUT", "/admin/loggers/new.logger", {"level": 5}),
    R("logger-put-list-level", "PUT", "/admin/loggers/new.logger", {"level": []}),
    R("logger-put", "PUT", "/admin/loggers/new.logger", {"level": "DEBUG"}),
    R("logger-put-seen", "GET", "/admin/loggers/new.logger"),
    R("logger-put-again", "PUT", "/admin/loggers/new.logger", {"level": "DEBUG"}),
    R("logger-put-lower", "PUT", "/admin/loggers/new.logger", {"level": "warn"}),
    R("logger-put-lower-seen", "GET", "/admin/loggers/new.logger"),
    R("logger-put-worker", "PUT", "/admin/loggers/new.logger?scope=worker", {"level": "ERROR"}),
    R("logger-put-odd-scope", "PUT", "/admin/loggers/new.logger?scope=moon", {"level": "INFO"}),
    R("logger-put-cluster", "PUT", "/admin/loggers/new.logger?scope=cluster", {"level": "TRACE"}),
    *methods("logger", "/admin/loggers/new.logger", "POST", "DELETE"),
    R("admin", "GET", "/admin"),
]

STEPS: tuple[Step, ...] = (
    *ROOT, *EMPTY_CLUSTER, *CREATE, *RUN_SINK, *CONFIGURE, *STOP, *SOURCE, *STATES, *PLUGINS, *LOGGERS
)  # fmt: skip
# What `make test` sends, with the recorded answers of Kafka Connect: requests that start no task.
CORE_STEPS: tuple[Step, ...] = (*ROOT, *EMPTY_CLUSTER, *CREATE, *PLUGINS, *LOGGERS)
REQUESTS: tuple[RestRequest, ...] = tuple(step for step in STEPS if isinstance(step, RestRequest))

from __future__ import annotations

from collections.abc import Mapping

import pytest

from engine.assembly.validation import validate
from engine.config.options import Option
from engine.errors import ConfigError
from engine.record.record import Record
from engine.record.stage import Stage, StageType
from engine.tasks.plan import ConnectorPlan
from engine.worker_messages import ConnectorKind
from tests.support.permissions import open_worker

WORKER = open_worker({})
PROPS = {
    "name": "s",
    "connector.class": "stream",
    "topics": "t",
    "processors": "b,a",
    "processors.a.type": "tests.broker.processors.Through",
    "processors.b.type": "tests.broker.processors.Count",
    "processors.b.parents": "a",
    "processors.b.time": "STREAM_TIME",
    "sinks": "out",
    "sinks.out.topic": "o",
    "sinks.out.parents": "b",
    "value.converter": "JsonConverter",
}


def plan(**props: str) -> ConnectorPlan:
    return validate({**PROPS, **{name.replace("__", "."): value for name, value in props.items()}}, WORKER)


def stages(made: ConnectorPlan) -> list[str]:
    return [f"{stage.type}:{stage.label}" for stage in made.stages]


def test_a_stream_has_a_stage_for_each_node_with_its_name_in_the_order_of_the_topology() -> None:
    made = plan()
    assert made.known.kind is ConnectorKind.STREAM
    assert stages(made) == [
        "KEY_CONVERTER:org.apache.kafka.connect.storage.StringConverter",
        "VALUE_CONVERTER:JsonConverter",
        "PROCESSOR:a",
        "PROCESSOR:b",
        "KEY_CONVERTER:out",
        "VALUE_CONVERTER:out",
        "HEADER_CONVERTER:out",
        "KAFKA_PRODUCE:out",
    ]
    assert made.stages[3].config == {"time": "STREAM_TIME"}


def test_the_consumer_of_a_sink_and_of_a_stream_is_guarded_behind_the_stages_of_records() -> None:
    made = plan(consumer__override__fetch__min__bytes="9")
    assert made.guarded_stages[:-1] == made.stages
    assert made.guarded_stages[-1] == Stage(StageType.KAFKA_CONSUME, "KafkaConsumer", {"fetch.min.bytes": "9"})
    sink = validate({"name": "s", "connector.class": "FileStreamSink", "file": "/f", "topics": "t"}, WORKER)
    assert [stage.type for stage in sink.guarded_stages[-2:]] == [StageType.TASK_PUT, StageType.KAFKA_CONSUME]
    source = validate({"name": "s", "connector.class": "FileStreamSource", "file": "/f", "topic": "t"}, WORKER)
    assert source.guarded_stages == source.stages


class Secretive:
    """A processor, or a transform, with an option whose name promises nothing."""

    OPTIONS = (Option("pin", "string", "", "A secret.", secret=True), Option("shown", "string", "", "None."))

    def configure(self, configs: Mapping[str, str]) -> None: ...
    def process(self, record: Record) -> None: ...
    def apply(self, record: Record) -> Record:
        return record


def test_what_a_steps_table_calls_secret_is_shown_nowhere() -> None:
    kind = f"{__name__}.Secretive"
    steps = {"transforms": "t", "transforms.t.type": kind, "transforms.t.pin": "1", "transforms.t.shown": "2"}
    made = plan(**steps, **{"processors.a.type": kind, "processors.a.pin": "1"})
    assert made.secrets == ("processors.a.pin", "transforms.t.pin")
    shown = {stage.label: stage.config for stage in made.stages if stage.config}
    assert (shown[kind], shown["a"]) == ({"pin": "********", "shown": "2"}, {"pin": "********"})
    sink = {"name": "s", "connector.class": "FileStreamSink", "file": "/f", "topics": "t", **steps}
    assert validate(sink, WORKER).stages[-1].config["transforms.t.pin"] == "********"


def test_headers_are_converted_where_that_is_asked_for() -> None:
    assert "HEADER_CONVERTER:SimpleHeaderConverter" in stages(plan(header__converter="SimpleHeaderConverter"))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("processors.a.type", "tests.broker.processors.Nobody"),
        ("output.value.converter", "NoSuchConverter"),
        ("processing.exception.handler", "NoSuchHandler"),
        ("processors.b.parents", "c"),
    ],
)
def test_every_part_of_a_stream_is_checked(option: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validate({**PROPS, option: value}, WORKER)
    assert option in [name for name, *_ in caught.value.problems]


def test_all_problems_of_a_stream_are_told_at_once_each_under_its_own_name() -> None:
    wrong = {"key.converter": "NoSuch", "processors.b.parents": "c", "processors.a.type": "no.such.Class", "x": "y"}
    with pytest.raises(ConfigError) as caught:
        validate({**PROPS, **wrong}, WORKER)
    assert sorted(name for name, *_ in caught.value.problems) == sorted(wrong)


def test_where_handlers_decide_nobody_is_warned_about_limits_of_a_dead_letter_topic() -> None:
    handler = {"processing__exception__handler": "LogAndContinueProcessingExceptionHandler"}
    letters = {"errors__dlq__topic__name": "dlq", "errors__dlq__include__messages": "true"}
    assert [option for option, *_ in plan(**letters).warnings] == ["errors.deadletterqueue.topic.name"]
    assert plan(**letters, **handler).warnings == ()


def test_a_sink_connector_has_none_of_a_streams_options() -> None:
    with pytest.raises(ConfigError) as caught:
        validate({**PROPS, "connector.class": "FileStreamSink", "file": "f"}, WORKER)
    assert {"processors", "sinks"} <= {name for name, *_ in caught.value.problems}


def test_a_deprecated_handler_is_a_warning_of_any_kind_of_connector() -> None:
    made = plan(default__production__exception__handler="tests.engine.steps.handlers_of_tests.OldProduction")
    assert [option for option, *_ in made.warnings].count("default.production.exception.handler") == 2

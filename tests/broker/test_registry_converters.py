"""Converters with a real schema registry: sources register and write, sinks read, registries die and come back."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.message_factory import GetMessageClass

from engine.errors import ConversionError
from engine.record.record import TopicPartition
from engine.record.schema import Schema
from engine.schemas.protobuf_compiler import compile_proto
from engine.schemas.registry import RegistryOptions, SchemaRegistry
from engine.steps.registry_converters.avro import AvroConverter
from engine.steps.registry_converters.json_schema import JsonSchemaConverter
from engine.steps.registry_converters.protobuf import ProtobufConverter
from engine.worker_messages import LeaseEnd, TaskReport
from tests.broker.connector import Connector, file_sink
from tests.broker.source import SourceConnector
from tests.engine.steps.registry_converters.rig import DECIMAL, struct_of
from tests.support.gate import Gate
from tests.support.schema_registry import LocalSchemaRegistry, register

AVRO = "io.confluent.connect.avro.AvroConverter"
CONVERTERS = [AVRO, "io.confluent.connect.json.JsonSchemaConverter", "io.confluent.connect.protobuf.ProtobufConverter"]
# A line becomes the STRUCT `shop.Line` with the field `text`.
AS_STRUCT = {
    "transforms": "hoist,name",
    "transforms.hoist.type": "HoistField$Value",
    "transforms.hoist.field": "text",
    "transforms.name.type": "SetSchemaMetadata$Value",
    "transforms.name.schema.name": "shop.Line",
}
PATIENT = {"errors.retry.timeout": "-1", "errors.retry.delay.max.ms": "300"}


def converting(url: str, class_name: str = AVRO, **more: str) -> dict[str, str]:
    own = {"schema.registry.url": url, **more}
    return {"value.converter": class_name} | {f"value.converter.{name}": value for name, value in own.items()}


def file_source(broker: str, path: Path, lines: list[str], **more: str) -> SourceConnector:
    path.write_text("".join(f"{line}\n" for line in lines))
    made = SourceConnector(broker, {"connector.class": "FileStreamSource", "file": str(path), "topic": "later"})
    made.props |= {"topic": made.topic, **more}
    made.configure(1)
    return made


def sink_of(broker: str, topic: str, path: Path, **more: str) -> Connector:
    """Return a file sink that reads the topic of a source."""
    made = Connector(broker, {**file_sink(path), "header.converter": "ByteArrayConverter", **more})
    made.props.pop("value.converter.schemas.enable", None)
    made.topic = made.props["topics"] = topic
    made.partitions = (TopicPartition(topic, 0),)
    made.configure(1)
    return made


def texts_of(path: Path) -> list[str]:
    """Return the field `text` of each STRUCT that the file sink has written."""
    return [json.loads(line)["text"] for line in path.read_text().splitlines()]


def subjects_of(url: str, topic: str) -> list[str]:
    return [one for one in httpx.get(f"{url}/subjects", timeout=10).json() if topic in one or one == "shop.Line"]


@pytest.mark.parametrize("class_name", CONVERTERS)
def test_a_sink_reads_the_structs_that_a_source_has_registered_and_written(
    class_name: str, broker: str, schema_registry: str, tmp_path: Path
) -> None:
    lines = [f"line {number}" for number in range(300)]
    options = converting(schema_registry, class_name)
    source = file_source(broker, tmp_path / "in", lines, **AS_STRUCT, **options)
    report = source.run()
    assert (report.end, report.trace) == (LeaseEnd.CAUGHT_UP, None)
    assert all((record.value or b"")[0] == 0 for record in source.out())
    assert subjects_of(schema_registry, source.topic) == [f"{source.topic}-value"]
    sink = sink_of(broker, source.topic, tmp_path / "out", **options)
    report = sink.run()
    assert (report.end, report.trace) == (LeaseEnd.CAUGHT_UP, None)
    assert report.metrics["records-delivered"] == 300
    assert texts_of(tmp_path / "out") == lines


@pytest.mark.parametrize("class_name", CONVERTERS)
@pytest.mark.parametrize("strategy", ["RecordNameStrategy", "TopicRecordNameStrategy"])
def test_a_strategy_decides_about_the_subject(
    class_name: str, strategy: str, broker: str, schema_registry: str, tmp_path: Path
) -> None:
    options = converting(schema_registry, class_name, **{"value.subject.name.strategy": strategy})
    name = f"shop.Line{uuid.uuid4().hex[:6]}"
    struct = {**AS_STRUCT, "transforms.name.schema.name": name}
    source = file_source(broker, tmp_path / "in", ["a"], **struct, **options)
    assert source.run().end is LeaseEnd.CAUGHT_UP
    subject = name if strategy == "RecordNameStrategy" else f"{source.topic}-{name}"
    assert subject in httpx.get(f"{schema_registry}/subjects", timeout=10).json()


def test_keys_and_values_are_written_and_null_stays_null(schema_registry: str) -> None:
    made = AvroConverter()
    made.configure({"schema.registry.url": schema_registry}, is_key=True)
    topic = f"t-{uuid.uuid4().hex[:8]}"
    data = made.from_connect(topic, Schema("INT64"), 5)
    assert made.to_connect(topic, data) == (Schema("INT64", version=1), 5)
    assert made.from_connect(topic, None, None) is None
    assert f"{topic}-key" in subjects_of(schema_registry, topic)


@dataclass
class KillableRegistry:
    """A registry of one test. It forgets its schemas when it dies, so a gate hides it until they are back."""

    registry: LocalSchemaRegistry
    gate: Gate

    @property
    def url(self) -> str:
        return self.registry.url.replace(f":{self.registry.port}", f":{self.gate.port}")

    def kill(self) -> None:
        self.gate.close()
        self.registry.stop()

    def revive(self, remember: Callable[[str], object]) -> None:
        """Start it again; `remember` registers the schemas at its own address."""
        self.registry.start()
        remember(self.registry.url)
        self.gate.open()


@pytest.fixture
def own_registry() -> Iterator[KillableRegistry]:
    started = LocalSchemaRegistry().start()
    made = KillableRegistry(started, Gate(started.port))
    yield made
    made.kill()


def line_schema(url: str, topic: str) -> int:
    made = AvroConverter()
    made.configure({"schema.registry.url": url}, is_key=False)
    text = made.own_schema(struct_of("shop.Line", text=Schema("STRING"))).text
    return register(url, f"{topic}-value", text)


def while_dead(registry: KillableRegistry, run: Connector, remember: Callable[[str], object]) -> TaskReport:
    """Run a lease that begins while the registry is dead, and revive it meanwhile."""
    registry.kill()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run.run, 120_000)
        time.sleep(2)
        assert not running.done()
        registry.revive(remember)
        return running.result(150)


@pytest.mark.soak  # the next test is the short case
def test_a_registry_that_dies_delays_a_sink_and_loses_and_doubles_nothing(
    broker: str, own_registry: KillableRegistry, tmp_path: Path
) -> None:
    options = {**converting(own_registry.url), **PATIENT}
    first = [f"a{number}" for number in range(200)]
    source = file_source(broker, tmp_path / "in", first, **AS_STRUCT, **options)
    assert source.run().end is LeaseEnd.CAUGHT_UP
    sink = sink_of(broker, source.topic, tmp_path / "out", **options)
    number = line_schema(own_registry.url, source.topic)
    report = while_dead(own_registry, sink, lambda url: line_schema(url, source.topic))
    assert line_schema(own_registry.url, source.topic) == number
    assert (report.end, report.trace) == (LeaseEnd.CAUGHT_UP, None)
    assert report.metrics["records-consumed"] == report.metrics["records-delivered"] == 200
    assert report.metrics["total-retries"] > 0
    assert texts_of(tmp_path / "out") == first


def test_a_registry_that_dies_delays_a_source_and_loses_and_doubles_nothing(
    broker: str, own_registry: KillableRegistry, tmp_path: Path
) -> None:
    lines = [f"a{number}" for number in range(200)]
    source = file_source(broker, tmp_path / "in", lines, **AS_STRUCT, **converting(own_registry.url), **PATIENT)
    report = while_dead(own_registry, source, lambda _url: None)
    assert (report.end, report.trace) == (LeaseEnd.CAUGHT_UP, None)
    assert report.metrics["total-retries"] > 0
    assert [(one.value or b"")[6:].decode() for one in source.out()] == lines


def test_an_unavailable_registry_is_a_dead_letter_of_its_stage_if_retries_end(broker: str, tmp_path: Path) -> None:
    options = converting("http://127.0.0.1:9")
    source = file_source(broker, tmp_path / "in", ["a"], **options)
    source.with_dead_letters()
    source.configure(1)
    assert source.run().end is LeaseEnd.CAUGHT_UP
    [context] = source.contexts()
    assert context["stages"][context["index"]]["type"] == "VALUE_CONVERTER"
    assert "is not available: the registry can't be reached" in json.dumps(context)


def test_bytes_without_a_known_schema_are_dead_letters(broker: str, schema_registry: str, tmp_path: Path) -> None:
    sink = Connector(broker, {**file_sink(tmp_path / "out"), **converting(schema_registry)})
    sink.props.pop("value.converter.schemas.enable", None)
    sink.with_dead_letters()
    sink.configure(1)
    sink.send([b"{}", b"\0\0\x0f\x0f\x0fx"])
    report = sink.run()
    assert (report.end, report.metrics["records-dead-lettered"]) == (LeaseEnd.CAUGHT_UP, 2)
    texts = [json.dumps(context) for context in sink.contexts()]
    assert "the value names no schema: byte 0 is 0x7b; a schema id begins with 0x00, 0x01 or 0x03" in texts[0]
    assert "the value names schema id 986895, but the registry has no id 986895" in texts[1]


def test_a_schema_that_the_registry_refuses_is_a_dead_letter_with_subject_and_reason(
    broker: str, schema_registry: str, tmp_path: Path
) -> None:
    source = file_source(broker, tmp_path / "in", ["a", "b"], **converting(schema_registry))
    subject = f"{source.topic}-value"
    register(schema_registry, subject, '"int"')
    httpx.put(f"{schema_registry}/config/{subject}", json={"compatibility": "BACKWARD"}, timeout=10).raise_for_status()
    source.with_dead_letters()
    source.configure(1)
    report = source.run()
    assert (report.end, report.metrics["records-dead-lettered"]) == (LeaseEnd.CAUGHT_UP, 2)
    assert f"the registry refused the schema of subject {subject}: " in json.dumps(source.contexts()[0])


ORDER = struct_of(
    "shop.Order",
    id=Schema("INT64"),
    note=Schema("STRING", optional=True),
    price=Schema("FLOAT64"),
    tags=Schema("ARRAY", items=Schema("STRING")),
    counts=Schema("MAP", keys=Schema("STRING"), items=Schema("INT32")),
)
VALUE = {"id": 7, "note": None, "price": 1.5, "tags": ["a", "b"], "counts": {"x": 1}}


def own(kind: Any, url: str, schema: Schema, value: Any) -> tuple[str, bytes, str]:
    """Return the topic, the bytes of our converter, and the text of the schema that it has registered."""
    made = kind()
    made.configure({"schema.registry.url": url}, is_key=False)
    topic = f"t-{uuid.uuid4().hex[:8]}"
    data = made.from_connect(topic, schema, value)
    registry = SchemaRegistry(RegistryOptions(url))
    text = registry.schema_by_id(int.from_bytes(data[1:5], "big")).text
    registry.close()
    return topic, data, text


def test_confluents_avro_serializer_writes_the_same_bytes(schema_registry: str) -> None:
    topic, data, text = own(AvroConverter, schema_registry, ORDER, VALUE)
    with SchemaRegistryClient({"url": schema_registry}) as client:
        context = SerializationContext(topic, MessageField.VALUE)
        assert AvroSerializer(client, text)(VALUE, context) == data
        assert AvroDeserializer(client)(data, context) == VALUE


def test_confluents_json_serializer_writes_the_same_value_with_the_same_id(schema_registry: str) -> None:
    topic, data, text = own(JsonSchemaConverter, schema_registry, ORDER, VALUE)
    with SchemaRegistryClient({"url": schema_registry}) as client:
        theirs = JSONSerializer(text, client)(VALUE, SerializationContext(topic, MessageField.VALUE))
    assert theirs is not None
    assert (theirs[:5], json.loads(theirs[5:])) == (data[:5], json.loads(data[5:]))


def test_protobuf_itself_writes_the_same_bytes(schema_registry: str) -> None:
    _, data, text = own(ProtobufConverter, schema_registry, ORDER, VALUE)
    message = GetMessageClass(compile_proto(text, {}).message_types_by_name["Order"])(id=7, price=1.5, tags=["a", "b"])
    message.counts.add(key="x", value=1)  # a list of entries, as Confluent's converter declares maps
    assert data[5:] == b"\0" + message.SerializeToString(deterministic=True)


def test_the_newest_version_of_a_real_subject_is_written(schema_registry: str) -> None:
    topic = f"t-{uuid.uuid4().hex[:8]}"
    fields = [{"name": "id", "type": "long"}]
    row: dict[str, Any] = {"type": "record", "name": "Order", "namespace": "shop", "fields": fields}
    register(schema_registry, f"{topic}-value", json.dumps(row))
    newer = {**row, "fields": [*fields, {"name": "city", "type": "string", "default": "-"}]}
    number = register(schema_registry, f"{topic}-value", json.dumps(newer))
    made = AvroConverter()
    options = {"auto.register.schemas": "false", "use.latest.version": "true"}
    made.configure({"schema.registry.url": schema_registry, **options}, is_key=False)
    data = made.from_connect(topic, struct_of("shop.Order", id=Schema("INT64")), {"id": 7})
    assert data == b"\0" + number.to_bytes(4, "big") + b"\x0e\2-"
    looking = AvroConverter()
    looking.configure({"schema.registry.url": schema_registry, "auto.register.schemas": "false"}, is_key=False)
    with pytest.raises(ConversionError, match=f"no schema like the record's under subject {topic}-value"):
        looking.from_connect(topic, struct_of("shop.Other", price=DECIMAL), {"price": None})

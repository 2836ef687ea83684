"""Cases of steps that fail on a record's content, for the tests of what leaves the engine."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from json import JSONDecodeError
from typing import Any

import msgspec
import psycopg
import sqlalchemy as sa
from confluent_kafka import KafkaError, KafkaException

from engine.connectors.delta.sink import DeltaSink
from engine.connectors.elasticsearch.sink import ElasticsearchSink
from engine.connectors.file.sink import FileSink
from engine.connectors.file.source import FileSource
from engine.connectors.http.sink import HttpSink
from engine.connectors.mirror.connector_plan import Mirror
from engine.connectors.objects.sink import ObjectStoreSink
from engine.connectors.sql.sink import SqlSink
from engine.connectors.sql.source import SqlSource
from engine.errors import FatalError, RetriableError, TransformError
from engine.record.record import RawRecord, Record
from engine.record.schema import STRING, Field, Schema
from engine.steps.registry import TRANSFORMS
from engine.worker_messages import LeaseEnd
from tests.fakes import Sink
from tests.security.content_rig import NUMBER, SECRET, SINK, SOURCE, Polled, World, all_logs, flags, leaks, polled, raw
from tests.support.fake_schema_registry import FakeSchemaRegistry
from tests.support.http_target import HttpTarget

TEXT = f'"{SECRET}"'.encode()
OBJECT = f'{{"ssn": "{SECRET}", "n": {NUMBER}}}'.encode()
DECIMAL = "org.apache.kafka.connect.data.Decimal"


def short(names: Mapping[str, Any]) -> set[str]:
    """Names without packages."""
    return {name.rpartition(".")[2] for name in names}


@dataclass(frozen=True)
class Case:
    """Makes a world's task fail on the secret; `of_record`: the error is told to the reporters."""

    name: str
    run: Callable[[World], LeaseEnd | None]
    base: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict)
    of_record: bool = True

    def world(self, *, log: bool, letters: bool) -> World:
        options = {**self.base, **self.options}
        for name in [name for name, text in options.items() if text in WITH_REGISTRY]:
            options[f"{name}.schema.registry.url"] = registry_url()
        return World(options, flags(log, letters))


# Converters: data that they can't read, and values that they can't write; None where there is nothing of the kind.

ENVELOPE = {"schemas.enable": "true"}


def enveloped(schema: str, payload: str) -> bytes:
    return f'{{"schema": {schema}, "payload": {payload}}}'.encode()


# Converters with a registry. The schemas have the ids 1, 2, ….
SCHEMAS = (
    ("AVRO", '"string"'),
    ("AVRO", '{"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}'),
    ("JSON", '{"type": "object", "properties": {"ssn": {"type": "integer"}}}'),
    ("PROTOBUF", 'syntax = "proto3"; message Person { string ssn = 1; }'),
)
WITH_REGISTRY = ("AvroConverter", "JsonSchemaConverter", "ProtobufConverter")


def framed(number: int, data: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + data


@cache
def registry_url() -> str:
    """Start the registry of these schemas, which the tests of this process share, and return its address."""
    registry = FakeSchemaRegistry()
    for type_, text in SCHEMAS:
        registry.add("t-value", type_, text)
    return HttpTarget(registry.answer).url


READ: dict[str, list[tuple[dict[str, str], bytes]]] = {
    "AvroConverter": [
        ({}, framed(1, b"\x02" + SECRET.encode())),
        ({}, framed(1, b"\x7f" + SECRET.encode())),
        ({}, framed(1, b"\x04\xff\xff" + SECRET.encode())),
        ({}, framed(99, SECRET.encode())),
        ({}, SECRET.encode()),
    ],
    "JsonSchemaConverter": [
        ({}, framed(3, f'{{"ssn": {SECRET}'.encode())),
        ({}, framed(3, TEXT)),
        ({"json.fail.invalid.schema": "true"}, framed(3, OBJECT)),
        ({}, SECRET.encode()),
    ],
    "ProtobufConverter": [
        ({}, framed(4, b"\0\x0a\x02\xff" + SECRET.encode())),
        ({}, framed(4, b"\0\x0a\x7f" + SECRET.encode())),
        ({}, SECRET.encode()),
    ],
    "JsonConverter": [
        ({"schemas.enable": "false"}, f'{{"ssn": {SECRET}'.encode()),
        ({"schemas.enable": "false"}, f'{{"n": {NUMBER}1e{NUMBER} x'.encode()),
        (ENVELOPE, OBJECT),
        (ENVELOPE, enveloped(TEXT.decode(), "1")),
        (ENVELOPE, enveloped('{"type": "struct", "fields": [{"field": "ssn", "type": "struct"}]}', OBJECT.decode())),
        (
            ENVELOPE,
            enveloped(
                '{"type": "struct", "fields": [{"field": "a", "type": "struct", "fields": []}]}',
                f'{{"a": {TEXT.decode()}}}',
            ),
        ),
        (
            ENVELOPE,
            enveloped('{"type": "map", "keys": {"type": "string"}, "values": {"type": "string"}}', TEXT.decode()),
        ),
        (
            ENVELOPE,
            enveloped('{"type": "map", "keys": {"type": "int32"}, "values": {"type": "string"}}', TEXT.decode()),
        ),
        (ENVELOPE, enveloped(f'{{"type": "bytes", "name": "{DECIMAL}"}}', f'"{SECRET}"')),
        (
            ENVELOPE,
            enveloped(f'{{"type": "bytes", "name": "{DECIMAL}", "parameters": {{"scale": "{SECRET}"}}}}', '"AAAA"'),
        ),
        (ENVELOPE, enveloped('{"type": "bytes"}', f'"{SECRET}!"')),
        (
            ENVELOPE,
            enveloped('{"type": "int32", "name": "org.apache.kafka.connect.data.Date"}', str(NUMBER)),
        ),
        (
            ENVELOPE,
            enveloped('{"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"}', f"{NUMBER}{NUMBER}"),
        ),
    ],
    "StringConverter": [({}, b"\xff" + SECRET.encode()), ({"converter.encoding": "UTF-16"}, SECRET.encode() + b"\xd8")],
    "SimpleHeaderConverter": [],  # it reads everything
    "ByteArrayConverter": [],
    "BooleanConverter": [({}, SECRET.encode())],
    "ShortConverter": [({}, SECRET.encode())],
    "IntegerConverter": [({}, SECRET.encode())],
    "LongConverter": [({}, SECRET.encode())],
    "FloatConverter": [({}, SECRET.encode())],
    "DoubleConverter": [({}, SECRET.encode())],
}


INT32, INT64 = Schema("INT32"), Schema("INT64")
NUMERIC = [(None, SECRET), (STRING, SECRET)]
TYPED: list[tuple[Schema | None, Any]] = [
    (INT32, SECRET),
    (INT32, NUMBER),
    (Schema("ARRAY", items=INT32), [SECRET]),
    (Schema("MAP", keys=STRING, items=INT32), {SECRET: SECRET}),
    (Schema("STRUCT", name="a.B", fields=(Field("ssn", INT32),)), {"ssn": SECRET}),
    (Schema("STRUCT", name="a.B", fields=()), SECRET),
]
WRITE: dict[str, list[tuple[Schema | None, Any]]] = {
    "AvroConverter": [*TYPED, (STRING, f"{SECRET}\ud800")],
    "JsonSchemaConverter": TYPED,
    "ProtobufConverter": TYPED,
    "JsonConverter": [
        (INT32, SECRET),
        (INT32, NUMBER),
        (Schema("BYTES", name=DECIMAL, parameters={"scale": SECRET}), Decimal(f"{NUMBER}.5")),
        (Schema("BYTES", name=DECIMAL, parameters={"scale": "0"}), Decimal(f"{NUMBER}.5")),
        (Schema("INT32", name="org.apache.kafka.connect.data.Date"), SECRET),
        (Schema("ARRAY", items=INT32), [SECRET]),
        (Schema("MAP", keys=STRING, items=INT32), {SECRET: SECRET}),
        (Schema("STRUCT", fields=()), SECRET),
        (None, {"ssn": {SECRET}}),
    ],
    "StringConverter": [(None, f"{SECRET}\ud800"), (None, {"ssn": {SECRET}})],
    "SimpleHeaderConverter": [(None, f"{SECRET}\ud800"), (None, {"ssn": {SECRET}})],
    "ByteArrayConverter": [(STRING, SECRET), (None, SECRET)],
    "BooleanConverter": NUMERIC,
    "ShortConverter": [*NUMERIC, (Schema("INT16"), SECRET), (Schema("INT16"), NUMBER)],
    "IntegerConverter": [*NUMERIC, (INT32, NUMBER)],
    "LongConverter": [*NUMERIC, (INT64, NUMBER * 10**9)],
    "FloatConverter": [*NUMERIC, (Schema("FLOAT32"), SECRET)],
    "DoubleConverter": [*NUMERIC, (Schema("FLOAT64"), SECRET)],
}


def parts(name: str) -> tuple[str, ...]:
    """Return the parts of a record that a converter can convert."""
    return ("key", "value") if name in WITH_REGISTRY else ("key", "value", "header")


def reading(name: str) -> Iterator[Case]:
    """A sink whose converter of key, value or headers can't read the secret."""
    for at, (options, data) in enumerate(READ[name]):
        for part in parts(name):
            given = {f"{part}.converter": name, **{f"{part}.converter.{one}": text for one, text in options.items()}}
            if name == "JsonConverter" and part == "header":
                given[f"{part}.converter.schemas.enable"] = options["schemas.enable"]
            others = {
                f"{other}.converter": "ByteArrayConverter" for other in ("key", "value", "header") if other != part
            }
            record = raw(
                data if part == "value" else b"1",
                data if part == "key" else None,
                (("bad", data),) if part == "header" else (),
            )
            yield Case(
                f"{name} reads a {part} {at}",
                sink_case(record),
                {name: text for name, text in SINK.items() if not name.startswith("value.converter.")},
                {**others, **given},
            )


def writing(name: str) -> Iterator[Case]:
    """A source whose converter of key, value or headers can't write the secret."""
    for at, (schema, value) in enumerate(WRITE[name]):
        for part in parts(name):
            given = {f"{part}.converter": name}
            if name == "JsonConverter":
                given[f"{part}.converter.schemas.enable"] = "true"
            others = {
                f"{other}.converter": "ByteArrayConverter" for other in ("key", "value", "header") if other != part
            }
            record = polled(None)
            if part == "header":
                record = msgspec.structs.replace(record, headers=(("bad", schema, value),))
            else:
                record = msgspec.structs.replace(record, **{part: value, f"{part}_schema": schema})
            yield Case(
                f"{name} writes a {part} {at}",
                source_case(record),
                {name: text for name, text in SOURCE.items() if not name.startswith("value.converter.")},
                {**others, **given},
            )


def sink_case(record: RawRecord, put: Callable[[Any], None] | None = None) -> Callable[[World], LeaseEnd | None]:
    """A sink that is given the record; `put` is what it does with the secret."""

    def sink() -> Sink | None:
        return None if put is None else Sink(lambda _: put(SECRET), put_is_idempotent=True)

    return lambda world: world.run(lambda: world.sink([record], sink()))


def source_case(*records: Record) -> Callable[[World], LeaseEnd | None]:
    return lambda world: world.run(lambda: world.source(Polled(*records)))


# Transforms: options, and a value that they fail on. Those without a value fail on none.

PLAIN_TEXT = polled(SECRET)
TRANSFORMED: dict[str, list[tuple[dict[str, str], Record]]] = {
    **{
        name: [({**options}, record) for record in records]
        for name, options, records in (
            ("Cast", {"spec": "ssn:int32"}, [polled({"ssn": SECRET}), polled({"ssn": {"a": SECRET}})]),
            ("ExtractField", {"field": "ssn"}, [PLAIN_TEXT]),
            ("Flatten", {}, [PLAIN_TEXT, polled({"ssn": {SECRET}})]),
            ("HeaderFrom", {"fields": "ssn", "headers": "h", "operation": "copy"}, [PLAIN_TEXT]),
            ("HoistField", {"field": "ssn"}, []),
            ("InsertField", {"static.field": "a", "static.value": "b"}, [PLAIN_TEXT]),
            (
                "MaskField",
                {"fields": "ssn", "replacement": "x"},
                [PLAIN_TEXT, polled({"ssn": [SECRET]}), polled({"ssn": NUMBER})],
            ),
            ("ReplaceField", {"exclude": "ssn"}, [PLAIN_TEXT]),
            ("SetSchemaMetadata", {"schema.name": "a"}, [PLAIN_TEXT, polled(SECRET, STRING)]),
            (
                "TimestampConverter",
                {"field": "ssn", "target.type": "Timestamp", "format": "yyyy-MM-dd HH:mm:ss z"},
                [
                    polled({"ssn": SECRET}),
                    polled({"ssn": NUMBER * 10**9}),
                    polled({"ssn": f"2020-01-01 10:00:00 {SECRET}"}),
                    polled({"ssn": [SECRET]}),
                ],
            ),
        )
    },
    "DropHeaders": [],
    "Filter": [],
    "InsertHeader": [],
    "RegexRouter": [],
    "TimestampRouter": [({}, polled({"ssn": SECRET}, timestamp=None))],
    "ValueToKey": [({"fields": "ssn"}, PLAIN_TEXT)],
}
PASSING = {"HoistField", "DropHeaders", "Filter", "InsertHeader", "RegexRouter"}


def transforming(name: str) -> Iterator[Case]:
    for side in ("$Key", "$Value", ""):
        if name + side not in TRANSFORMS:
            continue
        for at, (options, record) in enumerate(TRANSFORMED[name]):
            of_key = msgspec.structs.replace(record, key=record.value, key_schema=record.value_schema, value=None)
            yield Case(
                f"{name}{side} {at}",
                source_case(of_key if side == "$Key" else record),
                SOURCE,
                {
                    "transforms": "t",
                    "transforms.t.type": name + side,
                    **{f"transforms.t.{k}": v for k, v in options.items()},
                },
            )


# Predicates raise for no record of ours. Under each of them a transform fails.

PREDICATED = {
    "TopicNameMatches": {"pattern": "t"},
    "HasHeaderKey": {"name": "ssn"},
    "RecordIsTombstone": {},
}


def predicated(name: str) -> Case:
    options = {
        "transforms": "t",
        "transforms.t.type": "Cast$Key",
        "transforms.t.spec": "ssn:int32",
        "transforms.t.predicate": "p",
        "predicates": "p",
        "predicates.p.type": name,
        **{f"predicates.p.{option}": value for option, value in PREDICATED[name].items()},
    }
    record = polled(None, key={"ssn": SECRET}, headers=(("ssn", STRING, SECRET),))
    return Case(f"{name} holds", source_case(record), SOURCE, options)


# Exceptions of nobody: of Python, of libraries, of plugins.


class Custom(Exception):
    def __str__(self) -> str:
        return f"custom {self.args[0]}"


def _by_int(value: Any) -> None:
    int(str(value))


def _by_key(value: Any) -> None:
    dict[str, Any]()[str(value)]


def _by_chain(value: Any) -> None:
    try:
        int(str(value))
    except ValueError as error:
        error.add_note(f"the value is {value}")
        raise RuntimeError(f"while reading {value}") from error


def _by_context(value: Any) -> None:
    try:
        int(str(value))
    except ValueError:
        dict[str, Any]()[str(value)]


def _raises(make: Callable[[Any], BaseException]) -> Callable[[Any], None]:
    def call(value: Any) -> None:
        raise make(value)

    return call


FOREIGN: dict[str, Callable[[Any], None]] = {
    "int": _by_int,
    "KeyError": _by_key,
    "UnicodeError": _raises(lambda value: UnicodeDecodeError("utf-8", value.encode(), 0, 1, f"bad {value}")),
    "chain": _by_chain,
    "context": _by_context,
    "ValueError": _raises(lambda value: ValueError(f"bad {value}")),
    "two arguments": _raises(lambda value: ValueError("bad", value)),
    "custom": _raises(Custom),
    "the engine's class": _raises(lambda value: TransformError(f"bad {value}")),
    "the engine's class, retriable": _raises(lambda value: RetriableError(f"bad {value}")),
    "group": _raises(lambda value: ExceptionGroup(f"bad {value}", [ValueError(str(value))])),
    "JSON": _raises(lambda value: JSONDecodeError(f"bad {value}", str(value), 0)),
    "sqlite": _raises(lambda value: sqlite3.OperationalError(f"bad {value}")),
    "sqlite integrity": _raises(lambda value: sqlite3.IntegrityError(f"bad {value}")),
    "psycopg": _raises(lambda value: psycopg.errors.UniqueViolation(f"Key (ssn)=({value}) already exists.")),
    "SQLAlchemy": _raises(
        lambda value: sa.exc.StatementError(f"bad {value}", "INSERT", {"ssn": value}, ValueError(str(value)))
    ),
    "Kafka": _raises(lambda value: KafkaException(KafkaError(KafkaError._INVALID_ARG, f"bad {value}"))),
    "fatal": _raises(lambda value: FatalError(f"bad {value}")),
}


class Plugin:
    """A transform of somebody else."""

    raising: Callable[[Any], None]

    def configure(self, configs: Mapping[str, str]) -> None:
        type(self).raising = staticmethod(FOREIGN[configs["raises"]])

    def apply(self, record: Record) -> Record:
        type(self).raising(SECRET)
        return record


class PluginConverter:
    """A converter of somebody else."""

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        """It has no options."""

    def to_connect(self, topic: str, data: bytes | None, headers: Any = ()) -> tuple[Schema | None, Any]:
        raise ValueError(f"bad {data!r} in {SECRET}")

    def from_connect(self, topic: str, schema: Any, value: Any, headers: Any = ()) -> bytes | None:
        raise ValueError(f"bad {value!r} in {SECRET}")


def foreign() -> Iterator[Case]:
    path = f"{__name__}.Plugin"
    for name, raises in FOREIGN.items():
        options = {"transforms": "t", "transforms.t.type": path, "transforms.t.raises": name}
        yield Case(
            f"foreign {name} in a transform", source_case(polled({"ssn": SECRET})), SOURCE, options, name != "fatal"
        )
        yield Case(
            f"foreign {name} in a put",
            sink_case(raw(OBJECT), raises),
            SINK,
            of_record=name != "fatal",
        )
    for part in ("key", "value", "header"):
        converter = {f"{part}.converter": f"{__name__}.PluginConverter"}
        yield Case(
            f"a foreign converter reads a {part}",
            sink_case(raw(OBJECT, TEXT)),
            SINK,
            converter,
        )


CASES = [
    *(case for name in sorted(READ) for case in reading(name)),
    *(case for name in sorted(WRITE) for case in writing(name)),
    *(case for name in sorted(TRANSFORMED) for case in transforming(name)),
    *map(predicated, sorted(PREDICATED)),
    *foreign(),
]
CLASSES: dict[Any, str] = {  # what does a connector's work, and the test below that takes the secret through it
    FileSink: "test_a_file_sink_tells_no_content",
    SqlSink: "test_a_database_tells_no_content",
    HttpSink: "test_an_http_api_tells_no_content",
    ElasticsearchSink: "test_a_search_index_tells_no_content",
    ObjectStoreSink: "test_an_object_store_tells_no_content",
    DeltaSink: "test_a_lake_table_tells_no_content",
    FileSource: "test_a_file_source_tells_no_content",
    SqlSource: "test_a_table_tells_no_content",
    "KafkaSink": "test_a_sink_of_topics_tells_no_content",
    "stream": "test_a_stream_tells_no_content",
    Mirror: "test_a_mirror_tells_no_content",
}


def run(case: Case, caplog: Any, capfd: Any, *, log: bool, letters: bool) -> dict[str, bytes]:
    """Fail, and answer with what stands at each door."""
    world = case.world(log=log, letters=letters)
    with all_logs(caplog):
        assert case.run(world) is LeaseEnd.FAILED
    return world.doors.texts(caplog, capfd)


def found_in(doors: Mapping[str, bytes]) -> dict[str, list[bytes]]:
    """The doors at which a secret stands."""
    return {door: leaks(text) for door, text in doors.items() if leaks(text)}

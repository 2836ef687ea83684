"""What reads bytes of anybody's: each target takes any bytes, and raises only when something is wrong with us."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from engine.config.worker import StepConfig
from engine.errors import ConversionError
from engine.record.error_context_json import decode, encode
from engine.schemas import avro_reader, avro_schema, avro_writer, json_text
from engine.schemas.decoding import decode as decode_bytes
from engine.schemas.problems import Undecodable
from engine.schemas.registry import SchemaType
from engine.steps.registry import build_converter
from engine.steps.registry_converters.avro import AvroConverter
from engine.steps.registry_converters.converter import RegistryConverter
from engine.steps.registry_converters.json_schema import JsonSchemaConverter
from engine.steps.registry_converters.protobuf import ProtobufConverter
from tests.support.fake_schema_registry import FakeSchemaRegistry

Target = Callable[[bytes], None]
EXAMPLE_4 = Path(__file__).parents[1] / "engine" / "record" / "kip298" / "example4.json"

RECURSIVE = avro_schema.parse(
    '{"type":"record","name":"N","fields":[{"name":"v","type":["null","double","string",{"type":"map","values":"bytes"}]},'
    '{"name":"n","type":{"type":"array","items":"N"}}]}'
)
AVRO = (
    '{"type":"record","name":"R","fields":[{"name":"v","type":["null","double","string",{"type":"map","values":"bytes"}]},'
    '{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}]}'
)
JSON_SCHEMA = (
    '{"type":"object","properties":{"a":{"type":"array","items":{"oneOf":[{"type":"null"},{"type":"number"}]}}}}'
)
PROTO = 'syntax = "proto3"; message M { string s = 1; map<int64, bytes> m = 2; repeated double d = 3; }'

CONVERTERS: tuple[tuple[str, dict[str, str]], ...] = (
    ("JsonConverter", {"schemas.enable": "false"}),
    ("JsonConverter", {"schemas.enable": "true"}),
    ("StringConverter", {}),
    ("StringConverter", {"converter.encoding": "UTF-16"}),
    ("SimpleHeaderConverter", {}),
    ("ByteArrayConverter", {}),
    ("BooleanConverter", {}),
    ("ShortConverter", {}),
    ("IntegerConverter", {}),
    ("LongConverter", {}),
    ("FloatConverter", {}),
    ("DoubleConverter", {}),
)
SEEDS: tuple[bytes, ...] = (
    EXAMPLE_4.read_bytes(),
    b'{"schema":{"type":"struct","fields":[{"field":"a","type":"int32","optional":true}]},"payload":{"a":1}}',
    b'{"schema":{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}},"payload":"MTI="}',
    b'{"schema":{"type":"map","keys":{"type":"string"},"values":{"type":"double"}},"payload":{"a":1e400}}',
    b'{"schema":{"type":"array","items":{"type":"int64","name":"org.apache.kafka.connect.data.Timestamp"}},"payload":[1]}',
    b'[1,-0.0,1e5,"\\ud800",null,true,{"a":{"a":[]}}]',
    b'{"a":123456789012345678901234567890}',
    b'"2026-11-21T17:00:00.000Z"',
    b'{k:"v", "a": [1, 2.5, 1000-01-01], b: }',
    b"\xef\xbb\xbf[NaN]",
    "grüße, \u2028 \U0001f600".encode("utf-16"),
    b"\x00\x00\x00\x00\x00\x00\x00\x2a",
)


REGISTRY_CONVERTERS: tuple[tuple[type[RegistryConverter], SchemaType, str], ...] = (
    (AvroConverter, "AVRO", AVRO),
    (JsonSchemaConverter, "JSON", JSON_SCHEMA),
    (ProtobufConverter, "PROTOBUF", PROTO),
)


def targets() -> tuple[Target, ...]:
    """The reader of error contexts, then every converter."""
    return (
        read_context,
        decode_value,
        read_avro,
        *(_converter(name, options) for name, options in CONVERTERS),
        *(_registry_converter(*row) for row in REGISTRY_CONVERTERS),
    )


def read_context(data: bytes) -> None:
    """Whatever is read can be told apart from what is not, and written again."""
    found = decode(data)
    assert found.context is not None or found.problems
    if found.context is not None:
        encode(found.context, include_configs=True, include_messages=True, max_bytes=4096)


def decode_value(data: bytes) -> None:
    """Any bytes are decoded, or each decoder says why it can't."""
    found = decode_bytes(data, (), "value", None)
    assert found.result is not None or all(one.reason for one in found.attempts)


def read_avro(data: bytes) -> None:
    """A value that a recursive schema reads is written again, and means the same."""
    try:
        value = avro_reader.read(RECURSIVE, data)
    except Undecodable:
        return
    text = json_text.dump(value)
    again = avro_writer.write(RECURSIVE, json_text.parse(text))
    assert json_text.dump(avro_reader.read(RECURSIVE, again)) == text


def _converter(name: str, options: dict[str, str]) -> Target:
    converter = build_converter(StepConfig("value.converter", name, options), is_key=False)

    def convert(data: bytes) -> None:
        try:
            schema, value = converter.to_connect("t", data)
            converter.from_connect("t", schema, value)
        except ConversionError:
            return

    return convert


def _registry_converter(kind: type[RegistryConverter], type_: SchemaType, text: str) -> Target:
    """The bytes as they are, and behind the id of a schema."""
    registry = FakeSchemaRegistry()
    prefix = b"\0" + registry.add("t-value", type_, text).to_bytes(4, "big")
    converter = kind(lambda _: registry)  # type: ignore[arg-type,return-value] # the fake of the port
    converter.configure({"schema.registry.url": "http://registry"}, is_key=False)

    def convert(data: bytes) -> None:
        for one in (data, prefix + data):
            with suppress(ConversionError):
                schema, value = converter.to_connect("t", one)
                converter.from_connect("t", schema, value)

    return convert

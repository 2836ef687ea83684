"""The parts that converters of all formats share: ids, subjects, caches, errors of the registry and of the bytes."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.assembly.validation import validate
from engine.config.connector import parse_connector
from engine.config.masking import mask
from engine.config.properties import parse_properties
from engine.config.worker import StepConfig, parse_worker
from engine.errors import ConfigError, ConversionError, RetriableError
from engine.record.schema import Schema
from engine.schemas.problems import CredentialsRefused, RegistryUnavailable
from engine.steps import plugins
from engine.steps.registry import build_converter, step_problems, step_warnings
from engine.steps.registry_converters.avro import AvroConverter
from engine.steps.registry_converters.connection import registry_options
from engine.steps.registry_converters.json_schema import JsonSchemaConverter
from engine.steps.registry_converters.protobuf import ProtobufConverter
from engine.steps.secrets import secret_options
from tests.engine.steps.registry_converters.rig import converter, struct_of
from tests.support.fake_schema_registry import FakeSchemaRegistry
from tests.support.permissions import open_worker

ORDER = struct_of("shop.Order", id=Schema("INT64"))
OPTIONAL = Schema("STRING", optional=True)
FORMATS: list[Any] = [AvroConverter, JsonSchemaConverter, ProtobufConverter]


@pytest.fixture
def registry() -> FakeSchemaRegistry:
    return FakeSchemaRegistry()


@pytest.mark.parametrize("kind", FORMATS)
def test_a_value_begins_with_byte_0_and_the_id_of_its_schema(kind: Any, registry: FakeSchemaRegistry) -> None:
    registry.add("other", "AVRO", '"int"')
    data = converter(kind, registry).from_connect("orders", ORDER, {"id": 7})
    assert data[:5] == b"\0\0\0\0\2"


def test_a_schema_is_registered_once_however_many_records_and_objects_have_it(registry: FakeSchemaRegistry) -> None:
    made = converter(AvroConverter, registry)
    for number in range(5):
        schema = struct_of("shop.Order", id=Schema("INT64"))  # equal, but another object each time
        made.from_connect("orders", schema, {"id": number})
    assert [one for one in registry.asked if one != "close"] == ["register orders-value"]


def test_a_schema_is_fetched_once_however_many_records_name_it(registry: FakeSchemaRegistry) -> None:
    made = converter(AvroConverter, registry)
    data = made.from_connect("orders", ORDER, {"id": 7})
    registry.asked.clear()
    assert [made.to_connect("orders", data)[1] for _ in range(5)] == [{"id": 7}] * 5
    assert registry.asked == ["id 1", "subjects 1", "close"]


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        ("TopicNameStrategy", "orders-value"),
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", "shop.Order"),
        ("TopicRecordNameStrategy", "orders-shop.Order"),
    ],
)
@pytest.mark.parametrize("kind", FORMATS)
def test_a_strategy_names_the_subject(kind: Any, strategy: str, subject: str, registry: FakeSchemaRegistry) -> None:
    made = converter(kind, registry, value__subject__name__strategy=strategy)
    data = made.from_connect("orders", ORDER, {"id": 7})
    assert list(registry.versions) == [subject]
    schema, _ = made.to_connect("orders", data)
    assert schema is not None
    assert schema.version == 1


def test_keys_have_a_subject_and_a_strategy_of_their_own(registry: FakeSchemaRegistry) -> None:
    made = converter(AvroConverter, registry, is_key=True, value__subject__name__strategy="RecordNameStrategy")
    made.from_connect("orders", Schema("STRING"), "k")
    assert list(registry.versions) == ["orders-key"]


def test_a_record_name_strategy_refuses_a_schema_without_a_record(registry: FakeSchemaRegistry) -> None:
    made = converter(AvroConverter, registry, value__subject__name__strategy="RecordNameStrategy")
    with pytest.raises(ConversionError, match="the value's schema has no record name, which RecordNameStrategy needs"):
        made.from_connect("orders", Schema("STRING"), "x")


@pytest.mark.parametrize("kind", FORMATS)
def test_null_without_a_schema_is_null_and_nothing_is_registered(kind: Any, registry: FakeSchemaRegistry) -> None:
    made = converter(kind, registry)
    assert made.from_connect("orders", None, None) is None
    assert made.to_connect("orders", None) == (None, None)
    assert registry.asked == []


def test_null_with_an_optional_schema_is_null_in_avro_and_protobuf_and_json_null_in_json(
    registry: FakeSchemaRegistry,
) -> None:
    assert converter(AvroConverter, registry).from_connect("orders", OPTIONAL, None) is None
    assert converter(ProtobufConverter, registry).from_connect("orders", OPTIONAL, None) is None
    assert converter(JsonSchemaConverter, registry).from_connect("orders", OPTIONAL, None) == b"\0\0\0\0\1null"


@pytest.mark.parametrize("way", ["to", "from"])
def test_a_registry_that_is_away_is_retriable_and_asked_again(way: str, registry: FakeSchemaRegistry) -> None:
    data = converter(AvroConverter, registry).from_connect("orders", ORDER, {"id": 7})
    made = converter(AvroConverter, registry)

    def run() -> Any:
        if way == "to":
            return made.to_connect("orders", data)[1]
        return made.from_connect("orders", ORDER, {"id": 7})

    registry.failure = RegistryUnavailable("the registry can't be reached: connection refused")
    with pytest.raises(RetriableError, match="is not available: the registry can't be reached: connection refused"):
        run()
    registry.failure = None
    assert run() in ({"id": 7}, data)


def test_refused_credentials_stop_the_task(registry: FakeSchemaRegistry) -> None:
    registry.failure = CredentialsRefused("the registry refused the credentials (HTTP 401)")
    with pytest.raises(ConfigError, match=r"the registry refused the credentials \(HTTP 401\), when it was asked for"):
        converter(AvroConverter, registry).from_connect("orders", ORDER, {"id": 7})


def test_a_schema_that_the_registry_refuses_is_the_records_fault(registry: FakeSchemaRegistry) -> None:
    registry.refusal = "Schema being registered is incompatible with an earlier schema"
    with pytest.raises(ConversionError) as raised:
        converter(AvroConverter, registry).from_connect("orders", ORDER, {"id": 7})
    assert str(raised.value) == (
        "the registry refused the schema of subject orders-value: "
        "Schema being registered is incompatible with an earlier schema"
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{}", "the value names no schema: a schema id needs 5 bytes, and there are 2|byte 0 is 0x7b"),
        (b"", "the value names no schema: there are no bytes"),
        (b"\0\0\0\0\x63x", "the value names schema id 99, but the registry has no id 99"),
    ],
)
def test_bytes_that_name_no_known_schema_are_told(data: bytes, message: str, registry: FakeSchemaRegistry) -> None:
    with pytest.raises(ConversionError, match=message):
        converter(AvroConverter, registry).to_connect("orders", data)


def test_a_schema_of_another_format_is_told(registry: FakeSchemaRegistry) -> None:
    data = converter(JsonSchemaConverter, registry).from_connect("orders", ORDER, {"id": 7})
    with pytest.raises(ConversionError, match="a schema of the type JSON Schema, and this converter reads Avro"):
        converter(AvroConverter, registry).to_connect("orders", data)


def test_rules_of_a_data_contract_are_refused(registry: FakeSchemaRegistry) -> None:
    registry.add("orders-value", "AVRO", '"string"', has_rules=True)
    with pytest.raises(ConversionError, match="schema id 1 has the rules of a data contract, which are not run here"):
        converter(AvroConverter, registry).to_connect("orders", b"\0\0\0\0\1\2x")


def test_an_id_in_a_header_is_used(registry: FakeSchemaRegistry) -> None:
    registry.add("orders-value", "AVRO", '"string"')
    headers = (("__value_schema_id", b"\0\0\0\0\1"),)
    assert converter(AvroConverter, registry).to_connect("orders", b"\2x", headers)[1] == "x"


@pytest.mark.parametrize("kind", FORMATS)
@given(payload=st.binary(max_size=60))
def test_any_bytes_are_a_value_or_the_records_fault(kind: Any, payload: bytes) -> None:
    made, registry = _reader_of_everything(kind)
    number = max(registry.schemas)
    with contextlib.suppress(ConversionError):
        made.to_connect("orders", b"\0" + number.to_bytes(4, "big") + payload)


_EVERYTHING: dict[Any, tuple[Any, FakeSchemaRegistry]] = {}


def _reader_of_everything(kind: Any) -> tuple[Any, FakeSchemaRegistry]:
    if kind not in _EVERYTHING:
        registry = FakeSchemaRegistry()
        made = converter(kind, registry)
        text = Schema("STRING")
        schema = struct_of(
            "All",
            flag=Schema("BOOLEAN"),
            number=Schema("INT32", optional=True),
            real=Schema("FLOAT32"),
            words=Schema("ARRAY", items=text),
            counts=Schema("MAP", keys=Schema("INT64"), items=text),
            raw=Schema("BYTES"),
        )
        value: dict[str, Any] = {"flag": True, "number": None, "real": 0.5, "words": [], "counts": {}, "raw": b""}
        made.from_connect("orders", schema, value)
        _EVERYTHING[kind] = made, registry
    return _EVERYTHING[kind]


def test_lookup_finds_a_registered_schema_and_refuses_another(registry: FakeSchemaRegistry) -> None:
    made = converter(AvroConverter, registry, auto__register__schemas="false", normalize__schemas="true")
    with pytest.raises(ConversionError, match="no schema like the record's under subject orders-value; register it"):
        made.from_connect("orders", ORDER, {"id": 7})
    converter(AvroConverter, registry).from_connect("orders", ORDER, {"id": 7})
    assert made.from_connect("orders", ORDER, {"id": 7}) == b"\0\0\0\0\1\x0e"
    assert "lookup orders-value normalized" in registry.asked


LATEST: dict[str, Any] = {"auto__register__schemas": "false", "use__latest__version": "true"}
NEWER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "note", "type": "string", "default": "-"}, {"name": "id", "type": ["null", "long"]}],
}


def test_the_newest_schema_is_written_with_its_defaults(registry: FakeSchemaRegistry) -> None:
    registry.add("orders-value", "AVRO", '"string"')
    registry.add("orders-value", "AVRO", json.dumps(NEWER))
    data = converter(AvroConverter, registry, **LATEST).from_connect("orders", ORDER, {"id": 7})
    assert data == b"\0\0\0\0\2" + b"\2-" + b"\2\x0e"


def test_a_newest_schema_that_can_not_read_the_record_is_told(registry: FakeSchemaRegistry) -> None:
    fields = [*NEWER["fields"], {"name": "city", "type": "string"}]
    registry.add("orders-value", "AVRO", json.dumps({**NEWER, "fields": fields}))
    with pytest.raises(ConversionError) as raised:
        converter(AvroConverter, registry, **LATEST).from_connect("orders", ORDER, {"id": 7})
    assert str(raised.value) == (
        "the newest schema of subject orders-value can't read the record's schema: the field city is missing, and the "
        "schema has no default; set latest.compatibility.strict=false to write what fits"
    )


def test_a_fixed_schema_id_is_written(registry: FakeSchemaRegistry) -> None:
    registry.add("anything", "AVRO", json.dumps(NEWER))
    made = converter(AvroConverter, registry, auto__register__schemas="false", use__schema__id="1")
    assert made.from_connect("orders", ORDER, {"id": 7}) == b"\0\0\0\0\1\2-\2\x0e"


def test_a_newest_json_schema_validates_each_value(registry: FakeSchemaRegistry) -> None:
    row = {"type": "object", "properties": {"id": {"type": "integer", "maximum": 9}}}
    registry.add("orders-value", "JSON", json.dumps(row))
    made = converter(JsonSchemaConverter, registry, **LATEST)
    assert made.from_connect("orders", ORDER, {"id": 7}) == b'\0\0\0\0\1{"id":7}'
    with pytest.raises(ConversionError, match="the value does not fit its JSON Schema at id: "):
        made.from_connect("orders", ORDER, {"id": 10})


def test_a_newest_protobuf_schema_is_written_by_the_names_of_fields(registry: FakeSchemaRegistry) -> None:
    text = 'syntax = "proto3"; package shop; message Other {} message Order { string note = 1; int64 id = 5; }'
    registry.add("orders-value", "PROTOBUF", text)
    made = converter(ProtobufConverter, registry, **LATEST)
    assert made.from_connect("orders", ORDER, {"id": 7}) == b"\0\0\0\0\1" + b"\2\2" + b"\x28\7"
    with pytest.raises(ConversionError, match=r"the field more is not in the message shop\.Order"):
        made.from_connect("orders", struct_of("shop.Order", more=Schema("INT64")), {"more": 1})


URL = "http://registry:8081"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "schema.registry.url: is required"),
        ({"schema.registry.url": "registry:8081"}, "must begin with http:// or https://"),
        ({"schema.registry.url": URL, "use.latest.version": "true"}, "set auto.register.schemas=false too"),
        (
            {"schema.registry.url": URL, "basic.auth.user.info": "a:b"},
            "set basic.auth.credentials.source=USER_INFO",
        ),
        (
            {"schema.registry.url": URL, "basic.auth.credentials.source": "SASL_INHERIT"},
            "one of URL, USER_INFO",
        ),
        ({"schema.registry.url": URL, "rule.executors": "x"}, "is not supported: rules of data contracts"),
        ({"schema.registry.url": URL, "value.subject.name.strategy": "MyStrategy"}, "must be one of TopicNameStrategy"),
        ({"schema.registry.url": URL, "generalized.sum.type.support": "true"}, "must be false"),
        ({"schema.registry.url": URL, "request.header.X-Id": "1"}, "is not supported: requests have only"),
        ({"schema.registry.url": URL, "schema.registry.ssl.truststore.location": "/t.jks"}, "must be PEM"),
        ({"schema.registry.url": URL, "auto.registr.schemas": "true"}, "did you mean auto.register.schemas?"),
    ],
)
def test_options_that_do_not_work_are_told(options: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        build_converter(StepConfig("value.converter", "AvroConverter", options), is_key=False)
    assert problem in str(raised.value)


def connector(**options: str) -> Any:
    return parse_connector(
        {"name": "c", "connector.class": "FileStreamSink", "topics": "t", "file": "/f"}
        | {name.replace("__", "."): value for name, value in options.items()}
    )


AVRO = "io.confluent.connect.avro.AvroConverter"


def test_it_is_no_header_converter() -> None:
    config = connector(header__converter=AVRO, header__converter__schema__registry__url=URL)
    assert step_problems(config) == [
        ("header.converter", AVRO, "is not a header converter; use it for keys and values")
    ]


def test_options_without_effect_have_warnings() -> None:
    config = connector(
        value__converter=AVRO,
        value__converter__schema__registry__url=URL,
        value__converter__schemas__enable="true",
        value__converter__max__retries="5",
        value__converter__decimal__format="NUMERIC",
    )
    assert step_problems(config) == []
    assert [(name, text[:13]) for name, _, text in step_warnings(config)] == [
        ("value.converter.max.retries", "has no effect"),
        ("value.converter.schemas.enable", "has no effect"),
        ("value.converter.decimal.format", "has no effect"),
    ]


def test_secrets_are_masked_and_not_in_the_address() -> None:
    options = {
        "schema.registry.url": "http://jane:pw@registry:8081",
        "basic.auth.user.info": "jane:pw",
        "bearer.auth.token": "tkn",
        "bearer.auth.client.secret": "shh",
    }
    shown = mask(options, secret_options(plugins.CONVERTERS, StepConfig("value.converter", AVRO, options)))
    assert not any(word in str(shown) for word in ("pw", "tkn", "shh"))
    made = AvroConverter()
    made.configure({"schema.registry.url": "http://jane:p%40w@one:1, http://two:2"}, is_key=False)
    found = registry_options(made._values)
    assert (found.url, found.auth, found.user, found.secret) == ("http://one:1,http://two:2", "basic", "jane", "p@w")
    assert "p@w" not in repr(found)


def test_the_connector_of_the_how_to_has_neither_problems_nor_warnings() -> None:
    page = Path("docs/how-to/use-registry-converters.md").read_text()
    block = page.split("```properties\n")[1].split("```")[0]
    given = {name: "jane:pw" if value.startswith("${") else value for name, value in parse_properties(block).items()}
    plan = validate(given, open_worker())
    assert plan.warnings == ()


def test_stores_of_a_registry_need_the_directory_of_connectors_files() -> None:
    options = {"name": "c", "connector.class": "FileStreamSink", "topics": "t", "file": "/f", "value.converter": AVRO}
    at = "value.converter.schema.registry."
    store = {f"{at}url": URL, f"{at}ssl.truststore.location": "/etc/ca.pem", f"{at}ssl.truststore.type": "PEM"}
    with pytest.raises(ConfigError) as raised:
        validate({**options, **store}, parse_worker({}))
    assert f"{at}ssl.truststore.location: file access is disabled" in str(raised.value)


def test_schemas_with_the_same_text_keep_their_own_defaults(registry: FakeSchemaRegistry) -> None:
    made = converter(ProtobufConverter, registry)
    one, two = (struct_of("A", x=Schema("INT32", optional=True, default=number)) for number in (1, 2))
    assert [made.from_connect("t", schema, {"x": None})[-1] for schema in (one, two, one)] == [1, 2, 1]
    assert [request for request in registry.asked if request != "close"] == ["register t-value"]

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from engine.record.context import ErrorContext
from engine.record.error_context_json import ErrorContextEncoder, decode, encode
from engine.record.record import RawRecord, Record
from engine.record.schema import BYTES, STRING, Schema
from engine.record.stage import Stage, StageType

ROOT = Path(__file__).parents[3]
EXAMPLE_4 = (Path(__file__).parent / "kip298" / "example4.json").read_bytes()
VALIDATOR = Draft202012Validator(json.loads((ROOT / "docs" / "error-context.schema.json").read_text()))

RAW = RawRecord("t", 1, 2, 3, "CREATE_TIME", b'{"id":1}', b'{"a: 10}', (("h", b"1"), ("h", b"\xff"), ("h", None)))
RECORD = Record(
    "t", 1, 3, {"id": 1}, RAW.value, Schema("STRUCT", optional=True), BYTES,
    (("h", STRING, "1"), ("h", BYTES, b"\xff"), ("h", None, None)), 2, raw=RAW,
)  # fmt: skip
STAGES = (
    Stage(StageType.KEY_CONVERTER, "JsonConverter", {"schemas.enable": "false"}),
    Stage(StageType.VALUE_CONVERTER, "JsonConverter", {"schemas.enable": "false"}),
)
CONTEXT = ErrorContext(
    record=RECORD, original=RAW, stages=STAGES, index=1, exception="a.B: m\n  at a/b.py:f:1\nCaused by: c.D: n",
    exception_class="a.B", message="m", root_class="c.D", root_message="n", attempt=10, task_id="my-connector-1",
    connector="my-connector", time_of_error=1526518715403, first_failure_time=1526518715000, elapsed_ms=403,
)  # fmt: skip


def encoded(context: ErrorContext = CONTEXT, **options: Any) -> bytes:
    return encode(context, **{"include_configs": True, "include_messages": True, **options})


def test_kip_298_example_4_is_read_whole() -> None:
    found = decode(EXAMPLE_4)
    assert found.problems == ()
    context = found.context
    assert context is not None
    assert context.record is not None
    assert (context.record.key, context.record.value) == ({"id": 1012}, b'{"a: 10}')
    assert (context.record.topic, context.record.partition, context.record.offset) == ("connect-test", 7, 918264)
    assert (context.attempt, context.task_id, context.connector) == (10, "my-connector-1", "my-connector")
    assert context.stage.type is StageType.VALUE_CONVERTER
    assert [stage.type for stage in context.stages][2:] == [StageType.TRANSFORMATION, StageType.TASK_PUT]
    assert context.stages[3].config["tasks.max"] == "1"
    assert context.exception_class == "org.apache.kafka.connect.errors.DataException"


def test_kip_298_example_4_round_trips_through_our_form() -> None:
    context = decode(EXAMPLE_4).context
    assert context is not None
    assert decode(encoded(context)).context == context


def test_our_context_round_trips() -> None:
    assert decode(encoded()).context == CONTEXT


def test_the_name_of_a_stage_round_trips_and_a_stage_without_one_has_no_field() -> None:
    named = Stage(StageType.PROCESSOR, "__main__.<lambda>", {}, "parse")
    context = msgspec.structs.replace(CONTEXT, stages=(named, STAGES[1]))
    body = orjson.loads(encoded(context))
    assert [stage.get("name") for stage in body["stages"]] == ["parse", None]
    assert decode(encoded(context)).context == context


def test_a_record_that_still_is_the_original_is_written_once() -> None:
    headers = tuple((name, BYTES, value) for name, value in RAW.headers)
    record = Record("t", 1, 3, RAW.key, RAW.value, BYTES, BYTES, headers, 2, raw=RAW)
    data = encoded(msgspec.structs.replace(CONTEXT, record=record))
    assert "original_record" not in orjson.loads(data)
    found = decode(data).context
    assert found is not None
    assert found.original == RAW


@pytest.mark.parametrize(
    "changed",
    [
        {"key": b"other"}, {"key": None}, {"key": "1"}, {"value": {"a": 10}}, {"value": RAW.value and RAW.value[:-1]},
        {"topic": "routed"}, {"partition": 2}, {"partition": None}, {"offset": 3}, {"offset": None}, {"timestamp": 4},
        {"timestamp_type": "LOG_APPEND_TIME"}, {"headers": ()}, {"headers": (("h", BYTES, b"1"),)},
        {"headers": (("h", STRING, "1"), ("h", BYTES, b"\xff"), ("h", None, None))},
    ],
)  # fmt: skip
def test_a_record_that_differs_anywhere_is_written_beside_the_original(changed: dict[str, Any]) -> None:
    headers = tuple((name, BYTES, value) for name, value in RAW.headers)
    record = Record("t", 1, 3, RAW.key, RAW.value, BYTES, BYTES, headers, 2, raw=RAW)
    record = msgspec.structs.replace(record, **changed)
    found = decode(encoded(msgspec.structs.replace(CONTEXT, record=record))).context
    assert found is not None
    assert found.original == RAW


def test_a_record_without_headers_is_not_the_original_that_has_some() -> None:
    bare = msgspec.structs.replace(RAW, headers=())
    record = Record("t", 1, 3, RAW.key, RAW.value, BYTES, BYTES, (("h", BYTES, b"1"),), 2, raw=bare)
    body = orjson.loads(encoded(msgspec.structs.replace(CONTEXT, record=record, original=bare)))
    assert body["original_record"]["headers"] == []
    none = msgspec.structs.replace(record, headers=())
    body = orjson.loads(encoded(msgspec.structs.replace(CONTEXT, record=none, original=bare)))
    assert (body["record"]["headers"], "original_record" in body) == ([], False)


def test_a_changed_topic_keeps_the_consumed_coordinates() -> None:
    record = msgspec.structs.replace(RECORD, topic="routed")
    found = decode(encoded(msgspec.structs.replace(CONTEXT, record=record))).context
    assert found is not None
    assert found.original is not None
    assert found.original.topic == "t"


@pytest.mark.parametrize("data", [encoded(), EXAMPLE_4, encode(CONTEXT), encoded(max_bytes=900)])
def test_every_context_fits_the_published_schema(data: bytes) -> None:
    assert list(VALIDATOR.iter_errors(json.loads(data))) == []


def test_an_encoder_writes_the_stages_of_each_context() -> None:
    encoder = ErrorContextEncoder(include_configs=True, include_messages=True)
    others = (Stage(StageType.TASK_PUT, "Sink", {"a": "b"}),)
    contexts = [CONTEXT, msgspec.structs.replace(CONTEXT, stages=others, index=0), CONTEXT]
    assert [decode(encoder.encode(context)).context for context in contexts] == contexts


def test_a_context_that_was_shortened_leaves_the_next_one_whole() -> None:
    encoder = ErrorContextEncoder(include_configs=True, include_messages=True)
    assert decode(encoder.encode(CONTEXT, 900)).truncated is not None
    assert decode(encoder.encode(CONTEXT)).context == CONTEXT


def test_a_text_of_a_class_of_its_own_is_written_as_text() -> None:
    class Name(str):
        __slots__ = ()

    record = msgspec.structs.replace(RECORD, topic=Name("t"), value=Name("v"))
    found = decode(encoded(msgspec.structs.replace(CONTEXT, record=record))).context
    assert found is not None
    assert found.record is not None
    assert (found.record.topic, found.record.value) == ("t", "v")


def test_messages_appear_only_when_included() -> None:
    body = orjson.loads(encode(CONTEXT, include_configs=True, include_messages=False))
    assert not {"key", "value", "headers"} & (body["record"].keys() | body["original_record"].keys())
    assert body["record"]["offset"] == 2


def test_configs_appear_only_when_included() -> None:
    body = orjson.loads(encode(CONTEXT, include_configs=False, include_messages=True))
    assert all("config" not in stage for stage in body["stages"])


def test_too_large_drops_record_then_configs_then_trace_then_the_bytes() -> None:
    big = RawRecord("t", 1, 2, 3, "CREATE_TIME", b"k", b"v" * 20_000)
    stages = (Stage(StageType.TASK_PUT, "Sink", {"note": "c" * 30_000}),)
    context = msgspec.structs.replace(
        CONTEXT, original=big, record=msgspec.structs.replace(RECORD, value={"v": "v" * 50_000}, raw=big),
        stages=stages, index=0, exception="e" * 40_000,
    )  # fmt: skip
    steps = {size: decode(encoded(context, max_bytes=size)) for size in (10**6, 110_000, 80_000, 40_000, 9_000)}
    assert [found.truncated for found in steps.values()] == [None, "record", "configs", "trace", "pointer"]
    assert all(found.context is not None and found.context.original == big for found in list(steps.values())[:-1])
    pointer = steps[9_000].fields["original_record"]
    assert (pointer["offset"], pointer["value_size"], len(pointer["value_sha256"])) == (2, 20_000, 64)


@given(size=st.integers(0, 100_000), stages=st.integers(1, 60), character=st.sampled_from("aé\0"))
def test_no_context_stays_above_16_kb_when_it_must_not(size: int, stages: int, character: str) -> None:
    text = character * size
    context = msgspec.structs.replace(
        CONTEXT, exception=text, message=text, root_message=text, handler=text,
        stages=(Stage(StageType.TASK_PUT, text[:5000], {"a": text[:5000]}, text[:5000]),) * stages, index=0,
    )  # fmt: skip
    assert len(encoded(context, max_bytes=16_384)) <= 16_384


@given(st.binary(max_size=200))
def test_decode_never_raises_on_any_bytes(data: bytes) -> None:
    found = decode(data)
    assert found.context is not None or found.problems


PARTS = ["schema", "value", "object", "type", "class", "config", "key", "topic"]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53) | st.text(max_size=5) | st.sampled_from(["STRUCT", "{"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(PARTS), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
NAMES = [*orjson.loads(encoded(max_bytes=900)), "headers", "unknown"]


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=12))
def test_decode_never_raises_on_any_object(body: dict[str, Any]) -> None:
    found = decode(orjson.dumps(body))
    assert found.context is None or found.context.stage is not None


@given(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text() | st.binary()
    | st.dictionaries(st.text(), st.integers(-100, 100) | st.text(), max_size=4)
)  # fmt: skip
def test_any_value_comes_back(value: Any) -> None:
    record = Record("t", 0, 0, None, value, raw=RAW)
    found = decode(encoded(msgspec.structs.replace(CONTEXT, record=record))).context
    assert found is not None
    assert found.record is not None
    assert found.record.value == value


@pytest.mark.parametrize("value", [2**70, float("nan"), "\ud800", {"a": {1, 2}}, {"x": object()}, {1: b"\xff"}])
def test_no_value_is_too_odd_to_be_written(value: Any) -> None:
    assert decode(encoded(msgspec.structs.replace(CONTEXT, record=Record("t", 0, 0, None, value)))).context is not None


def test_a_circular_value_is_written_as_a_note() -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    assert b"can't be written as JSON" in encoded(
        msgspec.structs.replace(CONTEXT, record=Record("t", 0, 0, None, circle))
    )


def test_task_pull_is_read_as_task_poll() -> None:
    data = encoded().replace(b'"VALUE_CONVERTER"', b'"TASK_PULL"')
    found = decode(data).context
    assert found is not None
    assert found.stage.type is StageType.TASK_POLL


def test_headers_as_one_schema_and_value_are_read() -> None:
    body = orjson.loads(EXAMPLE_4)
    body["record"]["headers"] = {"schema": "STRING", "value": "x"}
    found = decode(orjson.dumps(body))
    assert found.problems == ()
    assert found.context is not None
    assert found.context.record is not None
    assert [row[2] for row in found.context.record.headers] == ["x"]


def test_an_index_that_points_nowhere_is_a_problem_and_an_unknown_stage() -> None:
    found = decode(orjson.dumps(orjson.loads(EXAMPLE_4) | {"index": 99, "version": 77}))
    assert found.problems == ("index 99 is out of range for 4 stages",)
    assert found.version == 77
    assert found.context is not None
    assert found.context.stage.type is StageType.UNKNOWN


def test_the_codec_loads_neither_spark_nor_kafka_nor_the_pipeline() -> None:
    unwanted = {"pyspark", "confluent_kafka", "engine.pipeline"}
    code = f"import sys, engine.record.error_context_json; print({unwanted} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"

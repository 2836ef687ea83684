"""Records through the stages of a connector, one after the other, as its tasks compile them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from engine.errors import BadRequest, ConfigError
from engine.rehearsal.fence import ProcessFence
from engine.rehearsal.rehearse import rehearse
from engine.rehearsal.rows import ConsumedRecord, PolledRecord, RehearsalRequest, TypedValue
from tests.support.permissions import CLASSES

Install = Callable[..., None]
TRANSFORMS = "org.apache.kafka.connect.transforms"
PLAIN = {"name": "c", "connector.class": "FileStreamSink", "topics": "t", "value.converter.schemas.enable": "false"}
CAST = {"transforms": "cast", "transforms.cast.type": f"{TRANSFORMS}.Cast$Value", "transforms.cast.spec": "mag:float64"}
SQL = {"connector.class": "SqlSink", "connection.url": "postgresql://u:********@h/d", "table.name": "quakes"}
SOURCE = {"name": "s", "connector.class": "FileStreamSource", "file": "/tmp/x", "topic": "lines"}
STRINGS = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}


def of(config: dict[str, str], *values: bytes | None, **more: Any) -> list[dict[str, Any]]:
    """The rows that the rehearsal tells."""
    records = tuple(ConsumedRecord(**{"topic": "t", "key": b"k", "value": value} | more) for value in values)
    return list(rehearse(RehearsalRequest(PLAIN | config, records, worker=CLASSES), ProcessFence()))


def one(config: dict[str, str], value: bytes | None = b'{"mag": "1.5"}', **more: Any) -> list[dict[str, Any]]:
    """The stages of one record."""
    stages: list[dict[str, Any]] = of(config, value, **more)[-1]["stages"]
    return stages


def states(stages: list[dict[str, Any]]) -> list[str]:
    return [stage["state"] for stage in stages]


def text(stage: dict[str, Any], part: str = "value") -> Any:
    return stage["after"][part]["value"]


def test_each_stage_tells_what_it_made_of_the_record() -> None:
    key, value, headers, cast, put = one(CAST, headers=(("h", b"1"),))
    assert (text(key, "key"), json.loads(text(value)), json.loads(text(cast))) == ("k", {"mag": "1.5"}, {"mag": 1.5})
    assert headers["after"]["headers"] == [{"name": "h", "schema": "INT8", "value": "1", "base64": False, "cut": False}]
    assert put == {"state": "not_rehearsable", "note": "FileStreamSink would write to a file"}


def test_the_stages_have_the_names_of_the_configuration() -> None:
    head = of(CAST)[0]
    assert head["kind"] == "sink"
    assert [stage["name"] for stage in head["stages"]] == ["", "", "", "cast", ""]


def test_a_converter_that_fails_says_so_as_the_error_context_would() -> None:
    key, value, *rest = one(CAST, b'{"mag"')
    assert (key["state"], value["state"], states(rest)) == ("ok", "failed", ["not_reached"] * 3)
    assert value["exception_class"] == "engine.errors.ConversionError"
    assert value["message"].startswith("the data is not valid JSON (6 bytes)")


def test_a_transform_that_fails_leaves_the_rest_unreached() -> None:
    stages = one(CAST, b'{"mag": "strong"}')
    assert states(stages) == ["ok", "ok", "ok", "failed", "not_reached"]
    assert "strong" in stages[3]["message"]


FILTER = {"transforms": "drop", "transforms.drop.type": f"{TRANSFORMS}.Filter"}


def test_a_record_that_is_left_out_does_not_reach_the_sink() -> None:
    assert states(one(FILTER)) == ["ok", "ok", "ok", "filtered", "not_reached"]


TOMBSTONES = {
    "predicates": "null",
    "predicates.null.type": f"{TRANSFORMS}.predicates.RecordIsTombstone",
    "transforms.drop.predicate": "null",
}


def test_a_predicate_that_does_not_hold_skips_its_transform() -> None:
    stages = one({**FILTER, **TOMBSTONES})
    assert stages[3] == {"state": "skipped", "predicate": "null"}
    assert stages[4]["state"] == "not_rehearsable"


def test_a_predicate_that_holds_is_named_with_the_transform_that_it_lets_work() -> None:
    assert one({**FILTER, **TOMBSTONES}, None)[3] == {"state": "filtered", "predicate": "null"}


def test_one_record_knows_nothing_of_the_one_before() -> None:
    rows = of({**FILTER, **TOMBSTONES}, None, b"{}", None)
    assert [row["stages"][3]["state"] for row in rows if "stages" in row and "record" in row] == [
        "filtered", "skipped", "filtered",
    ]  # fmt: skip


def test_before_each_step_it_tells_where_it_is() -> None:
    assert [row["at"] for row in of(CAST, b"{}", b"{}") if "at" in row] == [[0, 2], [0, 3], [1, 2], [1, 3]]


def test_a_row_is_mapped_without_its_database() -> None:
    put = one({**SQL, "pk.mode": "record_key", "pk.fields": "id", "fields.whitelist": "mag"}, b'{"mag": 1, "x": 2}')[-1]
    off = "SqlSink would write to a database, and rehearsal.put.enabled is false"
    assert (put["state"], put["note"]) == ("not_rehearsable", off)
    assert json.loads(text(put)) == {"mag": 1, "id": "k"}


def test_a_record_for_a_rehearsed_put_is_told_as_the_sink_would_get_it() -> None:
    allowed = {**SQL, **CAST, "rehearsal.put.enabled": "true"}
    good, broken, shapeless = (row for row in of(allowed, b'{"mag": "1"}', b'{"mag": "x"}', b"[1]") if "record" in row)
    assert good["put"] == {"key": "k", "value": {"map": [["mag", 1.0]]}}
    assert good["stages"][-1]["note"] == "SqlSink would write to a database"
    assert broken["put"] is shapeless["put"] is None
    assert of(SQL, b"{}")[-1]["put"] is None


def test_a_record_that_can_not_be_sent_to_the_engine_says_so() -> None:
    row = of({**SQL, "rehearsal.put.enabled": "true"}, b'{"a": "\\ud800"}')[-1]
    assert row["put"] is None
    assert "can't be sent to the engine" in row["stages"][-1]["note"]


def test_what_no_table_would_take_fails() -> None:
    put = one(SQL, b"[1]")[-1]
    assert (put["state"], put["message"]) == ("failed", "the record value must have fields, but its type is list")


def test_a_secret_that_is_not_known_hinders_only_the_step_that_has_it(install: Install) -> None:
    install("secretive", FOREIGN, transforms__Secretive="secretive:Same")
    config = {**CAST, "transforms": "cast,s", "transforms.s.type": "Secretive", "transforms.s.password": "********"}
    stages = one(config)
    assert states(stages) == ["ok", "ok", "ok", "ok", "not_rehearsable", "not_reached"]
    assert stages[4]["note"] == "transforms.s.password is a secret, whose value is not available to rehearsals"


def test_what_a_config_provider_would_look_up_is_not_looked_up() -> None:
    stages = one(CAST | {"transforms.cast.spec": "${file:/etc/specs:mag}"})
    assert stages[3]["note"] == "transforms.cast.spec needs a config provider, which rehearsals can't use"
    stages = one({"value.converter.decimal.format": "${env:FORMAT}"})
    assert states(stages) == ["not_rehearsable", *["not_reached"] * 3]


FOREIGN = """
class Same:
    def configure(self, configs): self.configs = configs
    def apply(self, record): return record
class Grumpy(Same):
    def apply(self, record): raise KeyError("mag")
class Mistaken(Same):
    def apply(self, record): return "text"
"""


@pytest.mark.parametrize(
    ("name", "message"), [("Grumpy", "'mag'"), ("Mistaken", "Mistaken returned a str, not a record or None")]
)
def test_a_transform_of_somebody_else_is_found_by_its_entry_point(install: Install, name: str, message: str) -> None:
    install("foreign", FOREIGN, **{f"transforms__{name}": f"foreign:{name}"})
    stage = one({"transforms": "x", "transforms.x.type": name})[3]
    assert (stage["state"], stage["message"]) == ("failed", message)


def test_long_values_are_cut_and_bytes_that_are_no_text_are_base64() -> None:
    raw = {"value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"}
    records = (
        ConsumedRecord(topic="t", key=b"k", value=b"x" * 100),
        ConsumedRecord(topic="t", key=b"k", value=b"\xff"),
    )
    rows = list(rehearse(RehearsalRequest(PLAIN | raw, records, shown=10), ProcessFence()))
    first, second = (row["stages"][1]["after"]["value"] for row in rows if "record" in row)
    assert first == {"schema": "BYTES", "value": "x" * 10, "base64": False, "cut": True}
    assert second == {"schema": "BYTES", "value": "/w==", "base64": True, "cut": False}


def test_a_copier_of_topics_goes_on_to_what_it_would_write() -> None:
    stages = one({"connector.class": "KafkaSink", "topic": "other", **CAST})
    assert states(stages[:-1]) == ["ok"] * (len(stages) - 1)
    assert stages[-1]["note"] == "KafkaSink would write to Kafka"
    assert json.loads(text(stages[4])) == {"mag": 1.5}


STREAM = {
    "connector.class": "stream", "processors": "a", "processors.a.type": "tests.broker.processors.Through",
    "sinks": "out", "sinks.out.topic": "o", "sinks.out.parents": "a",
}  # fmt: skip


def test_processors_are_not_rehearsed() -> None:
    stages = one(STREAM)
    assert states(stages)[:3] == ["ok", "ok", "not_rehearsable"]
    assert set(states(stages)[3:]) == {"not_reached"}


def test_a_mirror_is_not_rehearsed() -> None:
    mirror = {
        "name": "m", "connector.class": "mirror", "topics": "t",
        "source.cluster.alias": "a", "target.cluster.alias": "b",
        "source.cluster.bootstrap.servers": "h:1",
    }  # fmt: skip
    with pytest.raises(BadRequest, match="the connector is a source, which has no Kafka records"):
        list(rehearse(RehearsalRequest(mirror, (ConsumedRecord("t", None, None),)), ProcessFence()))


def polled(config: dict[str, str], given: PolledRecord) -> dict[str, Any]:
    return list(rehearse(RehearsalRequest(SOURCE | config, polled=(given,)), ProcessFence()))[-1]


HOIST = {"transforms": "a,b", "transforms.a.type": f"{TRANSFORMS}.HoistField$Value", "transforms.a.field": "line"}
ROUTE = {
    "transforms.b.type": f"{TRANSFORMS}.RegexRouter", "transforms.b.regex": "(.*)", "transforms.b.replacement": "x-$1",
}  # fmt: skip
PLAIN_JSON = {"value.converter.schemas.enable": "false"}


def test_a_source_goes_on_where_its_record_failed() -> None:
    row = polled(
        {**HOIST, **ROUTE, **PLAIN_JSON}, PolledRecord("lines", 2, value=TypedValue("STRUCT", '{"line": "x"}'))
    )
    assert states(row["stages"]) == ["before", "before", "ok", "ok", "ok", "ok", "not_rehearsable"]
    assert row["produced"] == {
        "topic": "x-lines", "partition": None, "key": None, "value": "eyJsaW5lIjoieCJ9", "headers": [],
    }  # fmt: skip


def test_a_key_that_was_written_already_is_not_written_again() -> None:
    given = PolledRecord("lines", 3, key=TypedValue("BYTES", "aw=="), value=TypedValue("STRING", "x"))
    row = polled({**STRINGS, **HOIST, "transforms": "a"}, given)
    assert (row["produced"]["key"], row["produced"]["value"]) == ("aw==", "eA==")


def test_a_schema_that_the_dead_letter_does_not_hold_is_not_made_up() -> None:
    row = polled(HOIST | {"transforms": "a"}, PolledRecord("lines", 1, value=TypedValue("STRING", "x")))
    assert row["produced"] is None
    assert (
        row["stages"][2]["note"] == "value.converter writes the record's schema, which its dead letter does not contain"
    )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (PolledRecord("t", 1, value=TypedValue("INT64", "x")), "the value is not a valid INT64"),
        (PolledRecord("t", 1, value=TypedValue("PRICE", "x")), "unknown type PRICE"),
        (PolledRecord("t", 99, value=TypedValue("STRING", "x")), "stage 99 does not exist"),
    ],
)
def test_a_record_of_a_source_that_makes_no_sense_is_refused(given: PolledRecord, why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        polled(STRINGS, given)


def test_a_configuration_that_cannot_be_used_is_an_error() -> None:
    with pytest.raises(ConfigError, match="is not a known class"):
        one({"transforms": "x", "transforms.x.type": "Nobody"})

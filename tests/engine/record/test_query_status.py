from typing import Any

import msgspec
import orjson
import pytest

from engine.record.query_status import QueryStage, QueryState, QueryStatus, decode, encode, query_key, query_name

T = 1_795_230_750_000
STATUS = QueryStatus(
    name="orders-to-lake",
    state=QueryState.RUNNING,
    time=T,
    run="5f0c",
    started=T - 60_000,
    every_ms=10_000,
    is_stream=True,
    batch=17,
    topics=("orders",),
    dlq_topic="orders.dlq",
    lag=3,
    metrics={"records-consumed": 9, "records-dead-lettered": 2},
    good=6,
    filtered=1,
    stages=(QueryStage(0, "TRANSFORMATION", "parse_order", "parse"),),
    stage_failures={"0:TRANSFORMATION:parse_order": 2},
    tolerance={"limit": 100, "used": 2, "rate_limit": -1, "rate_used": 0},
    last_failure=T - 1,
    options={"errors.tolerance.limit": "100"},
    worker_id="10.0.0.7",
)


def test_a_status_is_read_as_it_was_written() -> None:
    assert decode(encode(STATUS)) == STATUS
    assert query_name(STATUS.key) == "orders-to-lake"


def test_the_record_has_the_names_of_the_contract() -> None:
    document = orjson.loads(encode(STATUS))
    assert document["kind"] == "query"
    assert document["state"] == "RUNNING"
    assert document["trace"] is None
    assert document["stages"] == [{"index": 0, "type": "TRANSFORMATION", "class": "parse_order", "name": "parse"}]


@pytest.mark.parametrize("value", [b"", b"null", b"[]", b"{", b"\xff", b'{"name": "a"}', b'{"name": "a", "time": 1}'])
def test_a_value_that_is_no_status_is_none(value: bytes) -> None:
    assert decode(value) is None


@pytest.mark.parametrize(
    ("field", "wrong", "default"),
    [
        ("metrics", {"records-consumed": "many"}, {}),
        ("stages", [{"index": 0}], ()),
        ("lag", "none", None),
        ("every_ms", 1.5, 0),
        ("topics", "orders", ()),
    ],
)
def test_an_unusable_field_has_its_default_and_the_others_stay(field: str, wrong: Any, default: Any) -> None:
    document = {**orjson.loads(encode(STATUS)), field: wrong}
    assert decode(orjson.dumps(document)) == msgspec.structs.replace(STATUS, **{field: default})


def test_fields_of_a_newer_engine_are_ignored() -> None:
    assert decode(orjson.dumps({**orjson.loads(encode(STATUS)), "mood": "good"})) == STATUS


def test_the_name_of_the_key_decides_and_the_records_time_stands_for_a_missing_one() -> None:
    found = decode(b'{"name": "b", "state": "FAILED"}', name="a", time=T)
    assert found is not None
    assert (found.name, found.time, found.state) == ("a", T, QueryState.FAILED)


def test_a_state_that_nobody_knows_is_no_status() -> None:
    assert decode(b'{"name": "a", "state": "DREAMING", "time": 1}') is None


@pytest.mark.parametrize(("key", "name"), [(b"status-query-", None), (b"status-task-a-0", None), (b"", None)])
def test_other_keys_name_no_query(key: bytes, name: str | None) -> None:
    assert query_name(key) is name
    assert query_name(query_key("a-b")) == "a-b"


@pytest.mark.parametrize(
    ("state", "every_ms", "silent_ms", "is_silent"),
    [
        (QueryState.RUNNING, 10_000, 30_000, False),
        (QueryState.RUNNING, 10_000, 30_001, True),
        (QueryState.RUNNING, 0, 10**9, False),
        (QueryState.FINISHED, 10_000, 10**9, False),
        (QueryState.FAILED, 10_000, 10**9, False),
    ],
)
def test_only_a_running_query_that_missed_three_reports_is_silent(
    state: QueryState, every_ms: int, silent_ms: int, is_silent: bool
) -> None:
    status = msgspec.structs.replace(STATUS, state=state, every_ms=every_ms)
    assert status.is_silent(T + silent_ms) is is_silent

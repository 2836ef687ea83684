from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.search import queries
from engine.record.context import ErrorContext
from engine.record.error_context_json import encode
from engine.record.record import Record
from engine.record.schema import Schema
from engine.record.stage import Stage, StageType
from tests.dlqadmin.deadletters.letters import (
    ALL,
    BAD_JSON,
    GAP,
    HOUR_MS,
    NOW,
    NOW_MS,
    NST,
    index,
    index_one,
    letter,
    plain,
)

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
LIST = "/api/v1/dead-letters"


@pytest.fixture
def indexed() -> None:
    """Two groups of puts, one of conversions, and a message nobody can read."""
    index(
        [letter(offset, partition=offset % 3, at_ms=NOW_MS - offset * HOUR_MS) for offset in range(30)]
        + [letter(100 + offset, message=NST, key=b"ak%d" % offset, connector="other") for offset in range(5)]
        + [letter(200, message=BAD_JSON, exception="orjson.JSONDecodeError", stage="VALUE_CONVERTER")]
        + [plain(0, b"?")]
    )


def get(client: APIClient, path: str = LIST, **params: Any) -> Any:
    response = client.get(path, {**ALL, **params})
    assert response.status_code == 200, response.content
    return response.json()


def test_the_list_is_newest_first_with_an_exact_total(as_reader: APIClient, indexed: None) -> None:
    answer = get(as_reader, limit=3)
    assert answer["total"] == {"count": 37, "exact": True}
    assert [row["failed_at"] for row in answer["results"]] == ["2026-11-21T03:12:30.000Z"] * 3
    assert (answer["from"], answer["partial"]) == ("2026-11-14T03:12:30.000Z", False)


def test_a_row_says_where_why_and_in_which_group(as_reader: APIClient, indexed: None) -> None:
    row = get(as_reader, stage="VALUE_CONVERTER")["results"][0]
    assert (row["exception_class"], row["exception_full"]) == ("JSONDecodeError", "orjson.JSONDecodeError")
    assert (row["origin_topic"], row["origin_partition"], row["origin_offset"]) == ("usgs.earthquakes", 0, 48_200)
    assert (row["message"], row["group"]["title"]) == (BAD_JSON, "JSONDecodeError: unexpected character")
    assert (row["key_text"], row["task_id"], row["replay_state"]) == ("ci37868135", "usgs-to-sql-0", "none")


def test_keyset_pages_hold_every_record_once(as_reader: APIClient, indexed: None) -> None:
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = get(as_reader, limit=4, cursor=cursor)
        seen += [row["id"] for row in answer["results"]]
        cursor = answer["next"]
    assert len(seen) == len(set(seen)) == 37


def test_what_is_indexed_while_paging_moves_no_page(as_reader: APIClient, indexed: None) -> None:
    first = get(as_reader, limit=10)
    before = [row["id"] for row in get(as_reader, limit=10, cursor=first["next"])["results"]]
    index([letter(900)])
    assert [row["id"] for row in get(as_reader, limit=10, cursor=first["next"])["results"]] == before


@pytest.mark.parametrize(
    ("params", "count"),
    [
        ({"stage": "TASK_PUT"}, 35),
        ({"stage": ["TASK_PUT", "VALUE_CONVERTER"]}, 36),
        ({"not_stage": "TASK_PUT"}, 2),
        ({"exception": "IntegrityError"}, 35),
        ({"exception": "sqlalchemy.exc.IntegrityError"}, 35),
        ({"connector": "other"}, 5),
        ({"topic": "foreign.dlq"}, 1),
        ({"not_topic": "foreign.dlq", "not_connector": "other"}, 31),
        ({"key": "ak3"}, 1),
        ({"origin_partition": "1"}, 10),
        ({"origin_topic": "usgs.earthquakes", "origin_offset": "48200"}, 1),
        ({"readable": "false"}, 1),
        ({"text": "earthquakes.nst"}, 5),
        ({"text": "line 7 column 8"}, 1),
        ({"text": "ak3"}, 1),
        ({"from": "2026-11-21T00:00:00Z"}, 11),
        ({"from": "2026-11-20T00:00:00Z", "to": "2026-11-20T12:00:00Z"}, 12),
        ({"topic": "no.such"}, 0),
    ],
)
def test_filters_narrow_list_and_total_alike(
    as_reader: APIClient, indexed: None, params: dict[str, Any], count: int
) -> None:
    answer = get(as_reader, **params)
    assert answer["total"] == {"count": count, "exact": True}
    assert len(answer["results"]) == count


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("cursor", "x"), ("cursor", "WyJub3ciLDFd"), ("limit", "0"), ("limit", "999999"), ("limit", "-1"),
        ("from", "yesterday"), ("to", "9999999"), ("group", "x"), ("group", "9" * 30), ("origin_partition", "-1"),
        ("readable", "maybe"), ("text", "a\0b"), ("key", "k" * 2000), ("not_group", "1.5"), ("offset", "٣"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_named_in_a_problem(as_reader: APIClient, parameter: str, value: str) -> None:
    response = as_reader.get(LIST, {**ALL, parameter: value})
    assert (response.status_code, response["Content-Type"]) == (400, "application/problem+json")
    assert [row["parameter"] for row in response.json()["errors"]] == [parameter]


def test_facets_add_up_and_are_exact(as_reader: APIClient, indexed: None) -> None:
    answer = get(as_reader, f"{LIST}/facets")
    facets = {name: {row["label"]: row["count"] for row in rows} for name, rows in answer["facets"].items()}
    assert (answer["exact"], answer["sampled"]) == (True, [])
    assert facets["stage"] == {"TASK_PUT": 35, "VALUE_CONVERTER": 1, "UNKNOWN": 1}
    assert facets["group"]["IntegrityError: earthquakes.gap is null"] == 30
    assert facets["exception"] == {"IntegrityError": 35, "JSONDecodeError": 1, "UnreadableDeadLetter": 1}
    assert sum(facets["origin_partition"].values()) == 36
    assert facets["replay_state"] == {"none": 37}


def test_a_filter_that_leaves_no_fingerprint_leaves_nothing_to_count(as_reader: APIClient, indexed: None) -> None:
    answer = as_reader.get(
        "/api/v1/dead-letters/facets", {**ALL, "exception": "NoSuch", "origin_partition": "0"}
    ).json()
    assert answer["exact"] is True
    assert answer["facets"]["topic"] == answer["facets"]["replay_state"] == []


def test_a_facet_does_not_narrow_itself(as_reader: APIClient, indexed: None) -> None:
    facets = get(as_reader, f"{LIST}/facets", stage="VALUE_CONVERTER")["facets"]
    assert len(facets["stage"]) == 3
    assert [row["label"] for row in facets["exception"]] == ["JSONDecodeError"]


def test_facets_beyond_the_window_say_so(as_reader: APIClient, indexed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "WINDOW", 10)
    answer = get(as_reader, f"{LIST}/facets")
    assert (answer["exact"], answer["of"], answer["sampled"]) == (
        False,
        10,
        ["origin_partition", "replay_state", "work"],
    )
    assert sum(row["count"] for row in answer["facets"]["stage"]) == 37
    assert get(as_reader, readable="true", limit=5)["total"] == {"count": 10, "exact": False}


def test_the_histogram_counts_every_record(as_reader: APIClient, indexed: None) -> None:
    answer = get(as_reader, f"{LIST}/histogram")
    assert {row["key"]: sum(row["points"]) for row in answer["series"]} == {
        "TASK_PUT": 35, "VALUE_CONVERTER": 1, "UNKNOWN": 1,
    }  # fmt: skip
    assert answer["exact"]


def test_a_record_shows_its_error_stages_bytes_and_neighbours(as_reader: APIClient, indexed: None) -> None:
    rows = get(as_reader, stage="TASK_PUT")["results"]
    answer = get(as_reader, f"{LIST}/{rows[1]['id']}", stage="TASK_PUT")
    assert answer["neighbours"] == {"previous": rows[0]["id"], "next": rows[2]["id"]}
    assert [frame["file"] for frame in answer["exception"]["chain"][0]["frames"]] == ["engine/connectors/sql/sink.py"]
    assert answer["value"]["text"] == '{"mag": 1.6}'
    assert answer["value"]["json"]
    assert [stage["state"] for stage in answer["stages"]] == ["failed"]
    assert [event["kind"] for event in answer["timeline"]] == ["failed", "dead_lettered", "indexed"]
    assert answer["dialect"]["name"] == "connect-headers"
    assert answer["group"]["events"] == 30 or answer["group"]["events"] == 5


def test_a_timeline_stands_in_the_order_of_causes_whatever_the_clocks_say(as_reader: APIClient) -> None:
    row = index_one(letter(1))
    times = {"origin_timestamp": 9, "first_failure_at": -3, "failed_at": 3}
    DeadLetter.objects.update(
        attempt=2, indexed_at=NOW, **{name: NOW + timedelta(hours=hours) for name, hours in times.items()}
    )
    events = get(as_reader, f"{LIST}/{row.pk}")["timeline"]
    assert [event["kind"] for event in events] == ["produced", "failed", "error", "dead_lettered", "indexed"]
    assert [event["at"][11:13] for event in events] == ["12", "00", "06", "06", "03"]


def test_a_value_that_stops_being_json_says_at_which_byte(as_reader: APIClient) -> None:
    row = index_one(letter(1, value='{"ä": 1, "place:"2km"}'.encode()))
    error = get(as_reader, f"{LIST}/{row.pk}")["value"]["parse_error"]
    assert error == {"byte": 20, "line": 1, "column": 20, "message": error["message"]} or error["byte"] > 9


@pytest.mark.parametrize("value", [None, b"", b"\xff\xfe\x00", b"{", b"x" * 10_000_000])
def test_any_message_has_a_record_page(as_reader: APIClient, value: bytes | None) -> None:
    row = index_one(plain(1, value, headers=(("h", None), ("b", b"\xff"))))
    answer = get(as_reader, f"{LIST}/{row.pk}")
    assert answer["readable"] is False
    assert answer["value"]["is_null"] == (value is None)
    assert answer["value"]["shown"] <= 65536
    assert answer["headers"][0] == {
        "name": "h", "size": None, "text": None, "base64": None, "is_null": True, "withheld": False,
        "masked": False,
    }  # fmt: skip
    assert answer["context"]["is_null"]


def test_bytes_come_back_exactly(as_reader: APIClient) -> None:
    row = index_one(letter(1, key=None, value=b"\x00\xff{"))
    response = as_reader.get(f"{LIST}/{row.pk}/bytes", {"part": "value"})
    assert (response.content, response["Content-Type"]) == (b"\x00\xff{", "application/octet-stream")
    assert as_reader.get(f"{LIST}/{row.pk}/bytes", {"part": "key"}).status_code == 404
    assert as_reader.get(f"{LIST}/{row.pk}/bytes", {"part": "soul"}).status_code == 400


def test_neighbours_in_the_origin_come_from_the_index_when_kafka_is_away(as_reader: APIClient, indexed: None) -> None:
    row = get(as_reader, origin_offset="48006")["results"][0]
    answer = get(as_reader, f"{LIST}/{row['id']}/neighbours")
    assert [item["offset"] for item in answer["results"]] == [48003, 48006]
    assert [item["this"] for item in answer["results"]] == [False, True]
    assert answer["last_good"] is None


@pytest.mark.parametrize("path", ["", "/facets", "/histogram", "/export", "/1", "/1/bytes", "/1/neighbours"])
def test_strangers_read_nothing(anonymous: APIClient, path: str) -> None:
    assert anonymous.get(LIST + path).status_code in (401, 403)


@pytest.mark.parametrize("pk", ["1", str(2**63), "9" * 40])
def test_a_record_that_is_not_there_is_a_404_problem(as_reader: APIClient, pk: str) -> None:
    response = as_reader.get(f"{LIST}/{pk}")
    assert (response.status_code, response["Content-Type"]) == (404, "application/problem+json")


def test_gap_is_what_the_column_is_called(as_reader: APIClient, indexed: None) -> None:
    assert get(as_reader, text="earthquakes.gap")["results"][0]["message"] == GAP


def test_a_sources_record_says_where_it_was_read_and_is_nothing_to_replay(as_reader: APIClient) -> None:
    record = Record(
        "rows", None, NOW_MS, None, {"id": 7, "name": "x"}, None, Schema("STRUCT"),
        source_partition={"table": "people"}, source_offset={"incrementing": 7},
    )  # fmt: skip
    context = ErrorContext(
        record=record, original=None, stages=(Stage(StageType.TRANSFORMATION, "Cast$Value"),), index=0,
        exception="TransformError: no", exception_class="TransformError", message="no", root_class="TransformError",
        root_message="no", attempt=0, task_id="people-0", connector="people", time_of_error=NOW_MS,
        first_failure_time=NOW_MS, elapsed_ms=0,
    )  # fmt: skip
    row = index_one(plain(1, encode(context, include_messages=True)))
    answer = get(as_reader, f"{LIST}/{row.pk}")
    assert answer["source"] == {
        "partition": [{"name": "table", "value": "people"}],
        "offset": [{"name": "incrementing", "value": "7"}],
        "schema": "STRUCT",
        "value": '{"id":7,"name":"x"}',
        "withheld": False,
    }
    assert (answer["original"], answer["origin_topic"], answer["key_text"]) == ("unknown", None, None)
    assert [event["kind"] for event in answer["timeline"]] == ["failed", "dead_lettered", "indexed"]
    assert answer["has_record"]


def test_a_failed_poll_concerns_no_record_and_is_nothing_to_replay(as_reader: APIClient) -> None:
    """A dead letter without a record is read as one, not as a record whose bytes are unknown."""
    context = ErrorContext(
        record=None, original=None, stages=(Stage(StageType.TASK_POLL, "SqlSource"),), index=0,
        exception="RetriableError: no database", exception_class="RetriableError", message="no database",
        root_class="RetriableError", root_message="no database", attempt=2, task_id="people-0", connector="people",
        time_of_error=NOW_MS, first_failure_time=NOW_MS - 900, elapsed_ms=900,
    )  # fmt: skip
    row = index_one(plain(1, encode(context, include_messages=True)))
    answer = get(as_reader, f"{LIST}/{row.pk}")
    assert (answer["has_record"], answer["origin_topic"], answer["source"]) == (False, None, None)
    assert (answer["stage"], answer["connector"], answer["readable"]) == ("TASK_POLL", "people", True)
    assert (answer["value"]["size"], answer["value"]["is_null"]) == (None, False)
    note = {"field": "no record", "read_from": "record: null", "value": "", "guessed": False}
    assert note in answer["dialect"]["notes"]
    assert answer["timeline"][-1]["text"] == "Indexed; the error concerns no record"

"""Files that are streamed at once."""

from __future__ import annotations

import base64
import csv
import io
from datetime import UTC, datetime

import orjson
import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import DeadLetter, DecodedValue
from dlqadmin.deadletters.search.time_limits import QueryTimedOut
from dlqadmin.exports import requests, row_reader
from dlqadmin.exports.columns import NDJSON, PARQUET
from tests.dlqadmin.deadletters.letters import ALL, index, letter, plain
from tests.dlqadmin.exports.conftest import VALUES
from tests.dlqadmin.exports.reading import body, decoded, table

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
PATH = "/api/v1/dead-letters/export"


def test_ndjson_brings_every_byte_back(as_operator: APIClient, indexed: None) -> None:
    response = as_operator.get(PATH, ALL)
    assert (response.status_code, response["Content-Type"]) == (200, "application/x-ndjson")
    rows = [orjson.loads(line) for line in body(response).splitlines()]
    assert [decoded(row["value"]["base64"]) for row in rows] == VALUES
    assert [decoded(row["key"]["base64"]) for row in rows] == VALUES
    assert [decoded(row["headers"][0]["base64"]) for row in rows] == VALUES
    assert [row["value"]["text"] for row in rows][1:4] == [None, "", None]
    assert list(rows[0]) == [column.name for column in NDJSON]


def test_csv_brings_every_byte_back_and_runs_no_formula(as_operator: APIClient, indexed: None) -> None:
    response = as_operator.get(PATH, {**ALL, "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(body(response).decode(), newline="")))
    assert [base64.b64decode(row["value_base64"]) for row in rows] == [value or b"" for value in VALUES]
    assert rows[4]["value_text"] == "'" + '=cmd()|"\r\n'
    assert rows[0]["stage"] == "TASK_PUT"


def test_parquet_brings_every_byte_back_with_types(as_operator: APIClient, indexed: None) -> None:
    rows = table(body(as_operator.get(PATH, {**ALL, "format": "parquet"})))
    assert [row["value"] for row in rows] == VALUES
    assert [row["key"] for row in rows] == VALUES
    assert [row["headers"][0] for row in rows] == [{"name": "h", "value": value} for value in VALUES]
    assert rows[0]["failed_at"] == datetime(2026, 11, 21, 3, 12, 30, tzinfo=UTC)
    assert "sqlalchemy.exc.IntegrityError" in rows[0]["trace"]
    assert list(rows[0]) == [column.name for column in PARQUET]


@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
def test_nothing_that_matches_is_a_whole_file_without_rows(as_operator: APIClient, form: str) -> None:
    data = body(as_operator.get(PATH, {**ALL, "format": form}))
    assert {"ndjson": data == b"", "csv": data.startswith(b"id,"), "parquet": data[-4:] == b"PAR1"}[form]


def test_an_export_holds_what_its_filter_holds_in_order_of_id(as_operator: APIClient, indexed: None) -> None:
    index([plain(1, b"?")])
    rows = [orjson.loads(line) for line in body(as_operator.get(PATH, {**ALL, "readable": "true"})).splitlines()]
    assert [row["id"] for row in rows] == list(
        DeadLetter.objects.filter(readable=True).order_by("id").values_list("id", flat=True)
    )


def test_a_query_chooses_what_a_list_of_it_shows(as_operator: APIClient) -> None:
    index([letter(n, value=b'{"gap": %s}' % gap) for n, gap in enumerate([b"null", b"1", b"null"])])
    index([letter(9, stage="VALUE_CONVERTER", value=b'{"gap": null}')])
    asked = {**ALL, "q": "value.gap:null -stage:VALUE_CONVERTER"}
    rows = [orjson.loads(line) for line in body(as_operator.get(PATH, asked)).splitlines()]
    listed = as_operator.get("/api/v1/dead-letters", asked).json()["results"]
    assert sorted(row["offset"] for row in rows) == sorted(row["offset"] for row in listed) == [0, 2]


@pytest.mark.parametrize(("query", "found"), [("value.gap:null", [0]), ("-value.gap:null", [1, 2])])
def test_a_value_that_its_schema_decoded_is_searched_as_in_a_list_and_written_as_it_is(
    as_operator: APIClient, query: str, found: list[int]
) -> None:
    index([letter(n, value=b"\x00\x00\x00\x00\x07%d" % n) for n in range(3)])
    for row, json in zip(DeadLetter.objects.order_by("offset"), [b'{"gap": null}', b'{"gap": 1}'], strict=False):
        DecodedValue.objects.create(dead_letter=row, json=json)
    asked = {**ALL, "q": query}
    rows = [orjson.loads(line) for line in body(as_operator.get(PATH, asked)).splitlines()]
    listed = as_operator.get("/api/v1/dead-letters", asked).json()["results"]
    assert [row["offset"] for row in rows] == sorted(row["offset"] for row in listed) == found
    assert [decoded(row["value"]["base64"]) for row in rows] == [b"\x00\x00\x00\x00\x07%d" % n for n in found]


@pytest.mark.parametrize(("name", "size"), [("SPAN_IDS", 2), ("WINDOW_ROWS", 2), ("SLICE_ROWS", 2), ("SLICE_BYTES", 1)])
def test_slices_leave_nothing_out(
    as_operator: APIClient, indexed: None, monkeypatch: pytest.MonkeyPatch, name: str, size: int
) -> None:
    whole = body(as_operator.get(PATH, ALL))
    monkeypatch.setattr(row_reader, name, size)
    assert body(as_operator.get(PATH, ALL)) == whole
    assert len(whole.splitlines()) == len(VALUES)


def test_what_is_indexed_later_is_not_part_of_it(as_operator: APIClient, indexed: None) -> None:
    response = as_operator.get(PATH, ALL)
    index([letter(50)])
    assert len(body(response).splitlines()) == len(VALUES)


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_a_file_that_broke_off_goes_on_byte_for_byte(as_operator: APIClient, indexed: None, form: str) -> None:
    response = as_operator.get(PATH, {**ALL, "format": form})
    whole = body(response)
    index([letter(50)])
    begun = body(as_operator.get(PATH, {"resume": response["Export-Resume"], "format": form, "limit": "4"}))
    after = DeadLetter.objects.order_by("id")[3].pk
    rest = body(as_operator.get(PATH, {"resume": response["Export-Resume"], "format": form, "after": str(after)}))
    assert begun + rest == whole


def test_parts_by_limit_hold_everything_once(as_operator: APIClient, indexed: None) -> None:
    ids: list[int] = []
    while part := body(as_operator.get(PATH, {**ALL, "limit": "4", "after": str(ids[-1] if ids else 0)})).splitlines():
        assert len(part) <= 4
        ids += [orjson.loads(line)["id"] for line in part]
    assert ids == list(DeadLetter.objects.order_by("id").values_list("id", flat=True))


@pytest.mark.parametrize("narrowed", [{}, {"readable": "true"}, {"q": "-value.nothing:here"}])
def test_too_many_are_refused_before_the_first_byte(
    as_operator: APIClient, indexed: None, monkeypatch: pytest.MonkeyPatch, narrowed: dict[str, str]
) -> None:
    monkeypatch.setattr(requests, "MAX_STREAMED", len(VALUES))
    assert len(body(as_operator.get(PATH, {**ALL, **narrowed})).splitlines()) == len(VALUES)
    monkeypatch.setattr(requests, "MAX_STREAMED", len(VALUES) - 1)
    refused = as_operator.get(PATH, {**ALL, **narrowed})
    assert refused.status_code == 409
    assert refused.json()["detail"].startswith("More than 5 records ")


def test_a_limit_bounds_what_is_sent_but_not_what_is_looked_into(
    as_operator: APIClient, indexed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "MAX_STREAMED", len(VALUES) - 1)
    assert len(body(as_operator.get(PATH, {**ALL, "limit": "1"})).splitlines()) == 1
    refused = as_operator.get(PATH, {**ALL, "limit": "1", "q": "value.rare:here"})
    assert (refused.status_code, "`limit`" in refused.json()["detail"]) == (409, False)
    after = DeadLetter.objects.order_by("id")[0].pk
    assert body(as_operator.get(PATH, {**ALL, "limit": "1", "q": "value.rare:here", "after": str(after)})) == b""


def test_what_cannot_be_counted_in_time_is_refused(
    as_operator: APIClient, indexed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(streamed: requests.StreamRequest) -> int:
        raise QueryTimedOut

    monkeypatch.setattr(requests, "_count_up_to_limit", late)
    assert "Counting the matching records took too long" in as_operator.get(PATH, ALL).json()["detail"]


def test_an_export_is_audited(as_operator: APIClient, indexed: None) -> None:
    body(as_operator.get(PATH, {**ALL, "format": "csv"}))
    assert AuditEntry.objects.get().action == "export"


def test_viewers_take_nothing_away(as_viewer: APIClient, indexed: None) -> None:
    assert as_viewer.get(PATH, ALL).status_code == 403


def test_a_read_only_cluster_is_exported(as_operator: APIClient, indexed: None, settings: Settings) -> None:
    settings.READ_ONLY = True
    assert body(as_operator.get(PATH, ALL))


@pytest.mark.parametrize(
    ("wrong", "value"),
    [
        ("format", "xlsx"),
        ("after", "x"),
        ("after", "9" * 19),
        ("limit", "0"),
        ("limit", "1000001"),
        ("resume", "a:b:c"),
    ],
)  # fmt: skip
def test_what_can_not_be_used_is_named(as_operator: APIClient, wrong: str, value: str) -> None:
    response = as_operator.get(PATH, {wrong: value})
    assert (response.status_code, response.json()["errors"][0]["parameter"]) == (400, wrong)

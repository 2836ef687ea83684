from __future__ import annotations

import base64
import csv
import io
from typing import Any

import orjson
import pytest
from asgiref.sync import async_to_sync
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters import export
from dlqadmin.deadletters.filters import Filters
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.rest.times import parse_range
from tests.dlqadmin.deadletters.letters import ALL, NOW_MS, index, letter, plain

pytestmark = pytest.mark.django_db
PATH = "/api/v1/dead-letters/export"
VALUES = [b'{"a": 1e2, "a": 12345678901234567890}', b"\x00\xff", b"", None, b'=cmd()|"\r\n', "naïve ✓".encode()]


@pytest.fixture
def indexed() -> None:
    index([letter(n, value=value, key=value, headers=(("h", value),), at_ms=NOW_MS) for n, value in enumerate(VALUES)])


def body(response: Any) -> bytes:
    """The streamed content, read as the server reads it."""

    async def read() -> bytes:
        return b"".join([part async for part in response.streaming_content])

    assert response.is_async
    return async_to_sync(read)()


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def test_ndjson_brings_every_byte_back(as_viewer: APIClient, indexed: None) -> None:
    response = as_viewer.get(PATH, ALL)
    assert (response.status_code, response["Content-Type"]) == (200, "application/x-ndjson")
    rows = [orjson.loads(line) for line in body(response).splitlines()]
    assert [decoded(row["value"]["base64"]) for row in rows] == VALUES
    assert [decoded(row["key"]["base64"]) for row in rows] == VALUES
    assert [decoded(row["headers"][0]["base64"]) for row in rows] == VALUES
    assert [row["value"]["text"] for row in rows][1:4] == [None, "", None]


def test_csv_brings_every_byte_back_and_runs_no_formula(as_viewer: APIClient, indexed: None) -> None:
    response = as_viewer.get(PATH, {**ALL, "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(body(response).decode(), newline="")))
    assert [base64.b64decode(row["value_base64"]) for row in rows] == [value or b"" for value in VALUES]
    assert rows[4]["value_text"] == "'" + '=cmd()|"\r\n'
    assert rows[0]["stage"] == "TASK_PUT"


def test_an_export_holds_what_its_filter_holds_in_order_of_id(as_viewer: APIClient, indexed: None) -> None:
    index([plain(1, b"?")])
    rows = [orjson.loads(line) for line in body(as_viewer.get(PATH, {**ALL, "readable": "true"})).splitlines()]
    assert [row["id"] for row in rows] == list(
        DeadLetter.objects.filter(readable=True).order_by("id").values_list("id", flat=True)
    )


def test_chunks_leave_nothing_out(indexed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "CHUNK_ROWS", 2)
    filters, last = Filters(*parse_range(ALL["from"], ALL["to"])), export.watermark()

    async def read() -> bytes:
        return b"".join([part async for part in export.stream(filters, "ndjson", last)])

    assert len(async_to_sync(read)().splitlines()) == len(VALUES)


def test_what_is_indexed_later_is_not_part_of_it(as_viewer: APIClient, indexed: None) -> None:
    response = as_viewer.get(PATH, ALL)
    index([letter(50)])
    assert len(body(response).splitlines()) == len(VALUES)


def test_an_export_is_audited(as_viewer: APIClient, indexed: None) -> None:
    body(as_viewer.get(PATH, {**ALL, "format": "csv"}))
    assert AuditEntry.objects.get().action == "export"


def test_an_unknown_format_is_named(as_viewer: APIClient) -> None:
    response = as_viewer.get(PATH, {"format": "parquet"})
    assert (response.status_code, response.json()["errors"][0]["parameter"]) == (400, "format")

"""The decoded view of a dead letter, without a registry."""

from __future__ import annotations

import gzip
from typing import Any

import msgpack
import pytest
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from tests.dlqadmin.deadletters.letters import index_one, letter

pytestmark = pytest.mark.django_db


def decoded(client: APIClient, value: bytes | None, query: str = "") -> Any:
    row = index_one(letter(1, value=value))
    return client.get(f"/api/v1/dead-letters/{row.pk}/decoded{query}")


def test_gzip_with_json_is_shown_with_its_fields(as_reader: APIClient) -> None:
    answer = decoded(as_reader, gzip.compress(b'{"mag": 1.6, "at": {"x": null}}')).json()
    assert (answer["format"], answer["json"], answer["editable"]) == (
        "JSON in gzip",
        '{"mag": 1.6, "at": {"x": null}}',
        False,
    )
    assert [(row["path"], row["type"], row["text"]) for row in answer["fields"]] == [
        ("mag", "number", "1.6"),
        ("at", "object", "1 member"),
        ("at.x", "null", "null"),
    ]


def test_each_decoder_that_was_tried_gives_its_reason(as_reader: APIClient) -> None:
    answer = decoded(as_reader, b"\xff\x00").json()
    assert (answer["format"], answer["json"], answer["fields"]) == (None, None, [])
    report = {row["decoder"]: row["reason"] for row in answer["attempts"]}
    assert report["Schema registry"] == "byte 0 is 0xff; a schema id begins with 0x00, 0x01 or 0x03"
    assert report["gzip"] == "the first bytes are not 0x1f8b"
    assert len(report) == 10


def test_a_schema_that_nobody_can_be_asked_for_is_named(as_reader: APIClient) -> None:
    answer = decoded(as_reader, b"\x00\x00\x00\x00\x2a\x02").json()
    assert answer["named_schema"] == "id 42"
    first = answer["attempts"][0]
    assert (first["outcome"], first["reason"]) == (
        "unavailable",
        "the bytes name schema id 42, and no registry is configured",
    )


def test_a_null_value_has_no_format_and_no_report(as_reader: APIClient) -> None:
    answer = decoded(as_reader, None).json()
    assert (answer["size"], answer["format"], answer["attempts"]) == (None, None, [])


def test_the_key_is_decoded_too_and_each_read_is_audited(as_reader: APIClient) -> None:
    row = index_one(letter(2, key=msgpack.packb({"id": 7})))
    answer = as_reader.get(f"/api/v1/dead-letters/{row.pk}/decoded?part=key").json()
    assert (answer["format"], answer["json"]) == ("MessagePack", '{"id":7}')
    assert AuditEntry.objects.get().detail["what"] == "decoded key"


def test_without_the_right_nothing_is_decoded(as_viewer: APIClient) -> None:
    assert decoded(as_viewer, b"{}").status_code == 403


def test_another_part_is_refused(as_reader: APIClient) -> None:
    assert decoded(as_reader, b"{}", "?part=context").status_code == 400

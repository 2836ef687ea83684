"""Files that workers write."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson
import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import Fingerprint
from dlqadmin.exports import file_writer, files
from dlqadmin.exports.models import Export
from dlqadmin.exports.tasks import write_exports
from tests.dlqadmin.deadletters.letters import ALL, index, letter
from tests.dlqadmin.exports.conftest import VALUES
from tests.dlqadmin.exports.reading import body, table
from tests.dlqadmin.exports.wanting import API, WEEK, ask, done
from tests.dlqadmin.keys import IdempotencyKey

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def test_an_export_waits_for_a_worker_and_knows_how_many_to_expect(as_operator: APIClient, indexed: None) -> None:
    made = ask(as_operator)
    assert (made["state"], made["rows"], made["expected"], made["created_by"]) == ("queued", 0, 6, "operator-1")
    assert as_operator.get(API).json()["results"] == [made]


@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
def test_a_workers_file_is_what_is_streamed(as_operator: APIClient, indexed: None, form: str) -> None:
    made = done(as_operator, form)
    response = as_operator.get(f"{API}/{made['id']}/file")
    data = body(response)
    streamed = body(as_operator.get("/api/v1/dead-letters/export", {**ALL, "format": form}))
    assert (table(data) == table(streamed)) if form == "parquet" else (data == streamed)
    assert made["sha256"] == hashlib.sha256(data).hexdigest()
    assert (made["rows"], made["size"]) == (len(VALUES), len(data))
    assert int(response["Content-Length"]) == len(data)
    assert f".{form}" in response["Content-Disposition"]


def test_an_export_holds_what_matched_when_it_was_asked_for(as_operator: APIClient, indexed: None) -> None:
    ask(as_operator)
    index([letter(50)])
    write_exports()
    assert Export.objects.get().rows == len(VALUES)


def test_the_manifest_says_what_the_file_holds(as_operator: APIClient, indexed: None) -> None:
    made = done(as_operator, "parquet")
    manifest = as_operator.get(f"{API}/{made['id']}/manifest").json()
    assert {name: manifest[name] for name in ("rows", "size", "sha256", "format", "schema", "made_by", "query")} == {
        "rows": 6, "size": made["size"], "sha256": made["sha256"], "format": "parquet", "schema": 1,
        "made_by": "operator-1", "query": WEEK,
    }  # fmt: skip
    assert manifest["filters"]["start"].startswith("2026-11-14T03:12:30")
    assert {"name": "value", "type": "bytes"} in manifest["columns"]
    assert manifest["watermark"] == Export.objects.get().watermark


@pytest.mark.parametrize(("header", "first", "status"), [("bytes=10-", 10, 206), ("bytes=x", 0, 200)])
def test_a_download_that_broke_off_goes_on(
    as_operator: APIClient, indexed: None, header: str, first: int, status: int
) -> None:
    path = f"{API}/{done(as_operator)['id']}/file"
    whole = body(as_operator.get(path))
    response = as_operator.get(path, headers={"Range": header})
    assert (response.status_code, body(response)) == (status, whole[first:])
    asked_of_another = as_operator.get(path, headers={"Range": "bytes=10-", "If-Range": '"another"'})
    assert body(asked_of_another) == whole
    assert as_operator.get(path, headers={"Range": f"bytes={len(whole)}-"}).status_code == 416


@pytest.mark.parametrize(
    ("header", "size", "span"),
    [("bytes=0-0", 5, (0, 0)), ("bytes=2-", 5, (2, 4)), ("bytes=2-99", 5, (2, 4)), ("bytes=3-2", 5, None),
     ("bytes=-2", 5, None), ("bytes=0-1,3-4", 5, None), (None, 5, None)],
)  # fmt: skip
def test_one_range_from_a_byte_on_is_served(header: str | None, size: int, span: tuple[int, int] | None) -> None:
    assert files.span(header, size) == span


def test_what_waits_can_be_cancelled_once(as_operator: APIClient, indexed: None) -> None:
    path = f"{API}/{ask(as_operator)['id']}/cancel"
    assert as_operator.post(path).json()["state"] == "cancelled"
    assert as_operator.post(path).status_code == 409
    assert not file_writer.write_next()
    assert [entry.action for entry in AuditEntry.objects.order_by("id")] == ["export", "cancel"]


def test_a_deleted_file_is_gone_and_its_manifest_stays(
    as_operator: APIClient,
    indexed: None,
    folder: Path,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    path = f"{API}/{done(as_operator)['id']}"
    with django_capture_on_commit_callbacks(execute=True):
        assert as_operator.delete(path).json()["state"] == "deleted"
    assert list(folder.iterdir()) == []
    assert as_operator.get(f"{path}/file").status_code == 409
    assert as_operator.get(f"{path}/manifest").json()["rows"] == len(VALUES)
    assert as_operator.delete(path).status_code == 409


def test_the_same_idempotency_key_makes_one_export(as_operator: APIClient, indexed: None) -> None:
    key = IdempotencyKey({"Idempotency-Key": "k"})
    assert ask(as_operator, **key)["id"] == ask(as_operator, expect=200, **key)["id"]
    assert ask(as_operator, "csv", expect=409, **key)["detail"]


@pytest.mark.parametrize(("form", "query"), [("xlsx", WEEK), ("csv", "from=x"), ("csv", f"{WEEK}&grup=5")])
def test_what_can_not_be_used_is_named(as_operator: APIClient, form: str, query: str) -> None:
    assert ask(as_operator, form, query, expect=400)["errors"]
    assert not Export.objects.exists()


def test_viewers_see_exports_and_take_nothing_away(as_viewer: APIClient, as_operator: APIClient, indexed: None) -> None:
    pk = done(as_operator)["id"]
    assert as_viewer.get(f"{API}/{pk}").status_code == 200
    assert as_viewer.get(f"{API}/{pk}/file").status_code == 403
    assert as_viewer.get(f"{API}/{pk}/manifest").status_code == 403
    assert as_viewer.post(f"{API}/{pk}/cancel").status_code == 403
    assert as_viewer.delete(f"{API}/{pk}").status_code == 403
    ask(as_viewer, expect=403)


def test_a_read_only_cluster_hands_out_files_and_makes_none(
    as_operator: APIClient, indexed: None, settings: Settings
) -> None:
    pk = done(as_operator)["id"]
    settings.READ_ONLY = True
    assert body(as_operator.get(f"{API}/{pk}/file"))
    ask(as_operator, expect=403)


def test_a_download_is_audited_with_what_was_taken(as_operator: APIClient, indexed: None) -> None:
    made = done(as_operator)
    body(as_operator.get(f"{API}/{made['id']}/file"))
    entry = AuditEntry.objects.get(action="download")
    assert (entry.object_id, entry.detail["sha256"]) == (f"E-{made['id']}", made["sha256"])


def test_exports_are_listed_newest_first_by_pages(as_operator: APIClient, indexed: None) -> None:
    ids = [ask(as_operator)["id"] for _ in range(3)]
    first = as_operator.get(API, {"limit": 2}).json()
    rest = as_operator.get(API, {"limit": 2, "cursor": first["next"]}).json()
    assert [row["id"] for row in first["results"] + rest["results"]] == ids[::-1]
    assert rest["next"] is None


@pytest.mark.parametrize("path", ["", "/file", "/manifest"])
def test_an_export_that_is_not_there_is_a_404_problem(as_operator: APIClient, path: str) -> None:
    response = as_operator.get(f"{API}/77{path}")
    assert (response.status_code, response["Content-Type"]) == (404, "application/problem+json")


def test_a_stored_filter_means_the_same_later(as_operator: APIClient, indexed: None) -> None:
    index([letter(60, stage="VALUE_CONVERTER", message="other")])
    ask(as_operator, query=f"{WEEK}&stage=VALUE_CONVERTER&not_readable=false")
    write_exports()
    export = Export.objects.get()
    rows = [orjson.loads(line) for line in files.path(export.file).read_bytes().splitlines()]
    assert [row["stage"] for row in rows] == ["VALUE_CONVERTER"]


def test_a_group_is_what_it_was_when_the_export_was_asked_for(as_operator: APIClient, indexed: None) -> None:
    index([letter(60, stage="VALUE_CONVERTER", message="other")])
    first, other = Fingerprint.objects.order_by("pk")
    assert ask(as_operator, query=f"{WEEK}&group={first.group_id}")["expected"] == len(VALUES)
    Fingerprint.objects.filter(pk=other.pk).update(group_id=first.group_id)
    write_exports()
    assert Export.objects.get().rows == len(VALUES)

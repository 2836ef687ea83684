from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import DeadLetter, Original
from dlqadmin.replays.fixes import bulk_fixes, bulk_views, file_fixes, previews, record_batches
from dlqadmin.replays.fixes.bulk_fixes import BULK_FIXES
from dlqadmin.replays.fixes.record_changes import changer
from dlqadmin.replays.models import BulkFix, Fix
from dlqadmin.replays.selections import frozen_selections
from tests.dlqadmin.conftest import person, signed_in
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.replays.fixes.making import API, GAP, NULL, exported, imported, post, selected

pytestmark = pytest.mark.django_db


def fills(value: int = 0) -> str:
    """The form that does what `GAP` does, and needs no process of jq."""
    return json.dumps([{"act": "set", "path": "gap", "when": "null", "value": value}])


def started(client: APIClient, program: str = "", **more: Any) -> Any:
    kind, program = ("jq", program) if program and not program.startswith("[{") else ("fields", program or fills())
    return post(client, "bulk-fixes", {"selection": selected(client), "kind": kind, "program": program, **more})


def run(pk: int, budget_s: float = 5.0) -> bool:
    return bulk_fixes.go_on(BulkFix.objects.get(pk=pk), frozen_selections.rows, timezone.now, budget_s)


def counts(client: APIClient, pk: int) -> Any:
    return client.get(f"{API}/bulk-fixes/{pk}").json()["counts"]


def text(document: Any) -> bytes:
    return base64.b64decode(document["value"]["base64"])


@pytest.mark.sql
def test_a_preview_shows_a_sample_and_counts_and_keeps_nothing(as_operator: APIClient, indexed: list[int]) -> None:
    body = {"selection": selected(as_operator), "kind": "jq", "program": GAP}
    answer = post(as_operator, "bulk-fixes/preview", body, 200)
    assert answer["counts"] == {"matched": 41, "changed": 30, "untouched": 10, "invalid": 1}
    assert answer["counted_all"] is True
    assert len(answer["sample"]) == 20
    assert {row["what"] for row in answer["sample"]} == {"changed", "untouched", "invalid"}
    first = answer["sample"][0]
    assert (text(first["before"]), text(first["after"])) == (NULL, NULL.replace(b"null", b"0"))
    assert first["paths"] == ["/gap"]
    assert answer["sample"][-1]["why"].startswith("the value is not JSON: byte 1")
    assert (Fix.objects.count(), BulkFix.objects.count()) == (0, 0)


def test_drafts_are_made_of_changed_records_only(as_operator: APIClient, operator: User, indexed: list[int]) -> None:
    made = started(as_operator, GAP)
    assert (made["status"], made["counts"]["matched"]) == ("running", 0)
    assert run(made["id"]) is False
    answer = as_operator.get(f"{API}/bulk-fixes/{made['id']}").json()
    assert answer["status"] == "done"
    assert answer["counts"] == {"matched": 41, "changed": 30, "untouched": 10, "invalid": 1, "kept": 0}
    assert (answer["drafts"], len(answer["why"]), answer["why"][0]["dead_letter"]) == (30, 1, indexed[-1])
    drafts = Fix.objects.filter(bulk=made["id"])
    assert {bytes(fix.value or b"") for fix in drafts} == {NULL.replace(b"null", b"0")}
    assert sorted(drafts.values_list("dead_letter", flat=True)) == indexed[:30]
    assert AuditEntry.objects.filter(action="made drafts", object_id=f"B-{made['id']}").exists()


def test_a_killed_worker_s_work_is_taken_up_where_it_was(as_operator: APIClient, indexed: list[int]) -> None:
    pk = started(as_operator)["id"]
    found = BulkFix.objects.select_related("selection", "author").get(pk=pk)
    other = BulkFix.objects.select_related("selection", "author").get(pk=pk)
    with changer("fields", fills()) as change:
        half = record_batches.changes(indexed[:20], change)
        assert bulk_fixes._kept(found, found.author, indexed[:20], half, timezone.now())  # type: ignore[arg-type]  # it has one
        again = record_batches.changes(indexed[:20], change)
        assert not bulk_fixes._kept(other, other.author, indexed[:20], again, timezone.now())  # type: ignore[arg-type]  # as above
    run(pk)
    assert counts(as_operator, pk) == {"matched": 41, "changed": 30, "untouched": 10, "invalid": 1, "kept": 0}


def test_what_nobody_works_on_is_swept(as_operator: APIClient, indexed: list[int]) -> None:
    pk = started(as_operator)["id"]
    assert not BULK_FIXES.waiting(timezone.now()).exists()
    assert [one.pk for one in BULK_FIXES.waiting(timezone.now() + BULK_FIXES.lease)] == [pk]


def test_a_draft_made_by_hand_is_kept_unless_it_shall_be_replaced(as_operator: APIClient, indexed: list[int]) -> None:
    own = {"value": {"base64": base64.b64encode(b"mine").decode()}}
    assert as_operator.put(f"{API}/dead-letters/{indexed[0]}/fix", own).status_code == 200
    pk = started(as_operator)["id"]
    run(pk)
    assert counts(as_operator, pk) == {"matched": 41, "changed": 29, "untouched": 10, "invalid": 1, "kept": 1}
    assert bytes(Fix.objects.get(dead_letter=indexed[0]).value or b"") == b"mine"
    pk = started(as_operator, fills(1), replace=True)["id"]
    run(pk)
    assert counts(as_operator, pk)["kept"] == 0
    assert bytes(Fix.objects.get(dead_letter=indexed[0]).value or b"") == NULL.replace(b"null", b"1")


def test_undo_takes_its_drafts_away_but_not_what_was_edited_since(as_operator: APIClient, indexed: list[int]) -> None:
    pk = started(as_operator)["id"]
    run(pk)
    page = as_operator.get(f"{API}/dead-letters/{indexed[0]}/fix").json()
    body = {"value": {"base64": base64.b64encode(b"mine").decode()}, "base_updated_at": page["draft"]["updated_at"]}
    assert as_operator.put(f"{API}/dead-letters/{indexed[0]}/fix", body).status_code == 200
    assert post(as_operator, f"bulk-fixes/{pk}/undo", {}, 200)["status"] == "undone"
    assert list(Fix.objects.values_list("dead_letter", flat=True)) == [indexed[0]]
    assert "undone already" in post(as_operator, f"bulk-fixes/{pk}/undo", {}, 409)["detail"]


def test_a_cancelled_one_changes_no_more(as_operator: APIClient, indexed: list[int]) -> None:
    pk = started(as_operator)["id"]
    assert post(as_operator, f"bulk-fixes/{pk}/cancel", {}, 200)["status"] == "cancelled"
    assert run(pk) is False
    assert Fix.objects.count() == 0


def test_its_records_alone_can_be_selected(as_operator: APIClient, indexed: list[int]) -> None:
    pk = started(as_operator)["id"]
    assert "no drafts" in post(as_operator, f"bulk-fixes/{pk}/selection", {}, 409)["detail"]
    run(pk)
    assert post(as_operator, f"bulk-fixes/{pk}/selection", {})["count"] == 30


def test_the_list_counts_the_drafts_of_all_at_once(
    as_operator: APIClient, indexed: list[int], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    pks = [started(as_operator)["id"] for _ in range(8)]
    run(pks[0])
    with django_assert_max_num_queries(9):
        rows = as_operator.get(f"{API}/bulk-fixes").json()["results"]
    assert {row["id"]: row["drafts"] for row in rows} == {**dict.fromkeys(pks, 0), pks[0]: 30}


def test_looking_at_bulk_fixes_reads_no_ids_of_their_records(
    as_operator: APIClient, indexed: list[int], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    imported(as_operator, exported(as_operator))
    pk = started(as_operator)["id"]
    with django_assert_max_num_queries(9) as seen:
        ticked, filtered = (
            row["selection"]["filters"] for row in reversed(as_operator.get(f"{API}/bulk-fixes").json()["results"])
        )
    assert (ticked, set(filtered)) == ({"ticked": 41}, {"from", "to", "include", "exclude"})
    bringing = [query["sql"] for query in seen.captured_queries if '"filters"' in query["sql"].partition(" WHERE ")[0]]
    assert len(bringing) == 1
    assert "NOT" in bringing[0].partition(" WHERE ")[2]  # of those alone that name no ids
    assert as_operator.get(f"{API}/bulk-fixes/{pk}").json()["selection"]["filters"] == filtered


@pytest.mark.sql
def test_the_same_key_selects_its_records_once(as_operator: APIClient, indexed: list[int]) -> None:
    first, second = started(as_operator)["id"], started(as_operator, fills(1))["id"]
    run(first)
    run(second)
    key: dict[str, Any] = {"Idempotency-Key": "once"}
    one = post(as_operator, f"bulk-fixes/{first}/selection", None, **key)
    assert post(as_operator, f"bulk-fixes/{first}/selection", None, **key) == one
    post(as_operator, f"bulk-fixes/{second}/selection", None, expect=409, **key)


@pytest.mark.sql
def test_the_same_key_starts_it_once(as_operator: APIClient, indexed: list[int]) -> None:
    body = {"selection": selected(as_operator), "kind": "jq", "program": GAP}
    one = post(as_operator, "bulk-fixes", body, 201, **{"Idempotency-Key": "a"})
    assert post(as_operator, "bulk-fixes", body, 200, **{"Idempotency-Key": "a"})["id"] == one["id"]
    post(as_operator, "bulk-fixes", {**body, "program": "."}, 409, **{"Idempotency-Key": "a"})


@pytest.mark.slow
@pytest.mark.parametrize("path", ["bulk-fixes", "bulk-fixes/preview"])
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"program": "def f: f; f"}, "did not end within 2 s"),
        ({"program": "$ENV"}, "`$ENV` is not available"),
        ({"program": ".gap = ("}, "jq, line 1"),
        ({"program": "["}, "The patch is not JSON"),
        ({"program": ""}, "The program is empty"),
        ({"selection": 999_999}, "selection: does not exist"),
        ({"kind": "offline"}, "not a valid choice"),
    ],
)
def test_what_can_t_be_used_is_one_sentence_and_nothing_is_kept(
    as_operator: APIClient, indexed: list[int], path: str, body: Any, says: str
) -> None:
    kind = "patch" if body.get("program") == "[" else "jq"
    whole = {"selection": selected(as_operator), "kind": kind, "program": GAP, **body}
    assert says in post(as_operator, path, whole, 400)["detail"]
    assert (Fix.objects.count(), BulkFix.objects.count()) == (0, 0)


@pytest.mark.slow
def test_a_program_that_hangs_on_one_record_only_fails_and_keeps_nothing(as_operator: APIClient) -> None:
    index([letter(offset, value=b'{"n":%d}' % offset) for offset in range(130)])
    rare = "if .n == 118 then (def f: f; f) else .x = 1 end"
    found = DeadLetter.objects.order_by("pk")
    chosen = record_batches.sample(found)
    hidden = next(row.offset for row in found.reverse() if row.pk not in chosen and row.offset > 100)
    pk = started(as_operator, rare.replace("118", str(hidden)))["id"]
    assert run(pk) is False
    answer = as_operator.get(f"{API}/bulk-fixes/{pk}").json()
    assert (answer["status"], answer["drafts"]) == ("failed", 0)
    assert answer["trouble"] == "The program did not end within 2 s."


def test_a_record_without_bytes_or_with_too_many_is_invalid(as_operator: APIClient, indexed: list[int]) -> None:
    DeadLetter.objects.filter(pk=indexed[0]).update(original=Original.EXPIRED)
    DeadLetter.objects.filter(pk=indexed[1]).update(value_size=50 * 1024 * 1024)
    pk = started(as_operator)["id"]
    run(pk)
    whys = {row["text"] for row in as_operator.get(f"{API}/bulk-fixes/{pk}").json()["why"]}
    assert "its original bytes are expired" in whys
    assert any(why.startswith("the value is larger than 1 MB") for why in whys)


def test_a_viewer_reads_and_changes_nothing(as_viewer: APIClient, as_operator: APIClient, indexed: list[int]) -> None:
    pk = started(as_operator)["id"]
    assert as_viewer.get(f"{API}/bulk-fixes/{pk}").status_code == 200
    assert len(as_viewer.get(f"{API}/bulk-fixes").json()["results"]) == 1
    for path in ("bulk-fixes", "bulk-fixes/preview", f"bulk-fixes/{pk}/undo", f"bulk-fixes/{pk}/cancel"):
        post(as_viewer, path, {}, 403)
    assert as_viewer.get(f"{API}/bulk-fixes/export", {"selection": 1}).status_code == 403


def test_somebody_else_s_is_not_undone(as_operator: APIClient, other_operator: APIClient, indexed: list[int]) -> None:
    pk = started(as_operator)["id"]
    assert "Only their author can undo it" in post(other_operator, f"bulk-fixes/{pk}/undo", {}, 409)["detail"]


@pytest.fixture
def other_operator() -> APIClient:
    return signed_in(person("other", "operator"))


@pytest.mark.sql
def test_no_more_records_are_named_than_any_database_takes(
    as_operator: APIClient, indexed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_fixes, "MOST_IDS", 29)
    monkeypatch.setattr(bulk_views, "MOST_IDS", 29)
    rows = exported(as_operator)
    assert imported(as_operator, rows, 400)["detail"] == "file: contains more than 29 records. Import it in parts."
    assert imported(as_operator, rows[:29])["status"] == "done"
    pk = started(as_operator)["id"]
    run(pk)
    assert post(as_operator, f"bulk-fixes/{pk}/selection", {}, 409)["detail"].startswith(
        f"B-{pk} has more than 29 drafts, the limit for a replay of its drafts alone."
    )


@pytest.mark.slow
def test_a_slow_program_is_shown_on_less_and_run_in_smaller_parts(
    as_operator: APIClient, indexed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "TRY_S", 0.0)
    monkeypatch.setattr(previews, "COUNT_S", 0.0)
    body = {"selection": selected(as_operator), "kind": "jq", "program": GAP}
    shown = post(as_operator, "bulk-fixes/preview", body, expect=200)
    assert len(shown["sample"]) == 1
    assert (shown["counts"]["matched"], shown["counted_all"]) == (1, False)
    pk = started(as_operator, f"[range(30000)] as $slow | {GAP}")["id"]
    assert run(pk, 0.01)
    assert 0 < counts(as_operator, pk)["matched"] < len(indexed)
    while run(pk):
        pass
    assert counts(as_operator, pk) == {"matched": 41, "changed": 30, "untouched": 10, "invalid": 1, "kept": 0}

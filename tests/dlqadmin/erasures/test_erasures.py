from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.broker.retention import TopicRetention
from dlqadmin.deadletters.index import decoded_values, reindex, word_index
from dlqadmin.deadletters.index.column_values import pack_headers
from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.index.removal import remove
from dlqadmin.deadletters.models import (
    CountHour,
    DeadLetter,
    DecodedValue,
    ErasedKey,
    ErasedRecord,
    Fingerprint,
    Original,
    QueuedDecoding,
    Trace,
)
from dlqadmin.erasures import erasure_jobs, receipts, tasks
from dlqadmin.erasures.chosen_letters import ChosenLetters, choose
from dlqadmin.erasures.models import Erasure
from dlqadmin.exports import files
from dlqadmin.exports.models import Export, ExportState
from dlqadmin.replays.fixes import draft_storage
from dlqadmin.replays.items import item_states
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.replays.models import (
    BulkFix,
    Fix,
    ItemPayload,
    ItemState,
    Rehearsal,
    ReplacedDraft,
    Replay,
    ReplayItem,
    ReplayStatus,
)
from dlqadmin.replays.rehearsals import rehearsal_jobs
from dlqadmin.rest.idempotency import RequestKey
from engine.schemas.decoding import Decoding
from tests.dlqadmin.conftest import person
from tests.dlqadmin.deadletters.letters import ALL, NOW, index, letter
from tests.dlqadmin.replays.asking import get, post
from tests.dlqadmin.replays.plans.making import plan, reasons

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
CANARY = "Zylphora8841"
KEY = f"person-{CANARY}"
WEEK = f"from={ALL['from']}&to={ALL['to']}"


@pytest.fixture
def indexed() -> list[int]:
    """Two letters of the person, and two of others; all quote their keys everywhere."""
    index([quoting(0, KEY), quoting(1, "person-2"), quoting(2, KEY), quoting(3, "person-3")])
    word_index.write_queued_words()
    return list(DeadLetter.objects.order_by("pk").values_list("pk", flat=True))


def quoting(offset: int, key: str, **more: Any) -> Any:
    return letter(
        offset,
        key=key.encode(),
        value=b'{"name": "%s"}' % key.encode(),
        message=f"the value '{key}' is too long",
        headers=(("x-person", key.encode()),),
        **more,
    )


def erase(client: APIClient, count: int = 2, expect: int = 201, key: str = KEY, **more: Any) -> Any:
    body = {"key_text": key, "confirm_count": count, "reason": "a request of the person", **more}
    return post(client, "erasures", body, expect=expect)


def tables_with(text: str, *ignored: str) -> list[str]:
    """The tables with a row whose text or bytes contain the text."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            if table not in ignored and any(_contains(value, text) for row in cursor.fetchall() for value in row):
                found.append(table)
    return found


def _contains(value: Any, text: str) -> bool:
    raw = bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()
    return text.lower().encode() in raw.lower()


def erased(pk: int) -> DeadLetter:
    row = DeadLetter.objects.select_related("body", "fingerprint").get(pk=pk)
    assert row.original == Original.ERASED
    return row


def with_everything(indexed: list[int], author: User, exports: Any) -> Replay:
    """Drafts, a bulk fix, a planned replay, a rehearsal, a decoded value and an export of all letters."""
    blob, headers = KEY.encode(), pack_headers((("x-person", KEY.encode()),))
    common = {"key": blob, "value": blob, "headers": headers, "digest": "d" * 64}
    fix = Fix.objects.create(
        dead_letter_id=indexed[0], author=author, created_at=NOW, updated_at=NOW, bulk=None, **common
    )
    replay = plan(author)
    bulk = BulkFix.objects.create(
        selection=replay.selection, author=author, kind="jq", program=".", created_at=NOW, sample=indexed,
        counts={"why": [{"text": f"{KEY} is no number", "count": 2, "dead_letter": indexed[0]}], "replace": False},
    )  # fmt: skip
    ReplacedDraft.objects.create(by=bulk, fix=fix, created_at=NOW, updated_at=NOW, **common)
    assert ItemPayload.objects.count() == 1  # of the draft
    Rehearsal.objects.create(
        author=author, wanted={"dead_letters": [indexed[0]], "draft": True}, created_at=NOW, done_at=NOW,
        result=[{"dead_letter": {"id": indexed[0]}, "stages": [{"after": KEY}]}],
    )  # fmt: skip
    DecodedValue.objects.create(dead_letter_id=indexed[0], json=blob)
    QueuedDecoding.objects.create(dead_letter_id=indexed[2], due_at=NOW, reason="no schema")
    name = files.complete("E-1", "0" * 32, "ndjson")
    files.path(name).parent.mkdir(parents=True, exist_ok=True)
    files.path(name).write_text(KEY)
    export_of(exports, file=name, state=ExportState.DONE)
    return replay


def export_of(filters: Mapping[str, Any], **more: Any) -> Export:
    return Export.objects.create(created_at=NOW, format="ndjson", filters=filters, watermark=10**9, **more)


EVERY = {"start": "2026-11-01T00:00:00Z", "end": "2026-12-01T00:00:00Z"}


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Any) -> None:
    settings.EXPORTS_DIR = tmp_path


def test_no_table_and_no_file_has_the_content_afterwards(
    as_admin: APIClient, indexed: list[int], operator: User, django_capture_on_commit_callbacks: Any
) -> None:
    with_everything(indexed, operator, EVERY)
    assert len(tables_with(CANARY)) > 8
    with django_capture_on_commit_callbacks(execute=True):
        answer = erase(as_admin)
    assert (answer["state"], answer["done"], answer["count"]) == ("done", 2, 2)
    assert tables_with(CANARY) == []
    if connection.vendor == "sqlite":  # free pages too
        assert CANARY.encode() not in connection.connection.serialize()
    export = Export.objects.get()
    assert (export.state, list(files.path("").glob("*"))) == (ExportState.DELETED, [])
    assert "X-" in export.trouble
    counts = {row["kind"]: row["count"] for row in answer["erased"]}
    assert counts == {
        "dead_letters": 2, "drafts": 1, "replaced_drafts": 1, "item_payloads": 1, "decoded_values": 1, "texts": 2,
        "fingerprint_examples": 1, "rehearsals": 1, "bulk_fix_reasons": 1, "exports": 1,
    }  # fmt: skip


def test_the_content_of_other_records_stays(as_admin: APIClient, indexed: list[int]) -> None:
    before = DeadLetter.objects.values().get(pk=indexed[1])
    erase(as_admin)
    assert DeadLetter.objects.values().get(pk=indexed[1]) == before
    row = DeadLetter.objects.select_related("body", "trace").get(pk=indexed[1])
    assert (bytes(row.body.key or b""), row.trace is not None) == (b"person-2", True)
    assert Trace.objects.count() == 1


def test_the_numbers_and_the_names_of_headers_stay(as_admin: APIClient, indexed: list[int]) -> None:
    before = list(CountHour.objects.order_by("pk").values())
    groups = get(as_admin, "groups", **ALL)["results"]
    erase(as_admin)
    assert list(CountHour.objects.order_by("pk").values()) == before
    assert get(as_admin, "groups", **ALL)["results"][0]["events"] == groups[0]["events"] == 4
    assert len(get(as_admin, "dead-letters", **ALL)["results"]) == 4
    shown = get(as_admin, f"dead-letters/{indexed[0]}", **ALL)
    assert shown["erased"] == {"at": shown["erased"]["at"], "erasure": f"X-{Erasure.objects.get().pk}"}
    assert {(row["name"], row["is_null"]) for row in shown["headers"]} >= {("x-person", True)}
    assert (shown["key"]["is_null"], shown["value"]["text"], shown["exception"]["message"]) == (False, None, "")
    assert shown["exception"]["class"] == "sqlalchemy.exc.IntegrityError"
    assert shown["timeline"][-1]["kind"] == "erased"


def test_a_key_is_compared_byte_by_byte(as_admin: APIClient, indexed: list[int]) -> None:
    hashed = DeadLetter.objects.get(pk=indexed[0]).key_hash
    DeadLetter.objects.filter(pk=indexed[1]).update(key_hash=hashed)  # another key with the same hash
    assert post(as_admin, "erasures/preview", {"key_text": KEY}, expect=200)["count"] == 2
    assert post(as_admin, "erasures/preview", {"key_base64": "AAA="}, expect=200)["count"] == 0


def test_a_filter_may_include_the_other_records_of_the_same_keys(as_admin: APIClient, indexed: list[int]) -> None:
    query = f"{WEEK}&offset=0"
    assert post(as_admin, "erasures/preview", {"filter": query}, expect=200)["count"] == 1
    body = {"filter": query, "include_origin_key": True}
    assert post(as_admin, "erasures/preview", body, expect=200)["count"] == 2


def test_a_preview_counts_and_changes_nothing(as_admin: APIClient, indexed: list[int], operator: User) -> None:
    with_everything(indexed, operator, EVERY)
    found = post(as_admin, "erasures/preview", {"key_text": KEY}, expect=200)
    numbers = ("count", "drafts", "replaced_drafts", "item_payloads", "exports", "bulk_fix_reasons", "rehearsals")
    assert [found[name] for name in numbers] == [2, 1, 1, 1, 1, 1, 1]
    assert (DeadLetter.objects.filter(original=Original.ERASED).count(), Erasure.objects.count()) == (0, 0)


def test_another_number_than_that_of_the_preview_erases_nothing(as_admin: APIClient, indexed: list[int]) -> None:
    erase(as_admin, count=3, expect=400)
    assert Erasure.objects.count() == 0


def test_a_second_erasure_finds_nothing_left(as_admin: APIClient, indexed: list[int]) -> None:
    erase(as_admin)
    assert post(as_admin, "erasures/preview", {"key_text": KEY}, expect=200)["count"] == 0
    erase(as_admin, expect=409)


def test_the_same_request_is_one_erasure(as_admin: APIClient, indexed: list[int]) -> None:
    body = {"key_text": KEY, "confirm_count": 2, "reason": "asked"}
    header: dict[str, Any] = {"Idempotency-Key": "one"}
    first = post(as_admin, "erasures", body, **header)
    again = post(as_admin, "erasures", body, expect=200, **header)
    assert (first["id"], Erasure.objects.count()) == (again["id"], 1)
    stored = Erasure.objects.get().request_digest
    assert stored != hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()


def test_running_replays_refuse_an_erasure_and_are_named(
    as_admin: APIClient, indexed: list[int], operator: User
) -> None:
    replay = plan(operator)
    Replay.objects.filter(pk=replay.pk).update(status=ReplayStatus.RUNNING)
    assert str(replay) in erase(as_admin, expect=409)["detail"]
    assert post(as_admin, "erasures/preview", {"key_text": KEY}, expect=200)["running_replays"] == [str(replay)]


def test_a_replay_that_began_to_send_meanwhile_makes_the_erasure_wait(
    as_admin: APIClient, indexed: list[int], operator: User
) -> None:
    replay = plan(operator)
    made = stored(as_admin, indexed[0])
    item_states.move(list(replay.items.all()), ItemState.PLANNED, ItemState.QUEUED, NOW)
    tasks.run_now(made.pk, made.heartbeat)
    made.refresh_from_db()
    assert (made.progress, made.state, str(replay) in made.trouble) == (0, "running", True)
    item_states.move(list(replay.items.all()), ItemState.QUEUED, ItemState.SENT, NOW)
    tasks.run_now(made.pk, made.heartbeat)
    erased(indexed[0])


def stored(client: APIClient, *ids: int) -> Erasure:
    """An erasure that no worker has begun."""
    chosen = ChosenLetters(sorted(ids), 0, "records", 10**9)
    wanted = erasure_jobs.ErasureRequest("asked", len(ids), False)
    return erasure_jobs.create(chosen, wanted, User.objects.get(username="admin-1"), RequestKey(), timezone.now())


def test_unsent_items_are_skipped_and_new_plans_leave_erased_records_out(
    as_admin: APIClient, indexed: list[int], operator: User
) -> None:
    replay = plan(operator)
    erase(as_admin)
    assert Counter(replay.items.values_list("state", "reason")) == {("skipped", "erased"): 2, ("planned", ""): 2}
    assert sum(replay.counts.values_list("n", flat=True)) == 4
    assert Counter(reasons(plan(operator)))["erased"] == 2


def test_a_killed_worker_is_followed_by_one_that_counts_nothing_twice(
    as_admin: APIClient, indexed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure_jobs, "SLICE", 1)
    monkeypatch.setattr(erasure_jobs, "SITTING_S", 0.0)
    made = stored(as_admin, *indexed)
    for tried in range(4):
        heartbeat = Erasure.objects.get(pk=made.pk).heartbeat
        claimed = erasure_jobs.ERASURES.claim(made.pk, heartbeat, timezone.now())
        assert claimed
        assert erasure_jobs.go_on(claimed, timezone.now)
        assert Erasure.objects.get(pk=made.pk).progress == tried + 1
        # Killed here: the claim stays until its lease is over.
        Erasure.objects.filter(pk=made.pk).update(heartbeat=timezone.now() - timedelta(hours=1))
    made.refresh_from_db()
    assert not tasks.run_now(made.pk, made.heartbeat)
    made.refresh_from_db()
    assert (made.state, made.counts["dead_letters"], ErasedRecord.objects.count()) == ("done", 4, 4)


def test_a_slice_that_fails_leaves_nothing_half_erased(
    as_admin: APIClient, indexed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = stored(as_admin, *indexed)
    monkeypatch.setattr("dlqadmin.erasures.erased_parts.remove_unused_traces", lambda rows: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tasks.run_now(made.pk, made.heartbeat)
    assert DeadLetter.objects.filter(original=Original.ERASED).count() == ErasedRecord.objects.count() == 0
    monkeypatch.undo()
    made.refresh_from_db()
    tasks.run_now(made.pk, made.heartbeat)
    assert Erasure.objects.get().counts["dead_letters"] == 4


def test_reading_the_topic_again_does_not_bring_the_content_back(as_admin: APIClient, indexed: list[int]) -> None:
    erase(as_admin)
    messages = [quoting(0, KEY), quoting(1, "person-2"), quoting(2, KEY), quoting(3, "person-3")]
    written = reindex.rewrite([parse_message(message, NOW) for message in messages], "local", NOW)
    word_index.write_queued_words()
    assert (written, tables_with(CANARY), DeadLetter.objects.count()) == (2, [], 4)
    DeadLetter.objects.filter(pk=indexed[0]).update(original=Original.ERASED)
    assert index(messages) == 0


def test_a_record_whose_row_retention_deleted_does_not_come_back_either(
    as_admin: APIClient, indexed: list[int]
) -> None:
    erase(as_admin)
    remove([indexed[0]])
    assert index([quoting(0, KEY)]) == 0
    assert tables_with(CANARY) == []


def test_new_letters_cost_no_query_for_erased_records(
    as_admin: APIClient, indexed: list[int], django_assert_num_queries: Any
) -> None:
    erase(as_admin)
    with CaptureQueriesContext(connection) as asked:
        index([quoting(4, "person-4")])
    assert not [query for query in asked.captured_queries if "erasedrecord" in query["sql"]]


def test_a_value_that_was_being_decoded_is_not_stored(as_admin: APIClient, indexed: list[int]) -> None:
    erase(as_admin)

    class Result:
        schema, json = "s", KEY

    decoded_values._store({indexed[0]: Decoding(Result(), ())}, NOW)  # type: ignore[arg-type]  # a fake
    assert DecodedValue.objects.count() == 0


def test_words_that_wait_in_the_queue_are_those_of_the_erased_record(as_admin: APIClient) -> None:
    index([quoting(0, KEY)])  # its words are queued still
    erase(as_admin, count=1)
    word_index.write_queued_words()
    assert tables_with(CANARY) == []


def test_a_person_cannot_save_a_draft_of_an_erased_record(
    as_admin: APIClient, as_operator: APIClient, indexed: list[int]
) -> None:
    erase(as_admin)
    body = {"value": {"text": KEY}, "base_updated_at": None}
    answer = as_operator.put(f"/api/v1/dead-letters/{indexed[0]}/fix", body)
    assert (answer.status_code in (400, 409), Fix.objects.count()) == (True, 0)


def test_future_letters_of_the_key_are_indexed_without_content(as_admin: APIClient, indexed: list[int]) -> None:
    erase(as_admin, future=True)
    assert ErasedKey.objects.get().digest == Erasure.objects.get().key_digest
    assert index([quoting(4, KEY), quoting(5, "person-5")]) == 2
    word_index.write_queued_words()
    assert tables_with(CANARY) == []
    new = DeadLetter.objects.select_related("body").get(offset=4)
    assert (new.original, new.body.value, new.fingerprint_id) == (
        Original.ERASED, None, DeadLetter.objects.get(offset=5).fingerprint_id,
    )  # fmt: skip
    assert sum(CountHour.objects.values_list("n", flat=True)) == 6


def test_letters_of_the_key_that_came_while_the_erasure_was_made_are_erased_too(
    as_admin: APIClient, indexed: list[int]
) -> None:
    admin = User.objects.get(username="admin-1")
    chosen = choose({"key": KEY.encode()}, admin)
    index([quoting(4, KEY), quoting(5, "person-5")])  # before the rule is stored
    made = erasure_jobs.create(chosen, erasure_jobs.ErasureRequest("asked", 2, True), admin, RequestKey(), NOW)
    tasks.run_now(made.pk, made.heartbeat)
    made.refresh_from_db()
    assert (made.count, made.counts["dead_letters"], DeadLetter.objects.get(offset=5).original) == (3, 3, "embedded")


def test_the_trail_tells_of_the_erasure_without_the_key(as_admin: APIClient, indexed: list[int]) -> None:
    get(as_admin, "audit")
    erase(as_admin, future=True)
    entries = AuditEntry.objects.filter(object_type="erasure").order_by("pk")
    assert [entry.action for entry in entries] == ["erase", "erased"]
    assert entries[0].detail["key_digest"] == Erasure.objects.get().key_digest
    assert tables_with(CANARY) == []


def test_rows_that_quote_the_key_and_stay_are_listed(
    as_admin: APIClient, as_operator: APIClient, indexed: list[int]
) -> None:
    chosen = post(as_operator, "selections", {"filter": f"{WEEK}&key={KEY}"})
    post(as_operator, "selections", {"filter": f"{WEEK}&key=person-2"})
    answer = erase(as_admin)
    kept = {row["kind"]: row["ids"] for row in answer["kept"]}
    assert kept["selections"] == [f"S-{chosen['id']}"]
    [entry] = AuditEntry.objects.filter(object_id=f"S-{chosen['id']}")
    assert kept["audit_entries"] == [str(entry.pk)]


def test_an_export_that_is_being_written_is_cancelled_and_others_stay(as_admin: APIClient, indexed: list[int]) -> None:
    running = export_of(EVERY, state=ExportState.RUNNING, claim_token="a")
    other = export_of({**EVERY, "include": {"offset": ("1",)}}, state=ExportState.DONE, file="none")
    waiting = export_of(EVERY)
    erase(as_admin)
    states = dict(Export.objects.values_list("pk", "state"))
    assert states == {running.pk: "cancelled", other.pk: "done", waiting.pk: "queued"}


def test_the_receipt_names_what_kafka_may_still_have(as_admin: APIClient, indexed: list[int], operator: User) -> None:
    replay = plan(operator)
    item = replay.items.get(dead_letter=indexed[0])
    ReplayItem.objects.filter(pk=item.pk).update(state=ItemState.PASSED, sent_partition=0, sent_offset=70, sent_at=NOW)
    Replay.objects.filter(pk=replay.pk).update(status=ReplayStatus.DONE)
    erase(as_admin)
    made = receipts.receipt(Erasure.objects.get(), NOW, Broker())
    told = orjson.loads(made.content)
    body = made.content.removeprefix(b'{"receipt":').rpartition(b',"sha256"')[0]
    assert told["sha256"] == hashlib.sha256(body).hexdigest()
    kafka = told["receipt"]["kafka"]
    rows = {(row["role"], row["offset"]): (row["state"], row["until"]) for row in kafka["records"]}
    assert rows == {
        ("dead_letter", 2): ("leaves", "2026-11-28T03:12:30.000Z"),  # 0 is before the first offset
        ("origin", 48_000): ("unknown", None),
        ("replayed", 70): ("unknown", None),  # 48_002 is beyond the end
    }
    assert [(row["topic"], bool(row["advice"])) for row in kafka["topics"]] == [
        ("usgs.earthquakes", True), ("usgs.earthquakes.dlq", False),
    ]  # fmt: skip
    assert CANARY not in made.content.decode()


class Broker:
    """A cluster with a compacted origin and a dead letter topic that has lost its first record."""

    def retentions(self, names: Sequence[str]) -> Mapping[str, TopicRetention]:
        known = {
            "usgs.earthquakes": TopicRetention(frozenset(["compact"]), -1, -1),
            "usgs.earthquakes.dlq": TopicRetention(frozenset(["delete"]), 7 * 86_400_000, -1),
        }
        return {name: known[name] for name in names}

    def first_offsets(self, partitions: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]:
        return {place: 1 if place[0].endswith("dlq") else 0 for place in partitions}

    def ends(self, partitions: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]:
        return dict.fromkeys(partitions, 48001)


def test_the_receipt_is_a_file_and_its_download_is_audited(as_admin: APIClient, indexed: list[int]) -> None:
    made = erase(as_admin)
    answer = as_admin.get(f"/api/v1/erasures/{made['id']}/receipt")
    assert answer["Content-Disposition"] == f'attachment; filename="erasure-X-{made["id"]}.json"'
    told = answer.json()
    assert told["receipt"]["kafka"]["trouble"]  # Kafka is away, and the receipt says so
    assert told["receipt"]["kafka"]["count"] == 4
    assert AuditEntry.objects.get(action="receipt").detail == {"sha256": told["sha256"]}


def test_groups_lose_the_examples_of_their_variable_parts(as_admin: APIClient, indexed: list[int]) -> None:
    assert any(hole["example"] for row in Fingerprint.objects.all() for hole in row.holes)
    erase(as_admin)
    assert not any(hole["example"] for row in Fingerprint.objects.all() for hole in row.holes)


def test_only_administrators_may_erase(as_operator: APIClient, indexed: list[int]) -> None:
    for path in ("erasures", "erasures/preview"):
        post(as_operator, path, {"key_text": KEY}, expect=403)
    assert as_operator.get("/api/v1/erasures").status_code == 403
    assert person("root-2", None).is_superuser is False


def test_the_result_of_a_rehearsal_that_ran_meanwhile_is_not_kept(
    as_admin: APIClient, indexed: list[int], operator: User
) -> None:
    rehearsal = Rehearsal.objects.create(
        author=operator, wanted={"dead_letters": indexed[:2], "draft": False}, created_at=NOW
    )
    erase(as_admin)
    rehearsal_jobs.perform(rehearsal.pk)
    found = Rehearsal.objects.get().result
    assert [(one["dead_letter"]["id"], one["stages"]) for one in found] == [(indexed[0], []), (indexed[1], [])]
    assert "erased" in found[0]["text"]
    assert "erased" not in found[1]["text"]


def test_a_bulk_fix_that_read_a_record_before_stores_no_draft_of_it(
    as_admin: APIClient, indexed: list[int], operator: User
) -> None:
    bulk = BulkFix.objects.create(
        selection=plan(operator).selection, author=operator, kind="jq", program=".", created_at=NOW
    )
    erase(as_admin)
    message = Outgoing(KEY.encode(), KEY.encode(), ())
    assert draft_storage.keep(bulk, operator, {indexed[0]: message, indexed[1]: message}, NOW, replace=False) == 1
    assert list(Fix.objects.values_list("dead_letter", flat=True)) == [indexed[1]]


def test_a_file_that_a_worker_began_meanwhile_is_deleted_too(as_admin: APIClient, indexed: list[int]) -> None:
    made = stored(as_admin, indexed[0])
    late = {**EVERY, "include": {"key": (KEY,)}}  # which matches nothing any more
    export = export_of(late, state=ExportState.RUNNING, claim_token="a", started_at=timezone.now())
    Export.objects.filter(pk=export.pk).update(watermark=indexed[-1])
    DeadLetter.objects.filter(pk=indexed[0]).update(key_text=None)  # as if the worker had read it just before
    tasks.run_now(made.pk, made.heartbeat)
    assert Export.objects.get().state == "cancelled"

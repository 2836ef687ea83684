"""The content of records is shown to payload readers only, at every door, and each time it is audited."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.core.cache import cache
from django.db import connection
from django.http import HttpResponse
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.entries import record
from dlqadmin.audit.models import AuditEntry
from dlqadmin.audit.permissions import READ_PAYLOADS
from dlqadmin.deadletters.index.word_index import write_queued_words
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import WITHHELD
from dlqadmin.exports.tasks import write_exports
from dlqadmin.overview.live import live_state
from dlqadmin.replays.fixes.bulk_fixes import fresh_counts
from dlqadmin.replays.fixes.drafts import DraftChange, save
from dlqadmin.replays.jobs.views import shared_summary
from dlqadmin.replays.models import BulkFix, FixProgram, Rehearsal, Replay, ReplayItem, Selection
from dlqadmin.rest.read_only_admin import ReadOnlyAdmin
from dlqadmin.teams.reach import EVERYTHING
from engine.record.context import ErrorContext
from engine.record.error_context_json import encode
from engine.record.record import RawRecord, Record
from engine.record.schema import Schema
from engine.record.stage import Stage, StageType
from tests.dlqadmin.conftest import alone, person, signed_in, token_of  # noqa: F401 (every test uses `alone`)
from tests.dlqadmin.deadletters.letters import ALL, NOW, NOW_MS, NST, index, letter, plain
from tests.dlqadmin.exports.reading import body as streamed
from tests.security.operations import described

pytestmark = pytest.mark.django_db

SECRET = "Zx9secret4711"
VALUE = b'{"ssn": "%s", "gap": null}' % SECRET.encode()
API = "/api/v1"
WEEK = urlencode(ALL)
STAGES = (Stage(StageType.TRANSFORMATION, "Cast$Value"),)
NEEDED = f"the right {READ_PAYLOADS.scope}"
# Operations that show content to those who may read it; a new one belongs here, and is audited.
DOORS = {
    "audit_list", "bulk_fixes_export", "bulk_fixes_list", "bulk_fixes_retrieve", "dead_letters_bytes",
    "dead_letters_decoded", "dead_letters_export", "dead_letters_list", "dead_letters_neighbours",
    "dead_letters_replays", "dead_letters_retrieve", "exports_file", "exports_list", "exports_manifest",
    "exports_retrieve", "fix_templates_list", "fixes_decoded", "fixes_list", "fixes_retrieve", "fixes_suggestions",
    "groups_common", "groups_report", "rehearsals_retrieve", "replays_items", "replays_report",
    "saved_searches_list", "selections_fields", "selections_programs",
}  # fmt: skip
# Of these, those that show what people wrote: searches, programs and the reasons that cite values.
WRITTEN_BY_PEOPLE = {
    "audit_list", "bulk_fixes_list", "bulk_fixes_retrieve", "exports_list", "exports_manifest", "exports_retrieve",
    "fix_templates_list", "saved_searches_list", "selections_programs",
}  # fmt: skip
# What an operation is asked beside its plain address.
VARIANTS = {
    "audit_list": ("from=now-1d&to=now",),  # its entries are as old as the test, unlike the dead letters
    "dead_letters_bytes": ("part=key", "part=value", "part=context"),
    "dead_letters_export": ("format=ndjson", "format=csv"),
    "groups_report": ("format=md", "format=json"),
    "replays_report": ("format=md", "format=json"),
    "replays_items": ("order=attention", "order=newest"),
    "metrics_open_work": ("by=state", "by=group"),
}
Ids = dict[str, list[int]]


@pytest.fixture
def operator(db: None) -> User:
    """An operator who may read payloads."""
    return person("operator-1", "operator")


@pytest.fixture
def as_operator(operator: User) -> APIClient:
    return signed_in(operator)


@pytest.fixture
def as_viewer(db: None) -> APIClient:
    return signed_in(person("viewer-1", "viewer"))


@pytest.fixture
def someone(db: None) -> User:
    """An operator who may not read payloads."""
    return person("someone", "operator", payload_reader=False)


@pytest.fixture
def rows(db: None) -> list[int]:
    """Records that hold the secret in key, value and a header."""
    index([_letter(n) for n in range(6)])
    return list(DeadLetter.objects.order_by("pk").values_list("pk", flat=True))


@pytest.fixture
def ids(rows: list[int], operator: User, someone: User, settings: Settings, tmp_path: Path) -> Ids:
    """A database whose records hold the secret everywhere, and all that can be made of them; ids by resource."""
    settings.EXPORTS_DIR = tmp_path / "exports"
    index([letter(100 + n, message=NST) for n in range(6)])
    index([plain(1, _context(), key=SECRET.encode()), plain(2, _source_context()), plain(3, VALUE)])
    write_queued_words()
    client, first = signed_in(operator), DeadLetter.objects.select_related("body").get(pk=rows[0])
    for author in (operator, someone):
        save(first, author, DraftChange(key=SECRET.encode()), None, NOW)
    chosen = [
        _post(client, "selections", {"ids": [first.pk]})["id"],
        _post(client, "selections", {"filter": f"{WEEK}&key={SECRET}"})["id"],
        _post(client, "selections", {"filter": f"{WEEK}&{urlencode({'q': f'value.ssn:{SECRET}'})}"})["id"],
    ]
    replays = [_post(client, "replays", {"selection": one})["id"] for one in chosen]
    ReplayItem.objects.update(state="failed_again", sent_partition=0, sent_offset=1)
    bulk = BulkFix.objects.create(
        selection_id=chosen[0], author=operator, kind="jq", program=f'.ssn = "{SECRET}"', status="done",
        created_at=NOW, heartbeat=NOW, done_at=NOW, trouble=f"jq: error at {SECRET}",
        counts={**fresh_counts(replace=False), "why": [{"text": SECRET, "count": 1, "dead_letter": first.pk}]},
    )  # fmt: skip
    for one in ({"selection_id": chosen[0]}, {"name": "one person", "is_shared": True}):
        FixProgram.objects.create(author=operator, kind="jq", program=f'.ssn = "{SECRET}"', created_at=NOW, **one)
    rehearsals = [_rehearsal(author, first) for author in (operator, someone)]
    export = _post(client, "exports", {"format": "ndjson", "filter": f"{WEEK}&key={SECRET}"})["id"]
    write_exports()
    _post(client, "saved-searches", {"name": "one person", "query": f"key:{SECRET}", "shared": True})
    record(operator, "made drafts", "bulk fix", str(bulk), {"why": [SECRET], "program": SECRET, "trouble": SECRET})
    act = _post(client, "disposals", {"selection": chosen[0], "kind": "park", "reason": "later"})["id"]
    return {
        "dead-letters": [*rows[:2], *DeadLetter.objects.exclude(topic__startswith="usgs").values_list("pk", flat=True)],
        "groups": sorted(set(DeadLetter.objects.values_list("fingerprint__group", flat=True))),
        "exports": [export],
        "bulk-fixes": [bulk.pk],
        "disposals": [act],
        "rehearsals": rehearsals,
        "selections": chosen,
        "replays": replays,
    }


@pytest.mark.slow
@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_no_door_shows_content_without_the_right(ids: Ids, someone: User, role: str) -> None:
    someone.groups.set([Group.objects.get_or_create(name=role)[0]])
    client = signed_in(someone)
    shown = {address for _, address in _operations(ids) if _holds_secret(_asked(client, address))}
    assert shown == set()


@pytest.mark.slow
def test_with_the_right_the_same_doors_show_it_and_each_look_is_audited(ids: Ids, someone: User) -> None:
    someone.groups.add(Group.objects.get(name=READ_PAYLOADS.scope))
    client, shown, unnoticed = signed_in(someone), set(), set()
    for operation, address in _operations(ids):
        cache.clear()  # a repeated look adds no entry
        before = AuditEntry.objects.filter(user=someone).count()
        if _holds_secret(_asked(client, address)):
            shown.add(operation)
            if AuditEntry.objects.filter(user=someone).count() == before:
                unnoticed.add(operation)
    assert shown == DOORS
    assert unnoticed <= WRITTEN_BY_PEOPLE


def test_a_withheld_payload_says_so_and_keeps_its_size(rows: list[int], someone: User) -> None:
    answer = signed_in(someone).get(f"{API}/dead-letters/{rows[0]}").json()
    assert answer["value"] == {
        "size": len(VALUE), "is_null": False, "text": None, "base64": "", "shown": 0, "json": False,
        "parse_error": None, "withheld": True, "masked": False, "masked_members": [],
    }  # fmt: skip
    assert (answer["key_text"], answer["withheld"]) == (None, True)
    assert {header["withheld"] for header in answer["headers"]} == {True}
    assert NEEDED in WITHHELD


@pytest.mark.slow
def test_content_cannot_be_guessed_by_searching_for_it(ids: Ids, someone: User) -> None:
    client = signed_in(someone)
    guesses = [
        f"key={SECRET}", f"not_key={SECRET}", f"text={SECRET}", f"not_text={SECRET}", f"q={SECRET}", f"q=-{SECRET}",
        f"q=key:{SECRET}", f"q=-key:{SECRET}", f"q=value.ssn:{SECRET}", f"q=header.h:{SECRET}",
    ]  # fmt: skip
    searched = {operation for operation, _ in _operations(ids) if _takes_query(operation)}
    assert {"dead_letters_list", "dead_letters_facets", "dead_letters_histogram"} <= searched
    for operation, address in _operations(ids):
        for guess in guesses if operation in searched else ():
            answer = client.get(f"{address}&{guess}")
            assert answer.status_code == 403, (address, guess)
            assert NEEDED in answer.json()["detail"]
    for guess in guesses:
        for path, body in (("selections", {}), ("exports", {"format": "csv"})):
            answer = client.post(f"{API}/{path}", {**body, "filter": f"{WEEK}&{guess}"})
            assert (answer.status_code, NEEDED in answer.json()["detail"]) == (403, True), (path, guess)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("put", "dead-letters/{letter}/fix"),
        ("delete", "dead-letters/{letter}/fix"),
        ("post", "bulk-fixes"),
        ("post", "bulk-fixes/preview"),
        ("post", "bulk-fixes/import"),
        ("post", "fix-templates"),
        ("post", "rehearsals"),
        ("post", "exports"),
    ],
)
def test_an_operator_without_the_right_edits_nothing(rows: list[int], someone: User, method: str, path: str) -> None:
    answer = getattr(signed_in(someone), method)(f"{API}/{path.format(letter=rows[0])}", {})
    assert answer.status_code == 403
    assert NEEDED in answer.json()["detail"]


def test_an_operator_without_the_right_still_replays_records_as_they_are(rows: list[int], someone: User) -> None:
    client = signed_in(someone)
    chosen = _post(client, "selections", {"ids": [rows[3]]})
    planned = _post(client, "replays", {"selection": chosen["id"]})
    assert planned["counts"]["total"] == 1
    assert not _holds_secret(msgspec.json.encode([chosen, planned]))


@pytest.mark.slow
def test_the_title_of_a_selection_names_no_content(ids: Ids, as_operator: APIClient) -> None:
    titles = {as_operator.get(f"{API}/selections/{pk}").json()["title"] for pk in ids["selections"]}
    assert titles == {"record usgs.earthquakes.dlq / 0 / 0", "key …", "value.ssn …"}


def test_a_repeated_look_within_five_minutes_is_one_entry(rows: list[int], as_operator: APIClient) -> None:
    one, other = rows[:2]
    before = _reads()
    for pk in (one, one, other):
        as_operator.get(f"{API}/dead-letters/{pk}")
    entries = AuditEntry.objects.filter(action="read payload").order_by("-pk")[: _reads() - before]
    assert [(row.object_type, row.detail["id"], row.detail["what"]) for row in entries] == [
        ("dead letter", other, "record"),
        ("dead letter", one, "record"),
    ]


@pytest.mark.slow
def test_a_look_from_elsewhere_or_with_a_token_is_an_entry_of_its_own(rows: list[int], operator: User) -> None:
    before, path = _reads(), f"{API}/dead-letters/{rows[0]}"
    clients = [signed_in(operator), signed_in(operator)]
    clients += [APIClient(headers={"Authorization": f"Bearer {token_of(operator)}"}) for _ in range(2)]
    for _ in range(2):
        for client in clients:
            for address in ("192.0.2.1", "192.0.2.2"):
                assert client.get(path, REMOTE_ADDR=address).status_code == 200
    assert _reads() == before + 2 * 3  # both sessions count as one, each token by itself


def test_a_page_of_the_list_is_one_entry_with_its_filter_and_count(rows: list[int], as_operator: APIClient) -> None:
    before = _reads()
    as_operator.get(f"{API}/dead-letters?{WEEK}&limit=5&query_id=12345678")
    assert _reads() == before + 1
    entry = AuditEntry.objects.latest("pk")
    assert (entry.actor, entry.object_type, entry.detail["records"]) == ("operator-1", "dead letters", 5)
    assert entry.detail["filter"] == f"{WEEK}&limit=5"


@pytest.mark.parametrize("what", ["facets", "histogram"])
def test_counts_that_content_narrows_are_audited_with_their_filter(
    rows: list[int], as_operator: APIClient, what: str
) -> None:
    before = _reads()
    as_operator.get(f"{API}/dead-letters/{what}?{WEEK}&topic=usgs.earthquakes.dlq&query_id=12345678")
    assert _reads() == before  # a topic is no content
    as_operator.get(f"{API}/dead-letters/{what}?{WEEK}&key={SECRET}&query_id=12345678")
    assert _reads() == before + 1
    entry = AuditEntry.objects.latest("pk")
    assert (entry.object_type, entry.object_id) == ("dead letters", what)
    assert entry.detail["filter"] == f"{WEEK}&key={SECRET}"


def test_a_frozen_selection_is_audited_with_its_filter(rows: list[int], as_operator: APIClient) -> None:
    _post(as_operator, "selections", {"filter": f"?{WEEK}&key={SECRET}"})
    assert AuditEntry.objects.get(action="froze").detail["filter"] == f"{WEEK}&key={SECRET}"
    _post(as_operator, "selections", {"ids": rows[:1]})
    assert "filter" not in AuditEntry.objects.filter(action="froze").latest("pk").detail


@pytest.mark.sql
def test_what_cannot_be_audited_is_not_shown(rows: list[int], as_operator: APIClient, as_viewer: APIClient) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_auditentry RENAME TO audit_away")
    for path in ("", f"/{rows[0]}", f"/{rows[0]}/bytes"):
        answer = as_operator.get(f"{API}/dead-letters{path}", ALL)
        assert answer.status_code == 503
        assert "audit trail" in answer.json()["detail"]
    assert as_viewer.get(f"{API}/dead-letters", ALL).status_code == 200  # nothing is shown that must be audited


def test_no_export_is_written_for_an_author_who_lost_the_right(
    operator: User, settings: Settings, tmp_path: Path
) -> None:
    settings.EXPORTS_DIR = tmp_path / "exports"
    index([_letter(1)])
    client = signed_in(operator)
    made = _post(client, "exports", {"format": "ndjson", "filter": WEEK})
    operator.groups.remove(Group.objects.get(name=READ_PAYLOADS.scope))
    write_exports()
    answer = client.get(f"{API}/exports/{made['id']}").json()
    assert (answer["state"], NEEDED in answer["trouble"]) == ("failed", True)


@pytest.mark.slow
def test_the_admin_shows_no_content(ids: Ids, someone: User) -> None:
    User.objects.filter(pk=someone.pk).update(is_staff=True)
    someone.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client = signed_in(User.objects.get(pk=someone.pk))
    index_page = client.get("/admin/")
    assert index_page.status_code == 200
    seen = 0
    for path in (
        "deadletters/deadletter",
        "deadletters/group",
        "replays/selection",
        "replays/replay",
        "audit/auditentry",
    ):
        page = client.get(f"/admin/{path}/")
        rows = AuditEntry.objects if "audit" in path else None
        pks = [*ids.get({"deadletter": "dead-letters"}.get(path.split("/")[1], f"{path.split('/')[1]}s"), [])]
        pks += list(rows.values_list("pk", flat=True)) if rows else []
        pages = [page, *(client.get(f"/admin/{path}/{pk}/change/") for pk in pks)]
        assert {one.status_code for one in pages} == {200}, path
        assert not [one for one in pages if _holds_secret(one.content)], path
        seen += len(pages)
    assert seen > len(ids["dead-letters"])


@pytest.mark.parametrize(
    "lookup",
    [
        "deadletters/deadletter/?key_text__startswith=a",
        "deadletters/deadletter/?key_hash=1",
        "deadletters/deadletter/?body__value__contains=a",
        "deadletters/fingerprint/?group__fingerprints__deadletter__key_text__startswith=a",
        "replays/selection/?filters__icontains=a",
        "replays/replay/?selection__filters__icontains=a",
        "replays/ledgerentry/?item__dead_letter__key_text=a",
        "audit/auditentry/?detail__icontains=a",
        "audit/auditentry/?detail__filter__startswith=a",
        "accounts/apitoken/?digest__startswith=a",
        "accounts/apitoken/?owner__password__startswith=a",
    ],
)
def test_the_admin_filters_by_no_hidden_field(db: None, lookup: str) -> None:
    client = signed_in(User.objects.create_superuser("root", password="x"))
    assert client.get(f"/admin/{lookup}").status_code == 400


@pytest.mark.parametrize("lookup", ["audit/auditentry/?action__exact=froze", "deadletters/deadletter/?topic=a.dlq"])
def test_the_admin_filters_by_the_columns_of_its_lists(db: None, lookup: str) -> None:
    client = signed_in(User.objects.create_superuser("root", password="x"))
    assert client.get(f"/admin/{lookup}").status_code == 200


def test_every_page_of_ours_in_the_admin_refuses_hidden_fields() -> None:
    ours = [one for one in admin.site._registry.values() if type(one).__module__.startswith("dlqadmin.")]
    assert len(ours) > 7
    assert not [one for one in ours if not isinstance(one, ReadOnlyAdmin)]


def test_a_superuser_reads_payloads(db: None) -> None:
    client = signed_in(User.objects.create_superuser("root"))
    assert client.get(f"{API}/session").json()["payload_reader"] is True


def test_the_right_without_a_role_is_none(db: None) -> None:
    client = signed_in(person("guest", None, payload_reader=True))
    assert client.get(f"{API}/session").json()["payload_reader"] is False


@pytest.mark.sql
def test_an_upgrade_gives_the_right_to_operators_and_approvers(db: None) -> None:
    people = {role: person(role, role, payload_reader=False) for role in ("viewer", "operator", "approver")}
    migration: Any = import_module("dlqadmin.audit.migrations.0004_payload_readers")
    migration.give_right(apps, SimpleNamespace(connection=connection))
    members = User.objects.filter(groups__name=READ_PAYLOADS.scope)
    assert set(members) == {people["operator"], people["approver"]}


@pytest.mark.sql
def test_an_upgrade_takes_content_out_of_old_titles(rows: list[int]) -> None:
    known: dict[str, Any] = {"created_at": NOW, "watermark": 1, "count": 1, "digest": "d"}
    by_key = {"include": {"topic": ["t"], "key": [SECRET]}, "exclude": {}}
    before = (
        ({"ids": [rows[0]]}, f"record {SECRET}", "record usgs.earthquakes.dlq / 0 / 0"),
        (by_key, f"topic t; key {SECRET}", "topic t; key …"),
        ({"ids": rows}, f"value.ssn {SECRET}", "records found by their content"),
        ({"ids": rows}, "6 ticked records", "6 ticked records"),
        ({"include": {"topic": ["t"]}, "exclude": {}}, "topic t", "topic t"),
    )
    made = [Selection.objects.create(filters=filters, title=title, **known) for filters, title, _ in before]
    replay = Replay.objects.create(selection=made[0], title=made[0].title, planned_at=NOW, created_at=NOW)
    migration: Any = import_module("dlqadmin.replays.migrations.0014_titles_without_keys")
    migration.hide_content(apps, SimpleNamespace(connection=connection))
    titles = [Selection.objects.get(pk=one.pk).title for one in made]  # PostgreSQL's JSON has an order of its own
    assert [set(title.split("; ")) for title in titles] == [set(after.split("; ")) for _, _, after in before]
    assert Replay.objects.get(pk=replay.pk).title == before[0][2]


def _letter(offset: int) -> RawRecord:
    """A dead letter with the secret in key, value and a header; the key also as bytes that are no text."""
    key = SECRET.encode() if offset else b"\xff" + SECRET.encode()
    return letter(offset, key=key, value=VALUE, headers=(("h", SECRET.encode()),))


def _context() -> bytes:
    """An error context that holds the original record."""
    original = RawRecord("people", 0, 5, NOW_MS, "CREATE_TIME", SECRET.encode(), VALUE, (("h", SECRET.encode()),))
    return encode(_error(Record("people", 0, NOW_MS, SECRET.encode(), VALUE), original), include_messages=True)


def _source_context() -> bytes:
    """An error context of a source connector's record."""
    row = Record(
        "rows", None, NOW_MS, None, {"ssn": SECRET}, None, Schema("STRUCT"),
        source_partition={"table": "people"}, source_offset={"incrementing": 7},
    )  # fmt: skip
    return encode(_error(row, None), include_messages=True)


def _error(failed: Record, original: RawRecord | None) -> ErrorContext:
    return ErrorContext(
        record=failed, original=original, stages=STAGES, index=0, exception="TransformError: no",
        exception_class="TransformError", message="no", root_class="TransformError", root_message="no", attempt=0,
        task_id="people-0", connector="people", time_of_error=NOW_MS, first_failure_time=NOW_MS, elapsed_ms=0,
    )  # fmt: skip


def _rehearsal(author: User, row: DeadLetter) -> int:
    after = {"value": {"schema": None, "value": SECRET, "base64": False, "cut": False}}
    stage = {
        "type": "VALUE_CONVERTER",
        "name": "value.converter",
        "class": "JsonConverter",
        "state": "ok",
        "after": after,
    }
    made = Rehearsal.objects.create(
        author=author, wanted={"dead_letters": [row.pk]}, result=[{"stages": [stage]}], created_at=NOW, done_at=NOW
    )
    return made.pk


def _operations(ids: Ids) -> Iterator[tuple[str, str]]:
    """Every GET operation of the description with the addresses that are asked of it."""
    for template, methods in described()["paths"].items():
        if "get" not in methods:
            continue
        operation = methods["get"]["operationId"]
        variants = VARIANTS.get(operation, ("connector=people" if operation.startswith("metrics_") else "",))
        if operation == "bulk_fixes_export":
            variants = tuple(f"selection={pk}" for pk in ids["selections"])
        for path in _paths(template, ids):
            for variant in variants:
                yield operation, f"{path}?{WEEK}&{variant}"


def _paths(template: str, ids: Ids) -> list[str]:
    resource = template.removeprefix(f"{API}/").split("/")[0]
    if "{id}" in template:
        # A resource without content, such as an alert rule, has no row here, and answers 404.
        return [template.replace("{id}", str(pk)) for pk in ids.get(resource, [1])]
    if "{topic}" in template:
        row = DeadLetter.objects.order_by("pk")[0]
        return [template.format(topic=row.topic, partition=row.partition, offset=row.offset)]
    template = template.replace("{name}", "people").replace("{partition}", "0").replace("{offset}", "0")
    assert "{" not in template, f"{template} has a parameter that this walk does not know"
    return [template]


def _takes_query(operation: str) -> bool:
    """Return whether a filter by key, text or query narrows the operation's answer."""
    paths = described()["paths"].values()
    of = [methods["get"] for methods in paths if methods.get("get", {}).get("operationId") == operation]
    return any(one["name"] == "not_key" for one in of[0].get("parameters", ()))


def _asked(client: APIClient, address: str) -> bytes:
    """The whole body of the answer; of live events the first one."""
    if "/live?" in address:
        return msgspec.json.encode(live_state())
    if "/events?" in address:
        return msgspec.json.encode(shared_summary((int(address.split("/")[-2]), EVERYTHING)))
    response: Any = client.get(address)
    assert response.status_code in ALLOWED, (address, response.content)
    return streamed(response) if response.streaming else _content(response)


ALLOWED = (200, 403, 404, 409, 503)


def _content(response: HttpResponse) -> bytes:
    return response.content


def _holds_secret(body: bytes) -> bool:
    return any(form in body or form in body.lower() for form in FORMS)


def _forms() -> Iterator[bytes]:
    """The secret as text, as hexadecimal digits, and as base64 at each of the places where it may begin."""
    data = SECRET.encode()
    yield data
    yield data.hex().encode()
    for before in range(3):
        whole = base64.b64encode(bytes(before) + data)
        yield whole[4:-4]


FORMS = tuple(_forms())


def _reads() -> int:
    return AuditEntry.objects.filter(action="read payload").count()


def _post(client: APIClient, path: str, body: dict[str, Any]) -> Any:
    response = client.post(f"{API}/{path}", body)
    assert response.status_code in (200, 201), response.content
    return response.json()

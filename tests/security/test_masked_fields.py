"""Masked fields are shown at no door, in no form, to people whom a rule does not except."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.alerts.models import AlertFiring
from dlqadmin.alerts.notices import firing_message
from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import Fingerprint, Group
from dlqadmin.erasures.models import Erasure
from dlqadmin.masking.models import MaskingRule
from dlqadmin.notifications import deliveries
from dlqadmin.overview import attention, dismissals
from dlqadmin.overview.findings import Finding
from dlqadmin.replays.models import Replay, ReplayItem
from tests.dlqadmin.alerts import rigs
from tests.dlqadmin.conftest import alone, member, person, signed_in, team  # noqa: F401 (every test uses `alone`)
from tests.dlqadmin.deadletters.letters import NOW
from tests.dlqadmin.exports.reading import body as streamed
from tests.security.operations import bodies, operations
from tests.security.test_payload_reader import (  # noqa: F401 (fixtures)
    API,
    SECRET,
    WEEK,
    Ids,
    _asked,
    _holds_secret,
    _operations,
    _post,
    ids,
    operator,
    rows,
    someone,
)

pytestmark = pytest.mark.django_db
ADMIN = {"team": None, "role": "admin"}


def rule(kind: str, field: str, show: str = "last four", *topics: str, **more: Any) -> MaskingRule:
    return MaskingRule.objects.create(
        topics=topics or ["*"],
        kind=kind,
        field=field,
        show=show,
        reason="private",
        created_at=timezone.now(),
        changed_at=timezone.now(),
        **more,
    )


def by_path() -> None:
    rule("json path", "$.ssn", "hash")
    rule("json path", "key.$")
    rule("header", "h", "nothing")


def by_expression() -> None:
    rule("regular expression", r"Zx9\w+", "nothing")


@pytest.mark.slow
@pytest.mark.parametrize("make", [by_path, by_expression])
def test_no_door_shows_a_masked_field(ids: Ids, operator: User, make: Any) -> None:  # noqa: F811 (the fixture)
    make()
    reader = person("masked", "operator")
    shown = set()
    for client in (signed_in(reader), signed_in(operator)):  # of the second, the drafts and programs are their own
        shown |= {operation for operation, address in _operations(ids) if holds(_asked(client, address))}
    assert shown - OWN_WORDS == set()


@pytest.mark.slow
@pytest.mark.parametrize("make", [by_path, by_expression])
def test_no_write_answers_with_a_masked_field(ids: Ids, operator: User, make: Any) -> None:  # noqa: F811 (the fixture)
    make()
    answers = [_written(signed_in(one), ids) for one in (person("masked", "operator"), operator)]
    assert {operation for _, shown in answers for operation in shown} - WROTE_IT == set()
    answered = {operation for succeeded, _ in answers for operation in succeeded}
    assert {"fixes_save", "bulk_fixes_preview", "bulk_fixes_create", "selections_create"} <= answered


def _written(client: APIClient, ids: Ids) -> tuple[set[str], set[str]]:  # noqa: F811 (the fixture)
    """Try each write, and undo it. Return the operations that succeeded, and those whose answer holds the secret."""
    answered, shown = set(), set()
    for operation, method, address, body in _writes(ids):
        with transaction.atomic():
            data = "" if body is None else json.dumps(body)
            answer: Any = client.generic(method, address, data, "application/json", headers=GZIP)
            content = streamed(answer) if answer.streaming else answer.content
            transaction.set_rollback(True)
        assert answer.status_code < 500 or answer.status_code in (501, 502, 503, 504), (address, answer.content)
        if answer.status_code < 300:
            answered.add(operation)
        if holds(content):
            shown.add(operation)
    return answered, shown


@pytest.mark.slow
def test_no_title_that_the_program_made_shows_a_masked_field(titled: Ids) -> None:
    by_path()
    client = signed_in(User.objects.get(username="root"))
    shown = {address for _, address in _operations(titled) if holds(_asked(client, address))}
    assert shown == set()


def test_a_group_without_its_title_is_named_by_exception_and_number(titled: Ids) -> None:
    by_path()
    groups = signed_in(User.objects.get(username="root")).get(f"/api/v1/groups?{WEEK}").json()["results"]
    named = [f"{row['exception_class'].rpartition('.')[2]} (group {row['id']})" for row in groups]
    assert named
    assert [row["title"] for row in groups] == named


@pytest.mark.slow
def test_no_write_answers_with_such_a_title(titled: Ids) -> None:
    by_path()
    answered, shown = _written(signed_in(User.objects.get(username="root")), titled)
    assert shown - WROTE_IT == set()
    assert {"groups_resolve", "groups_split", "regroupings_undo", "selections_create", "erasures_preview"} <= answered


@pytest.mark.slow
def test_the_titles_are_shown_to_people_without_masked_fields(titled: Ids) -> None:
    client = signed_in(User.objects.get(username="root"))
    shown = {operation for operation, address in _operations(titled) if holds(_asked(client, address))}
    assert TITLED - shown == set()


@pytest.mark.slow
def test_the_admin_shows_no_masked_field(titled: Ids) -> None:
    by_path()
    client = signed_in(User.objects.get(username="root"))
    assert client.get("/admin/").status_code == 200
    for model in ("deadletter", "group", "fingerprint"):
        assert client.get(f"/admin/deadletters/{model}/").status_code == 403
        assert client.get(f"/admin/deadletters/{model}/1/change/").status_code in (302, 403)
    entries = [f"audit/auditentry/{pk}/change" for pk in AuditEntry.objects.values_list("pk", flat=True)]
    titles = [f"replays/{name}/{pk}/change" for name in ("selection", "replay") for pk in titled[f"{name}s"]]
    pages = [client.get(f"/admin/{path}/") for path in ("replays/replay", "replays/selection", *entries, *titles)]
    assert {page.status_code for page in pages} == {200}
    assert not [page for page in pages if holds(page.content)]


# The doors that show a group's title, or a text that has it.
TITLED = {
    "alerts_list", "alerts_retrieve", "audit_list", "dismissals_list", "deliveries_list", "groups_list",
    "groups_report", "groups_retrieve", "mentions_list", "metrics_errors", "metrics_open_work", "replays_report",
}  # fmt: skip


@pytest.fixture
def titled(ids: Ids, operator: User) -> Ids:  # noqa: F811 (the fixtures)
    """Groups whose titles quote the secret, and all that people without masked fields make of them."""
    root = User.objects.create_superuser("root", password="x")
    Group.objects.update(title=f"IntegrityError: duplicate ssn {SECRET}")
    Fingerprint.objects.update(message=f"duplicate ssn {SECRET}")
    client, (one, *others) = signed_in(operator), ids["groups"]
    chosen = _post(client, "selections", {"filter": f"{WEEK}&group={one}"})["id"]
    removed, replay = (_post(client, "replays", {"selection": chosen})["id"] for _ in range(2))
    assert client.delete(f"{API}/replays/{removed}").status_code == 204
    ReplayItem.objects.filter(replay=replay).update(state="failed_again", sent_partition=0, sent_offset=1)
    Replay.objects.filter(pk=replay).update(status="done", started_at=NOW, sent_at=NOW, done_at=NOW)
    for finding in attention.replays([(Replay.objects.get(pk=replay), 1, 1)], {}):
        dismissals.dismiss(finding, operator, "known", None, NOW)
    group = Group.objects.get(pk=one)
    about = Finding("new", str(one), group.title, "", NOW, "", object_type="group", object_id=str(one))
    dismissals.dismiss(about, operator, "known", None, NOW)
    _post(client, f"groups/{one}/notes", {"text": f"look at this, @{root}"})
    _post(client, "groups/merge", {"groups": others[:2], "reason": "the same"})
    firing = AlertFiring.objects.create(
        rule_name="r", condition="new_group", subject_kind="group", subject_key=str(one), title=group.title,
        started_at=NOW, last_seen=NOW,
    )  # fmt: skip
    deliveries.queue(rigs.channel(), firing_message(firing, "opened"), "k", source="rule 1")
    _post(client, f"alerts/{firing.pk}/acknowledge", {})
    erased = _post(signed_in(root), "erasures/preview", {"filter": f"{WEEK}&group={one}", "include_origin_key": False})
    erasure = Erasure.objects.create(
        title=erased["title"], reason="r", ids=b"", count=0, watermark=1, created_at=NOW, heartbeat=NOW
    )
    return ids | {
        "selections": [*ids["selections"], chosen], "replays": [*ids["replays"], replay], "erasures": [erasure.pk],
        "alerts": [firing.pk],
    }  # fmt: skip


GZIP = {"Accept-Encoding": "gzip"}
# A reveal is asked for, and audited. The others answer with the person's own words.
WROTE_IT = {"dead_letters_reveal", "exports_destroy"}


def _writes(ids: Ids) -> Iterator[tuple[str, str, str, Any]]:  # noqa: F811 (the fixture)
    """Yield each write with bodies that fit it, the end of the session last."""
    letters, chosen = ids["dead-letters"], ids["selections"][0]
    known = {
        "ids": letters[:2], "dead_letters": letters[:2], "source": letters[0], "selection": chosen, "part": "value",
        "groups": ids["groups"], "into": ids["groups"][0], "replay": ids["replays"][0], "reason": "a reason",
        "path": "", "header": "", "format": "ndjson", "filter": WEEK, "kind": "patch", "topic": "usgs.earthquakes.dlq",
        "program": '[{"op": "replace", "path": "/gap", "value": 0}]', "key": {"base64": None}, "base64": None,
        "value": {"base64": None}, "base_updated_at": None, "json": "{}", "headers": [],
    }  # fmt: skip
    # Bodies that succeed where those of the description alone do not.
    plausible: dict[str, list[Any]] = {
        "erasures_preview": [{"filter": f"{WEEK}&group={ids['groups'][0]}", "include_origin_key": False}],
        "fixes_save": [{}],
        "groups_split": [{"fingerprints": [pk]} for pk in Fingerprint.objects.values_list("pk", flat=True)],
        "selections_create": [{"ids": letters[:2]}],
    }
    names = {"connectors": "people", "topics": "usgs.earthquakes.dlq", "clusters": "local", "dialects": "none"}
    for name, method, path, operation in sorted(operations(), key=lambda row: row[0] == "session_destroy"):
        if method == "GET" or name == "session_destroy":
            continue
        resource = path.removeprefix(f"{API}/").split("/")[0]
        address = re.sub(r"\{(?!id\})\w+\}", names.get(resource, "0"), path)
        for pk in ids.get(resource, [1]) if "{id}" in address else [0]:
            for body in [*bodies(operation, known), *plausible.get(name, ())]:
                yield name, method, address.replace("{id}", str(pk)), body


# What a person wrote themselves is shown to them.
OWN_WORDS = {"exports_list", "exports_retrieve", "exports_manifest", "fix_templates_list", "saved_searches_list",
             "selections_programs"}  # fmt: skip


def holds(body: bytes) -> bool:
    plain = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
    return _holds_secret(plain) or SECRET.encode("utf-16-le") in plain

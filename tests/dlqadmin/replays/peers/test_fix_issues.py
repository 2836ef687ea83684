"""What users of other tools lost by editing and sending again, each by the issue that tells of it."""

from __future__ import annotations

import base64
import json

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes import bulk_fixes, drafts
from dlqadmin.replays.fixes.drafts import DraftChange
from dlqadmin.replays.fixes.previews import BulkFixRequest
from dlqadmin.replays.items.item_rows import Loaded, load
from dlqadmin.replays.items.messages import stamped
from dlqadmin.replays.plans import planner
from dlqadmin.replays.plans.planner import Options
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from engine.record.replay import ATTEMPT, ID, ITEM, LETTER
from tests.dlqadmin.conftest import person
from tests.dlqadmin.deadletters.letters import ALL, NOW, index, index_one, letter
from tests.dlqadmin.replays.clusters import FakeCluster

pytestmark = pytest.mark.django_db
API = "/api/v1"
WEEK = f"from={ALL['from']}&to={ALL['to']}"
NULL = b'{ "id": 9007199254740993, "gap":null }'


@pytest.fixture
def operator() -> User:
    return person("one", "operator")


def planned(actor: User) -> list[Loaded]:
    chosen = frozen_selections.by_filter(WEEK, actor, RequestKey(), NOW)
    replay = planner.create(chosen, Options(), "", actor, RequestKey(), NOW, FakeCluster())
    return load(replay, replay.items.all())


def fixed_in_bulk(actor: User) -> None:
    chosen = frozen_selections.by_filter(WEEK, actor, RequestKey(), NOW)
    made = bulk_fixes.start(
        frozen_selections.rows(chosen), chosen, BulkFixRequest("jq", ".gap //= 0"), actor, RequestKey(), timezone.now()
    )
    bulk_fixes.go_on(made, frozen_selections.rows, timezone.now)


def test_servicepulse_2424_of_an_edited_record_only_the_edited_one_is_sent(operator: User) -> None:
    """Particular/ServicePulse #2424, ServiceControl #4983: edit & retry sends both the edited and the original."""
    index([letter(offset, value=NULL) for offset in range(3)])
    fixed_in_bulk(operator)
    items = planned(operator)
    assert [item.state for item in items] == ["planned"] * 3
    assert [item.message().value for item in items] == [NULL.replace(b"null", b"0")] * 3


def test_servicepulse_2424_an_edited_record_that_failed_twice_is_sent_once(operator: User) -> None:
    older, newer = index_one(letter(1, value=NULL)), index_one(letter(2, value=NULL))
    DeadLetter.objects.filter(pk=newer.pk).update(origin_offset=older.origin_offset)
    drafts.save(older, operator, DraftChange(value=b"{}"), None, NOW)
    assert [(item.dead_letter, item.state) for item in planned(operator)] == [
        (older.pk, "planned"),
        (newer.pk, "skipped"),
    ]


def test_servicecontrol_5122_a_plan_tells_how_many_are_edited(operator: User) -> None:
    """Particular/ServiceControl #5122: "Not informing users about Edit & retry being ignored"."""
    index([letter(0, value=NULL), letter(1, value=b'{"gap":1}'), letter(2, value=b"broken")])
    fixed_in_bulk(operator)
    assert [item.edited for item in planned(operator)] == [True, False, False]


@pytest.mark.parametrize("value", [b"\x00\x00\x00\x00", b"", None, b"\xff\xfe not text", b'{ "a" :1.0 }'])
def test_azure_721_bytes_that_nobody_opened_are_sent_as_they_were(operator: User, value: bytes | None) -> None:
    """Azure/azure-service-bus #721: sends an empty 4-byte body unless the body was opened first."""
    index_one(letter(1, value=value, headers=(("h", None), ("h", b"\xff"))))
    [item] = planned(operator)
    sent = item.message()
    assert (item.edited, sent.key, sent.value) == (False, b"ci37868135", value)
    assert sent.headers == (("h", None), ("h", b"\xff"))


def test_azure_721_a_bulk_fix_does_not_touch_what_it_does_not_change(operator: User) -> None:
    values = [b'{ "gap" :1.0 }', b"\x00\x00\x00\x00", b"", NULL]
    index([letter(offset, value=value) for offset, value in enumerate(values)])
    fixed_in_bulk(operator)
    assert sorted(item.message().value or b"" for item in planned(operator)) == sorted(
        [*values[:3], NULL.replace(b"null", b"0")]
    )


def test_kafka_ui_1810_headers_of_an_earlier_replay_are_neither_prefilled_nor_doubled(as_operator: APIClient) -> None:
    """kafbat/kafka-ui #1810: a replayed header broke replication; spring-kafka #1994: headers grow with each try."""
    own = ((ID, b"old"), (ITEM, b"old/1"), (ATTEMPT, b"1"), ("trace", b"t"))
    row = index_one(letter(1, value=NULL, headers=own))
    page = as_operator.get(f"{API}/dead-letters/{row.pk}/fix").json()
    assert [header["name"] for header in page["original"]["headers"]] == ["trace"]
    operator = User.objects.get(groups__name="operator")
    fixed_in_bulk(operator)
    sent = stamped(planned(operator)[0].message().headers, "new", "new/1", 2, "dlq/0/1")
    assert [name for name, _ in sent] == ["trace", ID, ITEM, ATTEMPT, LETTER]


@pytest.mark.parametrize("name", [ID, ITEM, ATTEMPT, LETTER])
def test_kafka_ui_1810_no_fix_writes_a_replay_s_own_headers(as_operator: APIClient, name: str) -> None:
    row = index_one(letter(1, value=NULL))
    headers = [{"name": name, "value": {"base64": base64.b64encode(b"x").decode()}}]
    assert as_operator.put(f"{API}/dead-letters/{row.pk}/fix", {"headers": headers}).status_code == 400
    chosen = as_operator.post(f"{API}/selections", {"ids": [row.pk]}).json()["id"]
    program = json.dumps([{"act": "set_header", "name": name, "value": "x"}])
    body = {"selection": chosen, "kind": "fields", "program": program}
    assert as_operator.post(f"{API}/bulk-fixes/preview", body).status_code == 400

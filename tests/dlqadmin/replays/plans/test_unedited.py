"""A plan warns of records that go back as they failed, unless something is known to have changed since."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from dlqadmin.audit.entries import record
from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes import drafts
from dlqadmin.replays.fixes.drafts import DraftChange
from tests.dlqadmin.deadletters.letters import NOW, index, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.plans.making import check, levels, plan

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
READS = {"topics": "usgs.earthquakes", "errors.deadletterqueue.topic.name": "usgs.earthquakes.dlq"}
SINCE = "They will fail again with the same bytes, unless the cause was repaired."


@pytest.fixture(autouse=True)
def records(engine: FakeEngine, operator: User) -> None:
    """Three failed records, one of them edited."""
    engine.add("usgs-to-sql", READS)
    index([letter(n) for n in range(3)])
    row = DeadLetter.objects.select_related("body").get(offset=1)
    drafts.save(row, operator, DraftChange(value=b'{"gap": 1}'), None, NOW)


def acts(operator: User, action: str, connector: str = "usgs-to-sql", after: timedelta = timedelta(minutes=1)) -> None:
    record(operator, action, "connector", connector, {"outcome": "accepted"})
    latest = DeadLetter.objects.order_by("-failed_at")[0].failed_at
    AuditEntry.objects.filter(pk=AuditEntry.objects.order_by("-pk")[0].pk).update(at=latest + after)


def test_records_that_nobody_edited_are_warned_of(operator: User) -> None:
    replay = plan(operator)
    assert levels(replay)["Not edited"] == "warn"
    assert check(replay, "Not edited").startswith(f"2 of 3 records are not edited. {SINCE}")


def test_records_that_are_all_edited_or_go_elsewhere_need_no_warning(operator: User) -> None:
    assert "Not edited" not in levels(plan(operator, target_topic="other"))
    for offset in (0, 2):
        row = DeadLetter.objects.select_related("body").get(offset=offset)
        drafts.save(row, operator, DraftChange(value=b"{}"), None, NOW)
    assert "Not edited" not in levels(plan(operator))


def test_a_restart_of_their_connector_since_is_named_instead(operator: User) -> None:
    acts(operator, "restart connector")
    replay = plan(operator)
    assert levels(replay)["Not edited"] == "ok"
    assert "Since they failed: restart connector usgs-to-sql by operator-1" in check(replay, "Not edited")


@pytest.mark.parametrize(
    ("action", "connector", "minutes"),
    [
        ("pause connector", "usgs-to-sql", 1),
        ("restart connector", "another", 1),
        ("restart connector", "usgs-to-sql", -1),
    ],
)
def test_what_changed_nothing_for_them_since_is_no_reason(
    operator: User, action: str, connector: str, minutes: int
) -> None:
    acts(operator, action, connector, timedelta(minutes=minutes))
    assert levels(plan(operator))["Not edited"] == "warn"

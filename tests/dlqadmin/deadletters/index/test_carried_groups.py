"""Groups of former fingerprints go on when dead letters get fingerprints of the present version."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Sum

from dlqadmin.deadletters.groups import merge_and_split, triage
from dlqadmin.deadletters.index.fingerprint import VERSION
from dlqadmin.deadletters.index.former_fingerprints import former_digests
from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.index.reindex import rewrite
from dlqadmin.deadletters.models import CountHour, DeadLetter, Fingerprint, Group, GroupActivity, Regrouping
from tests.dlqadmin.conftest import person
from tests.dlqadmin.deadletters.letters import GAP, HOUR_MS, NOW, NOW_MS, NST, index, letter

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
FRAME = "engine/connectors/sql/sink.py:put"
RESOLVED_AT = NOW - timedelta(minutes=90)


def former_group(message: str = GAP, **fields: Any) -> Group:
    """A group as version 1 made it, for the dead letters of all connectors with this message."""
    times = {"first_seen": NOW - timedelta(days=9), "last_seen": NOW - timedelta(hours=2)}
    group = Group.objects.create(title="former", **{**times, **fields})
    exception, stage = "sqlalchemy.exc.IntegrityError", "TASK_PUT"
    [digest] = former_digests(exception, stage, message, FRAME)
    Fingerprint.objects.create(
        digest=digest, group=group, exception_class=exception, stage=stage, message=message, frame=FRAME
    )
    return group


@pytest.fixture
def ann() -> User:
    return person("ann", "operator")


def group_of(offset: int) -> Group:
    return Group.objects.get(fingerprints=DeadLetter.objects.get(offset=offset).fingerprint_id)


def test_the_first_new_fingerprint_joins_the_former_group(ann: User) -> None:
    group = former_group(status="muted", muted_at=RESOLVED_AT, mute_count=100, owner=ann)
    index([letter(1)])
    assert group_of(1) == group
    group.refresh_from_db()
    assert (group.title, group.status, group.muted_events) == ("IntegrityError: earthquakes.gap is null", "muted", 1)
    assert GroupActivity.objects.get().text.startswith("renamed from former")
    assert Fingerprint.objects.filter(digest__startswith=f"{VERSION}:").count() == 1


def test_another_origin_is_split_off_with_state_owner_and_first_time(ann: User) -> None:
    group = former_group(status="resolved", resolved_at=NOW + timedelta(hours=1), owner=ann)
    index([letter(1), letter(11), letter(2, connector="other")])
    apart = group_of(2)
    assert apart != group
    assert (apart.status, apart.resolved_at, apart.owner) == ("resolved", group.resolved_at, ann)
    assert apart.first_seen == group.first_seen
    assert Regrouping.objects.get().kind == "split"
    assert f"(group {group.pk})" in GroupActivity.objects.get(group=apart).text
    index([letter(3), letter(4, connector="other")])
    assert (group_of(3), group_of(4)) == (group, apart)


def test_a_resolved_group_regresses_alone_for_the_connector_that_fails_again() -> None:
    group = former_group(status="resolved", resolved_at=RESOLVED_AT)
    index([letter(offset, at_ms=NOW_MS - 3 * HOUR_MS) for offset in (1, 11)])
    index([letter(2, connector="other", at_ms=NOW_MS - 3 * HOUR_MS)])
    index([letter(3, connector="other")])
    assert (group_of(1).status, group_of(3).status) == ("resolved", "open")
    assert group_of(1) == group


def test_a_split_by_the_indexer_can_be_undone(ann: User) -> None:
    group = former_group()
    index([letter(1), letter(11), letter(2, connector="other")])
    apart = group_of(2)
    merge_and_split.undo(Regrouping.objects.get().pk, ann, NOW)
    apart.refresh_from_db()
    assert (group_of(2), apart.merged_into) == (group, group)


def test_a_group_that_people_merged_stays_whole_and_keeps_its_title(ann: User) -> None:
    groups = [former_group(GAP), former_group(NST)]
    merge_and_split.merge(groups[0].pk, [groups[1].pk], ann, "one fix", NOW)
    index([letter(1), letter(2, message=NST), letter(3, connector="other")])
    assert {group_of(offset).pk for offset in (1, 2, 3)} == {groups[0].pk}
    assert group_of(1).title == "former"


def test_notes_stay_with_the_former_group(ann: User) -> None:
    group = former_group()
    triage.add_note(group.pk, ann, "ask the data team", NOW)
    index([letter(1), letter(11), letter(2, connector="other")])
    assert GroupActivity.objects.get(kind="note").group == group == group_of(1)


def test_reindexing_moves_the_dead_letters_of_a_former_fingerprint_and_counts_each_once() -> None:
    group = former_group(status="muted", muted_at=NOW - timedelta(days=1), mute_count=3)
    former = Fingerprint.objects.get()
    messages = [letter(1), letter(2, connector="other"), letter(3)]
    index(messages)
    DeadLetter.objects.update(fingerprint=former)  # as version 1 indexed them
    CountHour.objects.update(fingerprint=former)
    Group.objects.update(muted_events=2)
    assert rewrite([parse_message(message, NOW) for message in messages], "local", NOW) == 3
    assert (group_of(1), group_of(3)) == (group, group)
    assert group_of(2) != group
    assert DeadLetter.objects.filter(fingerprint=former).count() == 0
    assert CountHour.objects.aggregate(n=Sum("n"))["n"] == 3
    assert set(Group.objects.values_list("status", "muted_events")) == {("muted", 2)}


def test_without_groups_by_origin_all_connectors_share_the_group(settings: Any) -> None:
    settings.GROUPS_BY_ORIGIN = False
    index([letter(1), letter(11), letter(2, connector="other")])
    assert group_of(1) == group_of(2)
    settings.GROUPS_BY_ORIGIN = True
    index([letter(3), letter(13), letter(4, connector="other")])
    assert group_of(3) == group_of(1) != group_of(4)

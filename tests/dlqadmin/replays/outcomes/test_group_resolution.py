from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.groups import triage
from dlqadmin.deadletters.models import DeadLetter, Group, GroupActivity, ReplayMark, ReplayState
from dlqadmin.replays.models import ItemOutcome, ItemState, Replay, ReplayItem, Selection
from dlqadmin.replays.outcomes import consumer_groups, watcher
from dlqadmin.replays.outcomes.completion import go_on
from dlqadmin.replays.outcomes.documents import ResolvableGroup
from dlqadmin.replays.outcomes.evidence import Decision
from dlqadmin.replays.outcomes.group_resolution import resolvable, resolve
from tests.dlqadmin.deadletters.conftest import Beside
from tests.dlqadmin.deadletters.letters import NOW, index_one, letter
from tests.dlqadmin.replays.world import BASE, Build, World

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
SOON_S, WAIT_S = 0.5, 10


def passed(world: World, count: int) -> World:
    Group.objects.update(last_seen=NOW - timedelta(hours=1))
    world.cluster.position = BASE + 50
    for ordinal in range(count):
        world.cluster.report(world.item(ordinal), "delivered")
    world.watch()
    return world


def test_a_group_of_which_all_that_went_out_passed_may_be_resolved_and_says_so(build: Build) -> None:
    world = passed(build(3), 3)
    group = Group.objects.get()
    assert resolvable(world.replay) == [ResolvableGroup(id=group.pk, title=group.title, count=3)]
    said = GroupActivity.objects.get(kind="passed")
    assert (said.group, said.text) == (group, f"all 3 sent records passed in {world.replay}")


def test_one_record_that_did_not_pass_is_enough_not_to_offer_it(build: Build) -> None:
    world = passed(build(3), 2)
    assert resolvable(world.replay) == []
    assert not GroupActivity.objects.filter(kind="passed").exists()


def test_a_group_is_offered_only_when_no_record_of_it_is_left(build: Build) -> None:
    world = build(1)
    index_one(letter(5))  # of the same group, and in no replay
    passed(world, 1)
    assert resolvable(world.replay) == []
    (left,) = DeadLetter.objects.exclude(pk=world.item().dead_letter_id)
    ReplayMark.objects.create(dead_letter=left, state=ReplayState.DISCARDED, failed_at=left.failed_at)
    assert [row.count for row in resolvable(world.replay)] == [1]


def test_a_group_in_which_something_failed_since_is_not_offered(build: Build) -> None:
    world = passed(build(1), 1)
    Group.objects.update(last_seen=world.now)
    assert resolvable(world.replay) == []


def test_a_resolved_group_is_not_offered_again(build: Build) -> None:
    world = passed(build(1), 1)
    Group.objects.update(status="resolved")
    assert resolvable(world.replay) == []


def test_it_is_offered_over_rest(build: Build, as_viewer: APIClient) -> None:
    world = passed(build(1), 1)
    answer = as_viewer.get(f"/api/v1/replays/{world.replay.pk}/resolvable")
    assert [row["count"] for row in answer.json()["results"]] == [1]


def asked(build: Build, operator: User, items: int = 3, **replay: object) -> World:
    """A replay whose person asked for the group to be resolved; the selection was frozen when all were indexed."""
    world = build(items, resolve_groups=True, started_by=operator, **replay)
    Selection.objects.update(watermark=DeadLetter.objects.latest("pk").pk)
    return world


def test_a_group_of_which_all_passed_is_resolved_once_for_who_asked(build: Build, operator: User) -> None:
    world = passed(asked(build, operator), 3)
    group = Group.objects.get()
    assert (group.status, group.resolved_at) == ("resolved", world.now)
    done = GroupActivity.objects.get(kind="resolved")
    said = f"resolved: all 3 sent records passed in {world.replay}"
    assert (done.actor, done.text) == ("operator-1", said)
    entry = AuditEntry.objects.get(action="resolved")
    assert (entry.actor, entry.object_type, entry.detail) == ("operator-1", "group", {"text": said})
    assert world.replay.events.get(kind="resolved").text == "resolved 1 group"
    triage.reopen([group.pk], operator, "not yet", world.now)
    go_on([world.replay.pk])
    world.watch()
    assert (Replay.objects.get().status, Group.objects.get().status) == ("done", "open")
    assert world.replay.events.filter(kind="resolved").count() == 1


def test_what_it_has_resolved_before_is_not_said_to_be_left(build: Build, operator: User) -> None:
    world = asked(build, operator, 2)
    index_one(letter(7, message="another"))
    other = DeadLetter.objects.latest("pk")
    ReplayItem.objects.filter(ordinal=1).update(dead_letter=other)
    Selection.objects.update(watermark=other.pk)
    passed(world, 1)
    assert (
        world.replay.events.filter(kind="resolved")
        .latest("pk")
        .text.startswith("resolved 1 group; left 1 group unresolved")
    )
    ReplayItem.objects.filter(ordinal=1).update(state="passed")
    go_on([world.replay.pk])
    world.watch()
    assert world.replay.events.filter(kind="resolved").latest("pk").text == "resolved 1 group"


def test_nothing_is_resolved_unasked_or_for_nobody(build: Build, operator: User) -> None:
    world = asked(build, operator, 1)
    Replay.objects.update(started_by=None)
    passed(world, 1)
    assert (Replay.objects.get().status, Group.objects.get().status) == ("done", "open")


def failed(world: World) -> None:
    world.fails(BASE)


def unknown(world: World) -> None:
    world.cluster.ids.clear()
    ReplayItem.objects.filter(ordinal=0).update(state="unknown", reason="topic_recreated")


def left_out(world: World) -> None:
    ReplayItem.objects.filter(ordinal=0).update(state="skipped", reason="expired", sent_at=None, sent_offset=None)


def came_in_since(world: World) -> None:
    index_one(letter(5))
    Group.objects.update(last_seen=NOW - timedelta(hours=1))


def failed_since(world: World) -> None:
    Group.objects.update(last_seen=NOW)


def unknown_elsewhere(world: World) -> None:
    ItemOutcome.objects.create(item=world.item(), group="group:billing", state="unknown", state_at=NOW)


@pytest.mark.parametrize("hindrance", [failed, unknown, left_out, came_in_since, failed_since, unknown_elsewhere])
def test_no_group_is_resolved_where_anything_speaks_against_it(
    build: Build, operator: User, hindrance: Callable[[World], None]
) -> None:
    world = asked(build, operator)
    Group.objects.update(last_seen=NOW - timedelta(hours=1))
    world.cluster.position = BASE + 50
    for ordinal in range(3):
        world.cluster.report(world.item(ordinal), "delivered")
    ReplayItem.objects.filter(ordinal__gt=0).update(state="passed")
    hindrance(world)
    world.watch()
    assert Replay.objects.get().status == "done"
    assert "resolved" not in Group.objects.values_list("status", flat=True)
    assert world.replay.events.get(kind="resolved").text.startswith(
        "resolved 0 groups; left 1 group unresolved: not all"
    )


def test_a_record_that_fails_again_opens_the_group_again_whatever_it_fails_with(build: Build, operator: User) -> None:
    world = passed(asked(build, operator, 1), 1)
    group = Group.objects.get()
    assert group.status == "resolved"
    world.fails(BASE, message="quite another error")
    world.watch()
    assert world.outcome() == "failed_again"
    group.refresh_from_db()
    assert (group.status, group.regressed_at) == ("open", world.now)
    assert GroupActivity.objects.get(kind="regressed").text == (
        f"failed again in {world.replay} after the group was resolved"
    )


def test_a_failure_with_a_further_reader_opens_the_group_again_too(build: Build, operator: User) -> None:
    world = asked(build, operator, 1)
    ItemOutcome.objects.create(item=world.item(), group="other-to-sql", state="passed", state_at=NOW)
    passed(world, 1)
    assert Group.objects.get().status == "resolved"
    world.fails(BASE, message="quite another error", connector="other-to-sql")
    world.watch()
    assert (ItemOutcome.objects.get().state, world.outcome()) == ("failed_again", "passed")
    assert set(Group.objects.values_list("status", flat=True)) == {"open"}


def test_a_group_that_was_resolved_before_the_replay_stays_so(build: Build, operator: User) -> None:
    world = build(1)
    Group.objects.update(status="resolved", resolved_at=NOW - timedelta(hours=1))
    group = Group.objects.get()
    world.fails(BASE, message="quite another error")
    world.watch()
    group.refresh_from_db()
    assert (world.outcome(), group.status) == ("failed_again", "resolved")


def test_a_record_that_fails_again_just_before_its_group_is_held_keeps_it_open(build: Build, operator: User) -> None:
    world = asked(build, operator)
    failing = [world.item()]

    def between(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if failing and sql.startswith("SELECT") and f'FROM "{Group._meta.db_table}" WHERE' in sql:
            ReplayItem.objects.filter(pk=failing.pop().pk).update(state="failed_again")
        return execute(sql, *rest)

    with connection.execute_wrapper(between):
        passed(world, 3)
    assert (failing, Replay.objects.get().status, Group.objects.get().status) == ([], "done", "open")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("several_writers")
@pytest.mark.parametrize("further", [False, True], ids=["counts", "further"])
def test_a_record_that_fails_again_while_its_group_is_resolved_waits_and_opens_it_again(
    build: Build, operator: User, beside: Beside, *, further: bool
) -> None:
    world = asked(build, operator, 1)
    Group.objects.update(last_seen=NOW - timedelta(hours=1))
    ReplayItem.objects.update(state="passed")
    other = ItemOutcome.objects.create(item=world.item(), group="group:billing", state="passed", state_at=NOW)
    item = consumer_groups.as_seen(other) if further else world.item()
    settle = consumer_groups.settle if further else watcher.settle
    with transaction.atomic():
        assert resolve(Replay.objects.get(), NOW) == 1
        turning = beside(lambda: settle([(item, Decision(ItemState.FAILED_AGAIN, "", "proven"))], NOW))
        with pytest.raises(TimeoutError):
            turning.result(SOON_S)
    turning.result(WAIT_S)
    assert Group.objects.get().status == "open"

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import CountHour, DeadLetter
from dlqadmin.deadletters.replay_marks import STATE
from dlqadmin.replays import tasks
from dlqadmin.replays.disposals import disposal_jobs, disposal_rows
from dlqadmin.replays.items import item_states
from dlqadmin.replays.jobs import controls
from dlqadmin.replays.models import Disposal, DisposalAct, ItemState, ReplayItem, Selection
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import StateConflict
from tests.dlqadmin.deadletters.letters import ALL, NOW, index, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.keys import IdempotencyKey
from tests.dlqadmin.replays.asking import get, post
from tests.dlqadmin.replays.plans.making import plan, reasons
from tests.dlqadmin.replays.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
WEEK = f"from={ALL['from']}&to={ALL['to']}"
WHY = {"reason": "test data"}


@pytest.fixture
def indexed() -> list[int]:
    index([letter(offset) for offset in range(7)])
    return list(DeadLetter.objects.order_by("pk").values_list("pk", flat=True))


def chosen(client: APIClient, ids: Sequence[int] | None = None, **more: str) -> int:
    body = (
        {"filter": WEEK + "".join(f"&{name}={value}" for name, value in more.items())} if ids is None else {"ids": ids}
    )
    return int(post(client, "selections", body)["id"])


def decide(client: APIClient, kind: str, ids: Sequence[int] | None = None, expect: int = 201, **headers: str) -> Any:
    body = {"selection": chosen(client, ids), "kind": kind, **WHY}
    return post(client, "disposals", body, expect=expect, **headers)


def states() -> list[str]:
    return list(DeadLetter.objects.order_by("pk").values_list(STATE, flat=True))


@pytest.mark.parametrize(
    ("asked", "kind"), [("discard", "discarded"), ("park", "parked"), ("handled_elsewhere", "handled")]
)
def test_a_decision_is_kept_with_who_when_and_why(
    as_operator: APIClient, indexed: list[int], asked: str, kind: str
) -> None:
    answer = decide(as_operator, asked, indexed[:2])
    assert (answer["kind"], answer["changed"], answer["done_at"] is None) == (kind, 2, False)
    assert states() == [kind] * 2 + ["none"] * 5
    row = disposal_rows.of(indexed)[indexed[0]]
    assert (row.kind, row.reason, row.actor and row.actor.username) == (kind, "test data", "operator-1")
    shown = get(as_operator, f"dead-letters/{indexed[0]}/replays")["disposal"]
    assert (shown["kind"], shown["by"], shown["reason"]) == (kind, "operator-1", "test data")


def test_what_was_decided_is_found_by_the_query_language_and_stays_in_the_counts(
    as_operator: APIClient, indexed: list[int]
) -> None:
    before = list(CountHour.objects.values_list("n"))
    decide(as_operator, "park", indexed[:3])
    found = get(as_operator, "dead-letters", q="replay:parked", **ALL)["results"]
    assert {row["id"] for row in found} == set(indexed[:3])
    assert list(CountHour.objects.values_list("n")) == before
    assert get(as_operator, "dead-letters", **ALL)["total"] == {"count": 7, "exact": True}


def test_restoring_brings_back_what_the_items_say(as_operator: APIClient, engine: FakeEngine) -> None:
    world = World(engine, items=2)
    item_states.move([world.item(0)], ItemState.SENT, ItemState.FAILED_AGAIN, NOW)
    decide(as_operator, "discard")
    assert states() == ["discarded"] * 2
    answer = post(as_operator, "disposals/restore", {"selection": chosen(as_operator), **WHY})
    assert (answer["kind"], answer["said"]) == ("restored", "2 records restored")
    assert states() == ["failed_again", "sent"]


def test_an_outcome_that_comes_later_does_not_hide_a_decision(as_operator: APIClient, engine: FakeEngine) -> None:
    world = World(engine)
    decide(as_operator, "handled_elsewhere")
    item_states.move([world.item()], ItemState.SENT, ItemState.PASSED, NOW)
    assert states() == ["handled"]


def test_a_replay_that_takes_a_record_up_before_its_mark_is_written_keeps_it(
    as_operator: APIClient, engine: FakeEngine
) -> None:
    item = World(engine, items=2).item(0)
    todo = [lambda: ReplayItem.objects.filter(pk=item.pk).update(state=ItemState.QUEUED)]

    def run(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if todo and "INSERT INTO deadletters_replaymark" in sql:
            todo.pop()()
        return execute(sql, *rest)

    with connection.execute_wrapper(run):
        done = decide(as_operator, "discard")
    assert (done["changed"], done["busy"], states()) == (1, 1, ["queued", "discarded"])
    assert list(Disposal.objects.values_list("dead_letter", flat=True)) == [item.dead_letter_id + 1]


def test_undo_takes_back_its_own_decision_and_nothing_else(as_operator: APIClient, indexed: list[int]) -> None:
    decide(as_operator, "park", indexed[:2])
    done = decide(as_operator, "discard")
    assert (done["changed"], done["kept"]) == (5, 2)
    assert done["said"] == "5 records discarded; 2 kept their earlier decision"
    undone = post(as_operator, f"disposals/{done['id']}/undo", None)
    assert (undone["undoes"], undone["changed"]) == (done["id"], 5)
    assert states() == ["parked"] * 2 + ["none"] * 5
    assert post(as_operator, f"disposals/{done['id']}/undo", None)["id"] == undone["id"]
    assert get(as_operator, f"disposals/{done['id']}")["undone_by"] == undone["id"]
    assert post(as_operator, f"disposals/{undone['id']}/undo", None, expect=409)["detail"].startswith("D-")


def test_undo_finds_its_records_though_they_left_the_filter(as_operator: APIClient, indexed: list[int]) -> None:
    body = {"selection": chosen(as_operator, replay_state="none"), "kind": "discard", **WHY}
    done = post(as_operator, "disposals", body)
    assert done["changed"] == 7
    assert post(as_operator, "disposals", body)["said"] == "0 records discarded; 7 kept their earlier decision"
    assert post(as_operator, f"disposals/{done['id']}/undo", None)["changed"] == 7


@pytest.mark.parametrize("state", [ItemState.QUEUED, ItemState.SENDING])
def test_records_of_a_running_replay_are_refused_in_one_sentence(
    as_operator: APIClient, engine: FakeEngine, state: ItemState
) -> None:
    world = World(engine, items=2, status="running")
    item_states.move([world.item(1)], ItemState.SENT, state, NOW)
    answer = decide(as_operator, "discard", expect=409)
    expected = f"1 of these records is in R-{world.replay.pk}, which has not ended. Wait for it or cancel it."
    assert answer["detail"] == expected
    assert not Disposal.objects.exists()
    assert not DisposalAct.objects.exists()


def test_a_record_that_a_replay_takes_up_meanwhile_is_left_out(engine: FakeEngine, operator: User) -> None:
    world = World(engine, items=2)
    act = written(operator, frozen_selections.by_filter(WEEK, operator, RequestKey(), NOW), "parked")
    item_states.move([world.item(1)], ItemState.SENT, ItemState.QUEUED, NOW)
    disposal_jobs.go_on(act, frozen_selections.rows, timezone.now)
    act.refresh_from_db()
    assert (act.changed, act.busy, states()) == (1, 1, ["parked", "queued"])


def test_the_same_key_does_it_once_and_another_body_is_refused(as_operator: APIClient, indexed: list[int]) -> None:
    body, key = {"selection": chosen(as_operator), "kind": "park", **WHY}, IdempotencyKey({"Idempotency-Key": "once"})
    first = post(as_operator, "disposals", body, **key)
    assert post(as_operator, "disposals", body, expect=200, **key) == first
    post(as_operator, "disposals", {**body, "kind": "discard"}, expect=409, **key)
    assert DisposalAct.objects.count() == 1


def test_a_decision_is_audited(as_operator: APIClient, indexed: list[int]) -> None:
    done = decide(as_operator, "handled_elsewhere", indexed[:1])
    post(as_operator, f"disposals/{done['id']}/undo", None)
    rows = AuditEntry.objects.filter(object_id=f"S-{done['selection']}").exclude(action="froze").order_by("pk")
    assert [(row.actor, row.action) for row in rows] == [("operator-1", "handled elsewhere"), ("operator-1", "restore")]
    assert rows[0].detail["reason"] == "test data"


@pytest.mark.parametrize(
    "body", [{"reason": ""}, {"kind": "burn"}, {"selection": 999}, {"selection": 2**70}, {"selection": "x"}]
)
def test_bad_input_is_one_clear_sentence(as_operator: APIClient, indexed: list[int], body: dict[str, Any]) -> None:
    whole = {"selection": chosen(as_operator), "kind": "park", **WHY, **body}
    answer = post(as_operator, "disposals", whole, expect=400)
    assert [error["parameter"] for error in answer["errors"]] == list(body)
    assert not DisposalAct.objects.exists()


def test_viewers_and_read_only_clusters_may_not(
    as_viewer: APIClient, as_operator: APIClient, indexed: list[int], settings: Settings
) -> None:
    body = {"selection": chosen(as_operator), "kind": "park", **WHY}
    assert post(as_viewer, "disposals", body, expect=403)["detail"] == "This needs the role operator."
    assert post(as_viewer, "disposals/restore", body, expect=403)["status"] == 403
    settings.READ_ONLY = True
    for path in ("disposals", "disposals/restore", "disposals/1/undo"):
        assert post(as_operator, path, body, expect=403)["detail"] == "This cluster is read-only."


def written(actor: User, selection: Selection, kind: str) -> DisposalAct:
    return disposal_jobs.dispose(selection, kind, "why", actor, RequestKey(), NOW, frozen_selections.rows(selection))


def test_more_than_a_request_does_is_done_by_a_worker_and_taken_up_where_it_stopped(
    as_operator: APIClient, indexed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("INLINE", 3), ("SLICE", 2), ("SITTING", 4)):
        monkeypatch.setattr(disposal_jobs, name, value)
    asked: list[tuple[int, datetime]] = []
    monkeypatch.setattr(tasks.dispose, "apply_async", lambda args, retry: asked.append(args))
    answer = decide(as_operator, "discard", expect=202)
    assert (answer["changed"], answer["done_at"], [pk for pk, _ in asked]) == (0, None, [answer["id"]])
    tasks.dispose(*asked[0])
    assert get(as_operator, f"disposals/{answer['id']}")["said"] == "4 records discarded so far"
    assert len(asked) == 2
    tasks.dispose(*asked[0])  # a second message does no harm
    assert len(asked) == 2
    tasks.dispose(*asked[1])
    assert get(as_operator, f"disposals/{answer['id']}")["said"] == "7 records discarded"
    assert states() == ["discarded"] * 7


def test_an_act_that_nobody_works_on_is_queued_again(
    operator: User, indexed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    act = written(operator, frozen_selections.by_filter(WEEK, operator, RequestKey(), NOW), "parked")
    asked: list[int] = []
    monkeypatch.setattr(tasks.dispose, "apply_async", lambda args, retry: asked.append(args[0]))
    tasks.sweep_disposals()
    assert asked == [act.pk]


def test_undo_ends_an_act_that_is_under_way(
    operator: User, indexed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disposal_jobs, "SLICE", 2)
    monkeypatch.setattr(disposal_jobs, "SITTING", 4)
    act = written(operator, frozen_selections.by_filter(WEEK, operator, RequestKey(), NOW), "parked")
    assert disposal_jobs.go_on(act, frozen_selections.rows, timezone.now)
    undone = disposal_jobs.undo(act, operator, NOW)
    assert not disposal_jobs.go_on(act, frozen_selections.rows, timezone.now)
    while disposal_jobs.go_on(undone, frozen_selections.rows, timezone.now):
        pass
    undone.refresh_from_db()
    assert (undone.changed, states()) == (4, ["none"] * 7)


def test_a_replay_that_was_planned_before_does_not_send_what_was_discarded_since(
    as_operator: APIClient, operator: User, engine: FakeEngine, indexed: list[int]
) -> None:
    config = {"topics": "usgs.earthquakes", "errors.deadletterqueue.topic.name": "usgs.earthquakes.dlq"}
    engine.add("usgs-to-sql", config)
    replay = plan(operator)
    decide(as_operator, "discard", indexed[:2])
    with pytest.raises(StateConflict, match=r"^2 records of the plan were discarded"):
        controls.run(replay, operator, "again", replay.plan["digest"], NOW)
    assert set(replay.items.values_list("state", flat=True)) == {ItemState.PLANNED}
    assert states() == ["discarded"] * 2 + ["none"] * 5


def test_the_next_plan_leaves_out_what_was_decided_and_says_so(as_operator: APIClient, operator: User) -> None:
    index([letter(offset) for offset in range(4)])
    ids = list(DeadLetter.objects.order_by("pk").values_list("pk", flat=True))
    for at, kind in enumerate(("discard", "park", "handled_elsewhere")):
        decide(as_operator, kind, ids[at : at + 1])
    assert reasons(plan(operator)) == ["discarded", "parked", "handled", ""]


def test_records_that_nobody_saw_are_not_restored(as_operator: APIClient, indexed: list[int]) -> None:
    decide(as_operator, "park", indexed[:2])
    parked = chosen(as_operator, replay_state="parked")
    decide(as_operator, "park", indexed[2:4])
    assert post(as_operator, "disposals/restore", {"selection": parked, **WHY})["changed"] == 2
    assert states() == ["none"] * 2 + ["parked"] * 2 + ["none"] * 3

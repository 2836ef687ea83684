from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import DeadLetter, ReplayMark
from dlqadmin.replays.items import item_states as states
from dlqadmin.replays.models import ItemState, Replay, ReplayItem, Selection
from dlqadmin.replays.plans import approvals
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.pagination import encode_cursor
from engine.record.replay import ATTEMPT, ITEM
from tests.dlqadmin.conftest import person, signed_in
from tests.dlqadmin.deadletters.letters import ALL, NOW, index, letter
from tests.dlqadmin.keys import IdempotencyKey
from tests.dlqadmin.replays.asking import API, WEEK, get, nth, planned, post

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def test_a_selection_is_a_count_a_watermark_and_a_digest(as_operator: APIClient, indexed: None) -> None:
    answer = post(as_operator, "selections", {"filter": f"{WEEK}&text=gap"})
    assert (answer["count"], answer["watermark"], len(answer["digest"])) == (7, nth(10), 64)
    assert answer["title"] == "text …"
    assert get(as_operator, f"selections/{answer['id']}")["drifted"] is False


def test_ticked_records_are_selected_without_telling_their_ids_again(as_operator: APIClient, indexed: None) -> None:
    answer = post(as_operator, "selections", {"ids": [nth(3), nth(1), nth(3)]})
    assert (answer["count"], answer["filters"]) == (2, {"ticked": 2})


@pytest.mark.parametrize(
    "body",
    [
        {}, {"ids": []}, {"ids": [2**40]}, {"ids": ["x"]}, {"filter": f"{WEEK}&topic=no.such"}, {"filter": "from=x"},
        {"ids": [1], "filter": ""}, {"filter": f"{WEEK}&grup=5"}, {"ids": list(range(1, 1002))}, {"ids": [2**70]},
    ],
)  # fmt: skip
def test_what_selects_nothing_is_refused(as_operator: APIClient, indexed: None, body: Any) -> None:
    assert post(as_operator, "selections", body, expect=400)["errors"]


def test_nothing_matches_says_so(as_operator: APIClient, indexed: None) -> None:
    answer = post(as_operator, "selections", {"filter": f"{WEEK}&topic=no.such"}, expect=400)
    assert answer["errors"] == [{"parameter": "filter", "message": "matches no dead letter"}]


@pytest.mark.parametrize("query", ["work=open", "replay_state=none", "q=work%3Aopen", "q=-replay%3Apassed"])
def test_a_selection_by_work_or_replay_keeps_its_records_when_their_state_changes(
    as_operator: APIClient, operator: User, indexed: None, query: str
) -> None:
    answer = post(as_operator, "selections", {"filter": f"{WEEK}&{query}"})
    assert answer["filters"] == {"ticked": answer["count"]}
    dead_letter = DeadLetter.objects.get(pk=nth(1))
    ReplayMark.objects.create(dead_letter=dead_letter, state="passed", failed_at=dead_letter.failed_at)
    assert get(as_operator, f"selections/{answer['id']}")["drifted"] is False
    assert len(frozen_selections.rows(Selection.objects.get(pk=answer["id"]))) == answer["count"]


def test_a_replay_is_found_by_the_uuid_of_its_records(as_operator: APIClient, indexed: None) -> None:
    chosen = post(as_operator, "selections", {"filter": WEEK})["id"]
    first, second = (post(as_operator, "replays", {"selection": chosen}) for _ in range(2))
    assert first["uuid"] == str(Replay.objects.get(pk=first["id"]).uuid)
    found = get(as_operator, f"replays?uuid={first['uuid'].upper()}")["results"]
    assert [row["id"] for row in found] == [first["id"]] != [second["id"]]
    assert get(as_operator, "replays?uuid=00000000-0000-4000-8000-000000000000")["results"] == []
    answer = as_operator.get(f"{API}/replays", {"uuid": "R-12"})
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (400, "uuid")


def test_dead_letters_of_a_replays_records_are_found_by_its_uuid(as_operator: APIClient) -> None:
    uuid = "0b0e6b9c-0000-4000-8000-000000000001"
    again = ((ITEM, f"{uuid}/17".encode()), (ATTEMPT, b"1"))
    index([letter(1), letter(2, headers=again)])
    for asked in (uuid, f"{uuid}/17"):
        rows = get(as_operator, f"dead-letters?{urlencode({**ALL, 'q': f'replay_id:{asked}'})}")["results"]
        assert [row["offset"] for row in rows] == [2]
    assert get(as_operator, f"dead-letters?{urlencode({**ALL, 'q': 'replay_id:' + uuid[:-1]})}")["results"] == []


def test_the_same_key_answers_the_same_thing_and_each_person_has_keys_of_their_own(
    as_operator: APIClient, indexed: None
) -> None:
    key = IdempotencyKey({"Idempotency-Key": "once"})
    first = post(as_operator, "selections", {"filter": WEEK}, **key)
    assert post(as_operator, "selections", {"filter": WEEK}, expect=200, **key) == first
    other = signed_in(person("operator-2", "operator"))
    assert post(other, "selections", {"filter": WEEK}, **key)["id"] != first["id"]
    replay = post(as_operator, "replays", {"selection": first["id"]}, **key)
    assert post(as_operator, "replays", {"selection": first["id"]}, expect=200, **key)["id"] == replay["id"]


def test_a_key_that_was_used_for_something_else_is_refused(as_operator: APIClient, indexed: None) -> None:
    key = IdempotencyKey({"Idempotency-Key": "once"})
    first = post(as_operator, "selections", {"ids": [nth(1)]}, **key)["id"]
    post(as_operator, "selections", {"ids": [nth(2)]}, expect=409, **key)
    post(as_operator, "replays", {"selection": first}, **key)
    detail = post(as_operator, "replays", {"selection": first, "resend": True}, expect=409, **key)["detail"]
    assert detail == "This Idempotency-Key was used before, for a request with another body."


def test_a_plan_without_kafka_is_made_and_says_stop(as_operator: APIClient, indexed: None) -> None:
    replay = planned(as_operator)
    plan = replay["plan"]
    assert (replay["status"], plan["total"], plan["runnable"]) == ("planned", 10, False)
    assert [check["title"] for check in plan["checks"] if check["level"] == "stop"] == ["Kafka does not respond"]
    assert replay["counts"]["planned"] == 10


def test_checking_again_takes_other_options_and_makes_the_items_anew(as_operator: APIClient, indexed: None) -> None:
    replay = planned(as_operator)
    again = post(as_operator, f"replays/{replay['id']}/plan", {"target_topic": "other", "rate": 7}, expect=200)
    assert (again["target_topic"], again["rate"], again["use_fixes"]) == ("other", 7, True)
    assert set(ReplayItem.objects.values_list("target_topic", flat=True)) == {"other"}
    assert ReplayItem.objects.count() == 10


def test_a_replay_that_was_run_keeps_its_plan(as_operator: APIClient, indexed: None) -> None:
    replay = planned(as_operator)
    Replay.objects.update(status="running")
    detail = post(as_operator, f"replays/{replay['id']}/plan", {}, expect=409)["detail"]
    assert detail == f"R-{replay['id']} is running, so its plan can't change."


def test_replays_are_listed_newest_first_without_their_plans(as_operator: APIClient, indexed: None) -> None:
    ids = [planned(as_operator)["id"] for _ in range(3)]
    first = get(as_operator, "replays", limit=2)
    assert [row["id"] for row in first["results"]] == ids[:0:-1]
    assert "plan" not in first["results"][0]
    rest = get(as_operator, "replays", limit=2, cursor=first["next"])
    assert ([row["id"] for row in rest["results"]], rest["next"]) == (ids[:1], None)
    assert get(as_operator, "replays", status="done")["results"] == []


def test_a_list_of_replays_reads_neither_ids_of_their_records_nor_plans(
    as_operator: APIClient, indexed: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    ticked = post(as_operator, "selections", {"ids": [nth(3), nth(1)]})
    post(as_operator, "replays", {"selection": ticked["id"]})
    planned(as_operator)
    with django_assert_max_num_queries(9) as seen:
        filtered, named = (row["selection"]["filters"] for row in get(as_operator, "replays")["results"])
    assert (named, "from" in filtered) == ({"ticked": 2}, True)
    read = [query["sql"].partition(" WHERE ") for query in seen.captured_queries]
    assert not any('"replays_replay"."plan"' in columns for columns, _, _ in read)
    assert [("NOT" in condition) for columns, _, condition in read if '"filters"' in columns] == [True]


def test_items_that_need_a_look_come_first_and_pages_hold_each_once(as_operator: APIClient, indexed: None) -> None:
    replay = planned(as_operator)
    for ordinal, state in ((4, ItemState.UNKNOWN), (7, ItemState.FAILED_AGAIN), (2, ItemState.SENT)):
        ReplayItem.objects.filter(ordinal=ordinal).update(state=state, sent_partition=0, sent_offset=ordinal)
    states.created(Replay.objects.get())
    Replay.objects.update(progress=5)
    for order, first in (("attention", [7, 4, 2]), ("newest", [4, 3, 2]), ("ordinal", [0, 1, 2])):
        seen: list[int] = []
        cursor: str | None = ""
        while cursor is not None:
            page = get(as_operator, f"replays/{replay['id']}/items", order=order, cursor=cursor, limit=3)
            seen += [row["ordinal"] for row in page["results"]]
            cursor = page["next"]
        assert (seen[:3], sorted(seen), page["total"]) == (first, list(range(10)), 10)
    ReplayItem.objects.filter(ordinal=2).update(sent_digest="d" * 64)
    only = get(as_operator, f"replays/{replay['id']}/items", state="sent")
    assert only["results"][0]["sent_digest"] == "d" * 64
    assert only["results"][0]["sent_to"] == {"topic": "usgs.earthquakes", "partition": 0, "offset": 2}


@pytest.mark.parametrize(
    ("order", "cursor"), [("newest", [0, "?"]), ("newest", [0]), ("attention", [1, 2, 3]), ("ordinal", ["1"])]
)
def test_a_cursor_that_somebody_made_up_is_refused(
    as_operator: APIClient, indexed: None, order: str, cursor: list[str | int | float]
) -> None:
    path = f"{API}/replays/{planned(as_operator)['id']}/items"
    response = as_operator.get(path, {"order": order, "cursor": encode_cursor(cursor)})
    assert (response.status_code, response.json()["errors"][0]["parameter"]) == (400, "cursor")


@pytest.mark.parametrize(
    ("method", "path"),
    [("post", "selections"), ("post", "replays"), ("post", "replays/1/plan"), ("put", "dead-letters/1/fix")]
    + [("delete", "dead-letters/1/fix")]
    + [("post", f"replays/1/{act}") for act in ("run", "pause", "resume", "cancel", "rate")],
)
def test_viewers_are_told_which_role_is_missing(as_viewer: APIClient, method: str, path: str) -> None:
    response = getattr(as_viewer, method)(f"{API}/{path}", {})
    assert (response.status_code, response.json()["detail"]) == (403, "This needs the role operator.")


@pytest.mark.parametrize("path", ["replays", "replays/1/items", "fixes", "selections/1", "dead-letters/1/fix"])
def test_strangers_read_nothing(anonymous: APIClient, path: str) -> None:
    assert anonymous.get(f"{API}/{path}").status_code in (401, 403)


@pytest.mark.parametrize("path", ["replays/9", f"replays/{2**64}/items", "selections/9", "dead-letters/9/replays"])
def test_what_is_not_there_is_a_404_problem(as_viewer: APIClient, path: str) -> None:
    response = as_viewer.get(f"{API}/{path}")
    assert (response.status_code, response["Content-Type"]) == (404, "application/problem+json")


def test_the_chart_ends_with_what_was_sent_and_settled(as_operator: APIClient, indexed: None, operator: User) -> None:
    replay = planned(as_operator)
    some = ReplayItem.objects.filter(ordinal__lt=4)
    states.move(some, list(ItemState), ItemState.SENT, NOW, sent_at=NOW)
    states.move(some.filter(ordinal=0), ItemState.SENT, ItemState.PASSED, NOW)
    series = get(as_operator, f"replays/{replay['id']}/series")
    assert (series["sent"][-1], series["settled"][-1]) == (4, 1)


def test_a_record_s_way_names_its_replays_and_outcomes(as_operator: APIClient, indexed: None) -> None:
    replay = planned(as_operator)
    ReplayItem.objects.filter(dead_letter=nth(1)).update(
        state=ItemState.PASSED, evidence="proven: usgs-to-sql reported it delivered", sent_partition=0, sent_offset=9
    )
    way = get(as_operator, f"dead-letters/{nth(1)}/replays")
    assert [row["replay"]["id"] for row in way["results"]] == [replay["id"]]
    assert [(row["kind"], row["replay"]) for row in way["timeline"]] == [
        ("replay_sent", replay["id"]),
        ("replay_outcome", replay["id"]),
    ]
    assert [row["dead_letter"] for row in way["lineage"]] == [nth(1)]


def test_a_plan_that_says_stop_is_not_run(as_operator: APIClient, indexed: None) -> None:
    replay = planned(as_operator)
    body = {"reason": "why", "plan_digest": replay["plan"]["digest"]}
    detail = post(as_operator, f"replays/{replay['id']}/run", body, expect=409)["detail"]
    assert detail == "The plan can't be run: Kafka does not respond. Check the plan again."


def test_a_run_needs_a_reason_and_the_plan_that_is_meant(as_operator: APIClient, indexed: None) -> None:
    answer = post(as_operator, f"replays/{planned(as_operator)['id']}/run", {"reason": "  "}, expect=400)
    assert [row["parameter"] for row in answer["errors"]] == ["reason", "plan_digest"]


def test_a_plan_that_changed_in_another_window_is_not_run(as_operator: APIClient, indexed: None) -> None:
    seen = planned(as_operator)
    again = post(as_operator, f"replays/{seen['id']}/plan", {"target_topic": "other"}, expect=200)
    Replay.objects.update(plan={**again["plan"], "runnable": True})
    body = {"reason": "why", "plan_digest": seen["plan"]["digest"]}
    detail = post(as_operator, f"replays/{seen['id']}/run", body, expect=409)["detail"]
    assert detail == "The plan changed since you opened it. Read it again."
    assert Replay.objects.get().status == "planned"


def test_pause_resume_rate_and_cancel_answer_with_what_they_did(as_operator: APIClient, indexed: None) -> None:
    replay = planned(as_operator)["id"]
    Replay.objects.update(status="running")
    assert post(as_operator, f"replays/{replay}/pause", {}, expect=200)["said"] == "paused after 0"
    assert post(as_operator, f"replays/{replay}/rate", {"rate": 2}, expect=200)["rate"] == 2
    assert post(as_operator, f"replays/{replay}/cancel", {"reason": "no"}, expect=200)["status"] == "cancelled"
    assert post(as_operator, f"replays/{replay}/pause", {}, expect=409)["status"] == 409


def test_operators_remove_plans_and_viewers_do_not(as_operator: APIClient, indexed: None) -> None:
    replay = planned(as_operator)
    path = f"{API}/replays/{replay['id']}"
    assert signed_in(person("reader", "viewer")).delete(path).status_code == 403
    assert as_operator.delete(path).status_code == 204
    assert as_operator.get(path).status_code == 404
    assert as_operator.delete(path).status_code == 404


def test_plans_that_wait_for_approval_are_listed_apart(as_operator: APIClient, operator: User, indexed: None) -> None:
    planned(as_operator)
    asked = Replay.objects.get(pk=planned(as_operator)["id"])
    asked.plan = {**asked.plan, "runnable": True}
    asked.save(update_fields=["plan"])
    approvals.ask(asked, operator, "INC-214", asked.plan["digest"], NOW)
    (row,) = get(as_operator, "replays", status="waits_for_approval")["results"]
    assert (row["id"], row["reason"], row["approval"]["asked_by"]) == (asked.pk, "INC-214", "operator-1")

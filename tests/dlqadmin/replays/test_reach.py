"""People of a team select, replay and dispose of what their team owns, and of nothing else."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.exports.models import Export
from dlqadmin.replays.models import Disposal, Replay, ReplayItem, Selection, SelectionSource
from dlqadmin.replays.plans import tasks
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.teams.models import Team, TeamRole
from tests.dlqadmin.conftest import member, person, signed_in, team
from tests.dlqadmin.deadletters.letters import HOUR_MS, NOW_MS, NST, index, letter
from tests.dlqadmin.exports.reading import body
from tests.dlqadmin.replays.asking import API, WEEK, get, post

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def letters() -> None:
    """Three dead letters of the team `stations`, two of others, and one of each in a topic of both."""
    index([letter(n, topic="stations.dlq", connector="stations-to-sql", message=NST) for n in range(3)])
    index([letter(n) for n in range(2)])
    index([letter(0, topic="shared.dlq", connector="stations-to-sql")])
    index([letter(1, topic="shared.dlq", connector="other")])


@pytest.fixture
def stations() -> Team:
    return team("stations", ["stations*"], ["stations-*"])


@pytest.fixture
def sam(stations: Team) -> APIClient:
    return signed_in(member("sam", {stations: ("operator", "payload reader")}))


@pytest.fixture
def olga() -> APIClient:
    return signed_in(person("olga", "operator"))


def ids(**where: Any) -> list[int]:
    return list(DeadLetter.objects.filter(**where).order_by("pk").values_list("pk", flat=True))


def topics_of(exported: Any) -> set[str]:
    return {json.loads(line)["topic"] for line in body(exported).splitlines()}


def refused(answer: Any, status: int, said: str) -> None:
    assert (answer.status_code, said in answer.content.decode()) == (status, True), answer.content


@pytest.mark.parametrize("query", [WEEK, f"{WEEK}&work=open", f"{WEEK}&topic=shared.dlq&topic=stations.dlq"])
def test_a_selection_by_filter_has_only_records_in_reach_also_for_workers(sam: APIClient, query: str) -> None:
    chosen = post(sam, "selections", {"filter": query})
    selection = Selection.objects.get(pk=chosen["id"])
    assert chosen["count"] == 4
    assert set(frozen_selections.rows(selection)) == set(DeadLetter.objects.filter(connector="stations-to-sql"))
    sources = SelectionSource.objects.values_list("cluster", "topic", "connector")
    assert set(sources) == {
        ("local", "stations.dlq", "stations-to-sql"),
        ("local", "shared.dlq", "stations-to-sql"),
    }
    assert not get(sam, f"selections/{selection.pk}")["drifted"]


def test_records_of_others_cannot_be_chosen_by_id(sam: APIClient) -> None:
    answer = sam.post(f"{API}/selections", {"ids": ids()})
    refused(answer, 400, "names a record that does not exist")


def test_a_task_plans_only_records_in_reach(sam: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = post(sam, "selections", {"filter": WEEK})
    made = post(sam, "replays", {"selection": chosen["id"]})
    Replay.objects.update(status="planning", heartbeat=None)
    tasks.plan_replay(made["id"], None)
    assert set(ReplayItem.objects.values_list("dead_letter__connector", flat=True)) == {"stations-to-sql"}
    assert Replay.objects.get().plan["total"] == 4


def test_a_replay_is_in_reach_only_with_all_its_records(sam: APIClient, olga: APIClient) -> None:
    mixed = post(olga, "selections", {"filter": WEEK})["id"]
    whole = post(olga, "selections", {"filter": f"{WEEK}&topic=stations.dlq"})["id"]
    replays = [post(olga, "replays", {"selection": one})["id"] for one in (mixed, whole)]
    assert [row["id"] for row in get(sam, "replays")["results"]] == [replays[1]]
    assert sam.get(f"{API}/replays/{replays[0]}").status_code == 404
    assert sam.get(f"{API}/selections/{mixed}").status_code == 404
    refused(sam.post(f"{API}/replays", {"selection": mixed}), 400, "does not exist")
    refused(sam.post(f"{API}/disposals", {"selection": mixed, "kind": "park", "reason": "x"}), 400, "does not exist")
    assert get(sam, f"replays/{replays[1]}")["counts"]["total"] == 3


def test_a_plan_knows_what_others_sent(sam: APIClient, olga: APIClient) -> None:
    """The other replay is out of reach, and its claim still keeps the record from being sent twice."""
    mixed = post(olga, "selections", {"filter": WEEK})["id"]
    theirs = post(olga, "replays", {"selection": mixed})
    Replay.objects.update(status="running", started_at=Replay.objects.get().planned_at)
    assert sam.get(f"{API}/replays/{theirs['id']}").status_code == 404
    seen_by_all = post(olga, "replays", {"selection": mixed})["plan"]
    chosen = post(sam, "selections", {"filter": WEEK})
    plan = post(sam, "replays", {"selection": chosen["id"]})["plan"]
    assert (seen_by_all["to_send"], plan["to_send"], plan["total"]) == (0, 0, 4)


def test_a_target_of_others_is_refused(sam: APIClient, olga: APIClient) -> None:
    chosen = post(sam, "selections", {"filter": f"{WEEK}&topic=stations.dlq"})["id"]
    body = {"selection": chosen, "target_topic": "orders"}
    refused(sam.post(f"{API}/replays", body), 403, "Your teams do not own the target topic orders")
    post(sam, "replays", {**body, "target_topic": "stations-again"})
    post(sam, "replays", {**body, "target_topic": "usgs.earthquakes"})  # the origin of all of them
    made = post(olga, "replays", body)
    digest = made["plan"]["digest"]
    run = {"plan_digest": digest, "reason": "x", "typed": "", "resolve_groups": False}
    refused(sam.post(f"{API}/replays/{made['id']}/run", run), 403, "target topic orders")
    refused(sam.post(f"{API}/replays/{made['id']}/plan", {}), 403, "target topic orders")


def test_a_replay_to_a_target_of_others_is_not_resumed(sam: APIClient, olga: APIClient) -> None:
    chosen = post(sam, "selections", {"filter": f"{WEEK}&topic=stations.dlq"})["id"]
    made = post(olga, "replays", {"selection": chosen, "target_topic": "orders"})
    Replay.objects.update(status="paused", started_at=Replay.objects.get().planned_at)
    refused(sam.post(f"{API}/replays/{made['id']}/resume", {}), 403, "target topic orders")
    assert Replay.objects.get().status == "paused"
    assert olga.post(f"{API}/replays/{made['id']}/resume", {}).status_code == 200


def test_a_replay_to_a_target_of_others_is_paused_and_slowed_but_not_sped_up(sam: APIClient, olga: APIClient) -> None:
    chosen = post(sam, "selections", {"filter": f"{WEEK}&topic=stations.dlq"})["id"]
    made = post(olga, "replays", {"selection": chosen, "target_topic": "orders", "rate": 100})
    Replay.objects.update(status="running", started_at=Replay.objects.get().planned_at)
    rate, pause = (f"{API}/replays/{made['id']}/{act}" for act in ("rate", "pause"))
    for faster in (101, 0):
        refused(sam.post(rate, {"rate": faster}), 403, "target topic orders")
    assert Replay.objects.get().rate == 100
    for slower in (100, 10):
        assert sam.post(rate, {"rate": slower}).status_code == 200
    refused(sam.post(rate, {"rate": 11}), 403, "target topic orders")
    assert olga.post(rate, {"rate": 0}).status_code == 200
    assert sam.post(pause).status_code == 200
    assert Replay.objects.get().status == "paused"


def test_select_all_and_set_aside_leaves_others_alone(sam: APIClient) -> None:
    chosen = post(sam, "selections", {"filter": WEEK})["id"]
    post(sam, "disposals", {"selection": chosen, "kind": "discard", "reason": "broken"})
    assert set(Disposal.objects.values_list("dead_letter__connector", flat=True)) == {"stations-to-sql"}
    assert Disposal.objects.count() == 4


def test_an_idempotency_key_returns_nothing_that_is_out_of_reach_by_now(sam: APIClient, stations: Team) -> None:
    body, key = {"filter": WEEK}, {"Idempotency-Key": "once"}
    first = post(sam, "selections", body, expect=201, **key)
    assert post(sam, "selections", body, expect=200, **key)["id"] == first["id"]
    stations.connectors = []
    stations.save()
    refused(sam.post(f"{API}/selections", body, headers=key), 409, "can't reach any more")


def test_a_download_is_resumed_by_nobody_else(sam: APIClient, olga: APIClient) -> None:
    token = olga.get(f"{API}/dead-letters/export")["Export-Resume"]
    assert olga.get(f"{API}/dead-letters/export", {"resume": token}).status_code == 200
    refused(sam.get(f"{API}/dead-letters/export", {"resume": token}), 400, "gave to you")


def test_a_resumed_download_shows_what_its_reader_may_see_by_now(stations: Team) -> None:
    quakes = team("quakes", ["usgs.*"])
    user = member("tess", {stations: ("operator", "payload reader"), quakes: ("operator", "payload reader")})
    with_both = signed_in(user).get(f"{API}/dead-letters/export?{WEEK}")
    token, before = with_both["Export-Resume"], topics_of(with_both)
    TeamRole.objects.filter(team=quakes).delete()
    after = topics_of(signed_in(user).get(f"{API}/dead-letters/export", {"resume": token}))
    assert before - after == {"usgs.earthquakes.dlq"}
    assert after == {"stations.dlq", "shared.dlq"}


def test_an_export_is_not_downloaded_after_its_author_lost_a_team(stations: Team) -> None:
    quakes = team("quakes", ["usgs.*"])
    user = member("sue", {stations: ("operator", "payload reader"), quakes: ("operator", "payload reader")})
    made = post(signed_in(user), "exports", {"format": "ndjson", "filter": WEEK})["id"]
    Export.objects.update(state="done", file="none.ndjson", sha256="d")
    assert signed_in(user).get(f"{API}/exports/{made}/file").status_code == 404  # the file is missing
    TeamRole.objects.filter(team=quakes).delete()
    refused(signed_in(user).get(f"{API}/exports/{made}/file"), 403, "do not own any more")


def test_group_acts_need_the_whole_group(sam: APIClient) -> None:
    index([letter(9, topic="stations.dlq", connector="other", at_ms=NOW_MS + HOUR_MS)])  # the rest is in shared.dlq
    own, shared = (DeadLetter.objects.get(topic="stations.dlq", offset=at).fingerprint.group_id for at in (0, 9))
    said = "A group has dead letters that your teams do not own."
    assert get(sam, f"groups/{shared}")["first_seen"] == "2026-11-21T04:00:00.000Z"  # the hour of the first in reach
    refused(sam.post(f"{API}/groups/{shared}/resolve", {"reason": "x"}), 403, said)
    refused(sam.post(f"{API}/groups/mute", {"groups": [own, shared], "reason": "x"}), 403, said)
    refused(sam.post(f"{API}/groups/merge", {"groups": [own, shared], "reason": "x"}), 403, said)
    assert sam.post(f"{API}/groups/{own}/resolve", {"reason": "x"}).status_code == 200


def test_origin_topics_of_others_are_not_completed(sam: APIClient) -> None:
    made = letter(9, topic="orders.dlq", connector="orders-sink")
    secret = tuple((name, b"orders-secret" if value == b"usgs.earthquakes" else value) for name, value in made.headers)
    index([type(made)(made.topic, 0, 9, made.timestamp, made.timestamp_type, made.key, made.value, secret)])
    found = get(sam, "dead-letters/complete", q="origin_topic:", at=13)
    assert [row["text"] for row in found["items"]] == ["usgs.earthquakes"]


def test_an_upgrade_finds_the_sources_of_replayed_selections(olga: APIClient) -> None:
    chosen = post(olga, "selections", {"filter": WEEK})["id"]
    post(olga, "replays", {"selection": chosen})
    before = set(SelectionSource.objects.values_list("selection", "cluster", "topic", "connector"))
    SelectionSource.objects.all().delete()
    migration: Any = import_module("dlqadmin.replays.migrations.0019_selection_sources")
    with connection.cursor() as cursor:
        cursor.execute(migration.ADD_KNOWN)
    after = set(SelectionSource.objects.values_list("selection", "cluster", "topic", "connector"))
    assert (after, len(after)) == (before, 4)

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from markdown_it import MarkdownIt
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import DeadLetter, Group
from dlqadmin.deadletters.search.time_limits import QueryTimedOut
from dlqadmin.replays.items import item_states
from dlqadmin.replays.models import ItemState
from dlqadmin.reports import incidents
from tests.dlqadmin.deadletters.letters import ALL, HOUR_MS, NOW, NOW_MS, index, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.asking import post
from tests.dlqadmin.replays.world import World
from tests.dlqadmin.reports.test_markdown import walk

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
LARGE = re.compile(r'FROM "(?:deadletters_deadletter|deadletters_deadletterbody|replays_replayitem|replays_disposal)"')
BOUNDED = re.compile(r" LIMIT \d+$|^SELECT (?:COUNT|MIN|MAX)\(| GROUP BY | IN \([\d, ]+\)$")
IMAGE = "![x](http://evil.example/leak)"


def get(client: APIClient, path: str, expect: int = 200, /, **params: str) -> Any:
    response = client.get(f"/api/v1/{path}", params)
    assert response.status_code == expect, response.content
    return response


@pytest.fixture
def group() -> Group:
    """100 failures over ten hours, whose message, key, value and topic mean harm."""
    hostile = {"message": f"bad {IMAGE} <script>", "value": b"```\n<img src=x>\n" + IMAGE.encode(), "key": b"`` [a](b)"}
    index([letter(offset, at_ms=NOW_MS - offset // 10 * HOUR_MS, **hostile) for offset in range(100)])  # type: ignore[arg-type]  # texts
    return Group.objects.get()


def report(client: APIClient, group: Group, form: str = "json", **more: str) -> Any:
    answer = get(client, f"groups/{group.pk}/report", format=form, **ALL, **more)
    return answer.json() if form == "json" else answer.content.decode()


def test_a_group_s_report_says_what_failed_since_when_and_how_often(as_operator: APIClient, group: Group) -> None:
    found = report(as_operator, group)
    assert (found["events"], found["keys"], found["stage"]) == (100, 1, "TASK_PUT")
    assert (found["first_seen"], found["last_seen"]) == ("2026-11-20T18:12:30.000Z", "2026-11-21T03:12:30.000Z")
    assert sum(row["count"] for row in found["chart"]["points"]) == 100
    assert found["chart"]["points"][0]["count"] > 0
    assert len(found["chart"]["points"]) <= 40
    assert found["why"][0]["events"] == 100
    assert len(found["examples"]) == 5
    assert found["examples"][0]["coordinates"].startswith("usgs.earthquakes.dlq / 0 / ")
    assert (found["written_by"], found["left_out"]) == ("operator-1", [])


def test_what_people_did_is_in_it(as_operator: APIClient, group: Group) -> None:
    post(as_operator, f"groups/{group.pk}/notes", {"text": f"look {IMAGE}"}, expect=200)
    some = list(DeadLetter.objects.values_list("pk", flat=True)[:3])
    chosen = post(as_operator, "selections", {"ids": some})["id"]
    post(as_operator, "disposals", {"selection": chosen, "kind": "park", "reason": "until Monday"})
    found = report(as_operator, group)
    assert found["decided"] == {"parked": 3}
    said = [row["text"] for row in found["timeline"]]
    assert said[0] == "first seen"
    assert {f"look {IMAGE}", "parked 3 of these: until Monday"} <= set(said)


@pytest.mark.slow
def test_of_many_decisions_all_are_counted_and_the_newest_are_told(
    as_operator: APIClient, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incidents, "MOST_EVENTS", 2)
    for number, pk in enumerate(DeadLetter.objects.order_by("pk").values_list("pk", flat=True)[:4]):
        chosen = post(as_operator, "selections", {"ids": [pk]})["id"]
        post(as_operator, "disposals", {"selection": chosen, "kind": "park", "reason": f"reason {number}"})
    with CaptureQueriesContext(connection) as queries:
        found = report(as_operator, group)
    assert found["decided"] == {"parked": 4}
    assert [row["text"] for row in found["timeline"]] == ["parked 1 of these: reason 2", "parked 1 of these: reason 3"]
    (acts,) = [row["sql"] for row in queries.captured_queries if 'FROM "replays_disposalact"' in row["sql"]]
    assert acts.count(",") - acts.partition(" IN (")[0].count(",") == 1


def test_nothing_of_a_huge_incident_is_read_to_its_end(
    as_operator: APIClient, group: Group, engine: FakeEngine
) -> None:
    """What is no aggregate has a limit, or names its rows one by one."""
    chosen = post(as_operator, "selections", {"filter": f"from={ALL['from']}&to={ALL['to']}"})["id"]
    replay = post(as_operator, "replays", {"selection": chosen})["id"]
    with CaptureQueriesContext(connection) as queries:
        report(as_operator, group)
        get(as_operator, f"replays/{replay}/report", format="json")
    read = [row["sql"] for row in queries.captured_queries if row["sql"].startswith("SELECT")]
    large = [sql for sql in read if LARGE.search(sql)]
    assert len(large) > 6
    assert [sql for sql in large if not BOUNDED.search(sql)] == []


@pytest.mark.parametrize("part", ["replays", "examples", "decisions"])
def test_a_part_that_takes_too_long_is_named_and_not_said_to_be_empty(
    as_operator: APIClient, group: Group, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def slow(*_: Any) -> Any:
        raise QueryTimedOut

    monkeypatch.setattr(
        incidents, {"replays": "_replays_of", "examples": "_newest", "decisions": "_decisions"}[part], slow
    )
    page = report(as_operator, group, "md")
    assert f"Left out, because the search took too long: {part}." in page
    empty = {
        "replays": ("No replay was run."),
        "examples": ("No examples are kept any more."),
        "decisions": "not to be replayed",
    }
    assert empty[part] not in page


@pytest.mark.parametrize("form", ["md", "json"])
def test_it_is_a_file_and_taking_it_away_is_audited(as_operator: APIClient, group: Group, form: str) -> None:
    answer = get(as_operator, f"groups/{group.pk}/report", format=form, **ALL)
    assert answer["Content-Disposition"] == f'attachment; filename="incident-group-{group.pk}.{form}"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    row = AuditEntry.objects.get()
    assert (row.action, row.object_id, row.detail["values"]) == ("report", str(group.pk), True)


def test_nothing_of_a_record_is_more_than_text_in_the_page(as_operator: APIClient, group: Group) -> None:
    post(as_operator, f"groups/{group.pk}/notes", {"text": f"look {IMAGE}\n\n# mine"}, expect=200)
    page = report(as_operator, group, "md")
    tokens = [token for one in MarkdownIt("commonmark").enable("table").parse(page) for token in walk(one)]
    kinds = {token.type for token in tokens}
    assert not kinds & {"image", "link_open", "html_inline", "html_block"}
    heads = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    assert [head for head in heads if not head.startswith("Dead letter ")] == [
        f"Incident report: group {group.pk}", "What failed", "When", "Why these are one group",
        "Common values", "Timeline", "Replays", "Examples",
    ]  # fmt: skip
    assert sum(token.type == "fence" for token in tokens) == 5
    assert IMAGE not in "".join(token.content for token in tokens if token.type == "text")


def test_one_who_may_not_export_gets_no_values(as_viewer: APIClient, group: Group) -> None:
    found = report(as_viewer, group)
    assert found["values"] is False
    assert {(row["key"], row["value"]) for row in found["examples"]} == {(None, None)}
    assert not [one for one in found["common"]["traits"] if one["field"].startswith(("key", "value", "header"))]
    assert found["common"]["withheld"] is True
    assert "left out, because they require the role operator" in report(as_viewer, group, "md")


def test_long_values_are_cut(as_operator: APIClient) -> None:
    index([letter(1, value=b"x" * 50_000), letter(2, value=b"\xff" * 50_000), letter(3, value="ä".encode() * 700)])
    values = {row["value_size"]: row["value"] for row in report(as_operator, Group.objects.get())["examples"]}
    assert values[1400] == "ä" * 500
    assert {len(value) for size, value in values.items() if size == 50_000} <= {1000, 502}


def test_a_replay_s_report_says_who_why_and_what_became_of_it(as_operator: APIClient, engine: FakeEngine) -> None:
    world = World(engine, items=3, reason=f"again {IMAGE}", status="done", done_at=NOW)
    item_states.created(world.replay)
    item_states.move([world.item(0)], ItemState.SENT, ItemState.PASSED, NOW, evidence="reported delivered")
    item_states.move([world.item(1)], ItemState.SENT, ItemState.UNKNOWN, NOW, reason="no_group", evidence=IMAGE)
    answer = get(as_operator, f"replays/{world.replay.pk}/report", format="json").json()
    assert {name: answer["counts"][name] for name in ("total", "passed", "unknown", "waiting")} == {
        "total": 3, "passed": 1, "unknown": 1, "waiting": 1,
    }  # fmt: skip
    remedy = "Start a consumer of the target topic, or choose a group for the replay."
    assert answer["reasons"] == [{"state": "unknown", "reason": "no_group", "count": 1, "remedy": remedy}]
    assert [row["state"] for row in answer["examples"]] == ["unknown", "sent", "passed"]
    assert answer["groups_of"] == 3
    page = get(as_operator, f"replays/{world.replay.pk}/report").content.decode()
    tokens = [token for one in MarkdownIt("commonmark").enable("table").parse(page) for token in walk(one)]
    assert not {token.type for token in tokens} & {"image", "link_open", "html_inline", "html_block"}
    assert "- 1 unknown" in page
    group = Group.objects.get()
    assert [row["id"] for row in report(as_operator, group)["replays"]] == [world.replay.pk]


@pytest.mark.parametrize(
    ("path", "params", "status"),
    [
        ("groups/1/report", {"format": "html"}, 400), ("groups/999/report", {}, 404), ("replays/999/report", {}, 404),
        ("replays/1/report", {"format": "pdf"}, 400), (f"groups/{2**70}/report", {}, 404),
    ],
)  # fmt: skip
def test_bad_input_is_a_problem(as_operator: APIClient, path: str, params: dict[str, str], status: int) -> None:
    assert get(as_operator, path, status, **params).headers["Content-Type"] == "application/problem+json"


def test_strangers_get_none_and_a_read_only_cluster_gives_it(
    anonymous: APIClient, as_operator: APIClient, group: Group, settings: Settings
) -> None:
    get(anonymous, f"groups/{group.pk}/report", 401)
    settings.READ_ONLY = True
    assert report(as_operator, group)["values"] is True

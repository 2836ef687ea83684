"""People with all roles in one team neither see nor change anything of another team, at no operation of the API.

The operations come from the OpenAPI description, so that a new one is tried at once. Everything of the other team
holds a text. Names that the requests ask for hold another text, because an answer may repeat its question.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.apps import apps
from django.contrib.auth.models import Group as AuthGroup
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import models, transaction
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.accounts import tokens
from dlqadmin.alerts.models import AlertFiring
from dlqadmin.audit.entries import record
from dlqadmin.connectors.connect_clusters import ENGINE
from dlqadmin.connectors.models import EngineAnswer
from dlqadmin.deadletters.index.word_index import pack, write_queued_words
from dlqadmin.deadletters.models import (
    DeadLetter,
    Fingerprint,
    IndexPosition,
    IssueTracker,
    MappingVersion,
    OwnershipRule,
    Regrouping,
    Reread,
    TopicRule,
)
from dlqadmin.erasures.models import Erasure
from dlqadmin.exports.tasks import write_exports
from dlqadmin.metrics.models import TaskMinute, TaskSnapshot
from dlqadmin.notifications import channels
from dlqadmin.notifications.models import Channel, ChannelDelivery
from dlqadmin.overview.models import Dismissal
from dlqadmin.replays.fixes.bulk_fixes import fresh_counts
from dlqadmin.replays.fixes.drafts import DraftChange, save
from dlqadmin.replays.models import (
    BulkFix,
    FixProgram,
    ItemOutcome,
    ItemPayload,
    Rehearsal,
    Replay,
    ReplayItem,
)
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.teams.models import Team, TeamRole, TeamRoleName
from engine.record.query_status import QueryState
from engine.record.record import RawRecord
from tests.dlqadmin.alerts.rigs import rule as alert_rule
from tests.dlqadmin.alerts.rigs import tick as alert_tick
from tests.dlqadmin.conftest import alone, member, signed_in, team  # noqa: F401 (every test uses `alone`)
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.exports.reading import body as streamed
from tests.dlqadmin.spark_queries import report as report_query
from tests.security.operations import bodies, operations

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

CANARY = "zq9canary"
ASKED = "zq9asked"  # in the names of the other team that requests ask for
NULL = f"NOT NULL constraint failed: rows.{CANARY}_gap"
TOPIC, CONNECTOR, MAPPING = f"{ASKED}.orders.dlq", f"{ASKED}-sink", f"{ASKED}-mapping"
OWN_TOPIC, OWN_CONNECTOR = "mine.orders.dlq", "mine-sink"
API = "/api/v1"
EVENTS = {"live_events", "replays_events"}  # never end; tests of their own follow
ALL_ROLES = tuple(TeamRoleName)
World = Mapping[str, Any]
Rows = Mapping[Any, Mapping[Any, Mapping[str, Any]]]  # by model and key


@pytest.fixture
def theirs(db: None, settings: Settings, tmp_path: Path) -> World:
    """What the other team has: the values of path parameters and of members of bodies, by name."""
    settings.EXPORTS_DIR = tmp_path / "exports"
    other = team(f"{CANARY} team", [f"{CANARY}*", f"{ASKED}*"], [f"{CANARY}*", f"{ASKED}*"])
    ben = member(f"{CANARY}-ben", {other: ALL_ROLES})
    index([_letter(n, TOPIC, CONNECTOR) for n in range(4)], timezone.now())
    index([_letter(n, TOPIC, CONNECTOR, f"{CANARY} is missing") for n in range(4, 6)], timezone.now())
    index([_letter(n, f"{CANARY}.more.dlq", f"{CANARY}-sink") for n in range(3)], timezone.now())
    write_queued_words()
    made = _made(signed_in(ben), ben)
    _stored(ben)
    made |= _alerted(other, ben) | _owned(other, ben) | _peopled(other, ben)
    return {**made, "ben": ben}


@pytest.fixture
def before(theirs: World) -> Rows:
    """All rows of the other team: there are no others yet."""
    return _rows()


@pytest.fixture
def ann(before: Rows) -> APIClient:
    """A person with all roles in her own team, which has dead letters too."""
    mine = team("mine", ["mine.*"], ["mine-*"])
    client = signed_in(member("ann", {mine: ALL_ROLES}))
    found = [letter(n, topic=OWN_TOPIC, connector=OWN_CONNECTOR, at_ms=_now_ms()) for n in range(3)]
    index(found, timezone.now())
    return client


def test_no_operation_shows_what_another_team_has(ann: APIClient, theirs: World) -> None:
    shown = set()
    for name, address, asks in _reads(theirs):
        cache.clear()
        body = _asked(ann, "GET", address, None)
        if CANARY.encode() in body or (not asks and ASKED.encode() in body):
            shown.add(name)
    assert shown == set()


def test_no_operation_changes_what_another_team_has(ann: APIClient, theirs: World, before: Rows) -> None:
    changed, shown, there = set(), set(), _rows()
    for name, method, address, body in _writes(theirs):
        with transaction.atomic():
            answer = _asked(ann, method, address, body)
            after = _rows()
            transaction.set_rollback(True)
        if CANARY.encode() in answer:
            shown.add(name)
        changed |= {f"{name}: {model.__name__}" for model in _touched(before, there, after)}
    assert changed == set()
    assert shown == set()


def test_its_own_people_see_it_at_most_operations(theirs: World) -> None:
    client, shown, statuses = signed_in(theirs["ben"]), set(), defaultdict(set)
    for name, address, _ in _reads(theirs):
        cache.clear()
        answer = _answer(client, "GET", address, None)
        body = _content(answer)
        statuses[name].add(answer.status_code)
        if CANARY.encode() in body or ASKED.encode() in body:
            shown.add(name)
    assert {name: min(found) for name, found in statuses.items() if name not in shown} == NOTHING_OF_TEAMS


def test_administrators_see_the_erasures_of_all_teams(theirs: World) -> None:
    client = signed_in(User.objects.get(username="root"))
    reads = [(name, address) for name, address, _ in _reads(theirs) if name.startswith("erasures_")]
    shown = {name for name, address in reads if CANARY.encode() in _asked(client, "GET", address, None)}
    assert shown == {"erasures_list", "erasures_retrieve", "erasures_receipt"}


# Reads that show nothing of a team's, even to its people, and the status of their answers to them.
NOTHING_OF_TEAMS = {
    # About the whole installation, or the account of the reader.
    **dict.fromkeys(
        ("alive_retrieve", "ready_retrieve", "channels_list", "issue_trackers_list", "registries_list"), 200
    ),
    **dict.fromkeys(("sign_in_options", "two_factor_retrieve"), 200),
    # Numbers, times and ids.
    **dict.fromkeys(("dead_letters_at", "dead_letters_histogram", "dead_letters_retention", "groups_retention"), 200),
    **dict.fromkeys(("metrics_connector", "replays_series", "replays_unfinished", "teams_facts"), 200),
    "replays_resolvable": 200,  # no group of the replay is free of open work
    # For administrators and viewers of everything.
    **dict.fromkeys(("audit_export", "erasures_list", "erasures_receipt", "erasures_retrieve"), 403),
    # Neither the engine nor Kafka answers here.
    **dict.fromkeys(("connector_plugins_list", "topics_list"), 503),
}


def _letter(offset: int, topic: str, connector: str, message: str = NULL) -> RawRecord:
    made = letter(
        offset, topic=topic, connector=connector, at_ms=_now_ms(), message=message,
        exception=f"{CANARY}.Error", stage="VALUE_CONVERTER", key=f"{CANARY}-{offset}".encode(),
        value=json.dumps({CANARY: CANARY, f"{CANARY}_gap": None}).encode(), headers=((CANARY, CANARY.encode()),),
    )  # fmt: skip
    origin = f"{CANARY}.origin".encode()
    headers = tuple((name, origin if value == b"usgs.earthquakes" else value) for name, value in made.headers)
    return RawRecord(made.topic, 0, offset, made.timestamp, made.timestamp_type, made.key, made.value, headers)


def _made(client: APIClient, ben: User) -> dict[str, Any]:
    """Make what the API can make."""

    def post(path: str, body: Any) -> Any:
        answer = client.post(f"{API}/{path}", body)
        assert answer.status_code in (200, 201, 202), (path, answer.content)
        return answer.json()

    ids = list(DeadLetter.objects.filter(topic=TOPIC).order_by("pk").values_list("pk", flat=True))
    groups = sorted(set(Fingerprint.objects.values_list("group", flat=True)))
    chosen = post("selections", {"ids": ids[:2]})["id"]
    replay = post("replays", {"selection": chosen, "title": CANARY})["id"]
    act = post("disposals", {"selection": chosen, "kind": "park", "reason": CANARY})["id"]
    export = post("exports", {"format": "ndjson", "filter": f"topic={TOPIC}&q={CANARY}"})["id"]
    write_exports()
    saved = post("saved-searches", {"name": CANARY, "query": f"topic:{TOPIC}", "shared": True})["id"]
    template = post(
        "fix-templates", {"name": CANARY, "kind": "jq", "program": f'.{CANARY} = "{CANARY}"', "shared": True}
    )
    post(f"groups/{groups[0]}/notes", {"text": CANARY})
    post("groups/merge", {"groups": groups, "into": groups[0], "reason": CANARY})
    save(DeadLetter.objects.get(pk=ids[0]), ben, DraftChange(key=CANARY.encode()), None, timezone.now())
    return {
        "ids": ids, "dead_letters": ids, "source": ids[0], "groups": groups, "into": groups[0],
        "fingerprints": list(Fingerprint.objects.values_list("pk", flat=True))[:1], "selection": chosen,
        "replay": replay, "disposal": act, "export": export, "saved": saved, "template": template["id"],
        "filter": f"topic={TOPIC}", "target_topic": TOPIC, "topic": TOPIC, "connector": CONNECTOR,
        "username": ben.get_username(), "plan_digest": Replay.objects.get(pk=replay).plan["digest"],
        "regrouping": Regrouping.objects.get().pk,
    }  # fmt: skip


def _stored(ben: User) -> None:
    """Store what workers, the indexer and the engine would."""
    now = timezone.now()
    FixProgram.objects.create(
        author=ben, kind="jq", program=f".{CANARY}", created_at=now, selection_id=Replay.objects.get().selection_id
    )
    item, letter_id = ReplayItem.objects.order_by("pk")[0], DeadLetter.objects.order_by("pk")[0].pk
    ReplayItem.objects.update(state="failed_again", sent_partition=0, sent_offset=1, evidence=CANARY)
    ItemOutcome.objects.create(item=item, group=CANARY, state="sent", state_at=now, evidence=CANARY)
    ItemPayload.objects.create(item=item, key=CANARY.encode(), headers=b"", digest="")
    bulk = BulkFix.objects.create(
        selection_id=item.replay.selection_id, author=ben, name=CANARY, kind="jq", program=f".{CANARY}", status="done",
        created_at=now, heartbeat=now, done_at=now, trouble=CANARY,
        counts={**fresh_counts(replace=False), "why": [{"text": CANARY, "count": 1, "dead_letter": letter_id}]},
    )  # fmt: skip
    Rehearsal.objects.create(
        author=ben, wanted={"dead_letters": [letter_id]}, result=[], trouble=CANARY, created_at=now, done_at=now
    )
    record(ben, "made drafts", "bulk fix", str(bulk), {"why": [CANARY]})
    record(ben, "pause", "connector", CONNECTOR, {"cluster": "local", "reason": CANARY})
    record(ben, "reread topic", "topic", TOPIC, {"cluster": "local", "reason": CANARY})
    Dismissal.objects.create(
        finding=f"{ASKED}-finding", kind="connector", object_type="connector", object_id=CONNECTOR, title=CANARY,
        reason=CANARY, user=ben, actor=ben.get_username(), at=now, until=now + timedelta(days=1), count=1,
    )  # fmt: skip
    MappingVersion.objects.create(
        cluster="local", name=MAPPING, version=1, document={"topics": [TOPIC], "name": MAPPING, "facts": {}},
        is_active=False, actor=CANARY, reason=CANARY, at=now,
    )  # fmt: skip
    for topic in (TOPIC, f"{CANARY}.more.dlq"):
        IndexPosition.objects.update_or_create(
            cluster="local", topic=topic, partition=0, defaults={"position": 3, "end_offset": 9, "updated_at": now}
        )
        Reread.objects.create(cluster="local", topic=topic, actor=CANARY, created_at=now, total=9)
    TopicRule.objects.create(
        cluster="local", topic=f"{CANARY}.more.dlq", is_excluded=True, actor=CANARY, reason=CANARY, at=now
    )
    for name in (ASKED, CANARY):
        report_query(name=f"{name}-query", topics=(CANARY,), state=QueryState.FAILED, trace=CANARY, worker_id=CANARY)
    for connector in (CONNECTOR, f"{CANARY}-sink"):
        TaskSnapshot.objects.create(
            connector=connector, task=0, state="FAILED", worker_id=CANARY, reported_at=now,
            metrics={"records-consumed": 5}, status={"trace": CANARY},
        )  # fmt: skip
        for minutes in (1, 2):
            minute = now.replace(second=0, microsecond=0) - timedelta(minutes=minutes)
            TaskMinute.objects.create(
                connector=connector, task=0, minute=minute, metrics={"records-consumed": 9 - minutes}, lag=minutes
            )
    EngineAnswer.objects.create(
        cluster=ENGINE,
        software="engine",
        at=now,
        body={
            CONNECTOR: {
                "status": {"name": CONNECTOR, "connector": {"state": "FAILED", "trace": CANARY}, "tasks": []},
                "info": {"name": CONNECTOR, "config": {"name": CONNECTOR, "topics": CANARY}, "type": "sink"},
            }
        },
    )


def _alerted(other: Team, ben: User) -> dict[str, Any]:
    """Store a rule, its firings and deliveries, as evaluation makes them."""
    administrator = User.objects.create_superuser("root")  # channels are of all teams
    channel, _ = channels.create("shared", "webhook", "https://example.com/hook", administrator, RequestKey())
    made = alert_rule(
        {"kind": "records", "more_than": 0, "within_s": 3600}, {"kind": "new_group"},
        name=CANARY, team=other, query=f"topic:{CANARY}*", tells=((channel.name, False),), created_by=ben,
    )  # fmt: skip
    alert_tick(timezone.now())
    firing, delivery = AlertFiring.objects.latest("pk"), ChannelDelivery.objects.latest("pk")
    assert (firing.team_id, delivery.team_id) == (other.pk, other.pk)
    ChannelDelivery.objects.update(state="failed", subject=CANARY, result=CANARY)
    Channel.objects.update(last_used_at=timezone.now(), last_result=f"HTTP 400: {CANARY}")
    return {"alert_rule": made.pk, "alert": firing.pk, "delivery": delivery.pk, "channel": channel.pk}


def _owned(other: Team, ben: User) -> dict[str, Any]:
    """Make what people of a team decide about its topics and groups, and an administrator's erasure of its records."""
    client, calls = signed_in(ben), {}

    def post(path: str, body: Any) -> Any:
        answer = client.post(f"{API}/{path}", body, format="json")
        assert answer.status_code == 201, (path, answer.content)
        return answer.json()["id"]

    group = Fingerprint.objects.order_by("pk")[0].group_id
    calls["annotation"] = post("annotations", {"title": CANARY, "text": CANARY, "connector": f"{CANARY}-sink"})
    calls["masking_rule"] = post(
        "masking-rules",
        {
            "topics": [f"{CANARY}*"], "kind": "header", "field": f"{CANARY}-token", "show": "nothing",
            "except_roles": [{"team": other.pk, "role": "operator"}], "reason": CANARY, "active": True,
        },
    )  # fmt: skip
    calls["issue"] = post(f"groups/{group}/issues", {"name": CANARY, "url": f"https://{CANARY}.example/1"})
    calls["tracker"] = IssueTracker.objects.create(name="tracker", template="https://issues.example/{title}").pk
    OwnershipRule.objects.create(position=0, topic=f"{CANARY}*", exception=CANARY, team=other)
    OwnershipRule.objects.create(position=1, topic=f"{CANARY}.more.*", owner=ben)
    erasure = Erasure.objects.create(
        actor_name=CANARY, reason=CANARY, title=f"topic {TOPIC} {CANARY}", ids=pack([1]), count=1, digest="",
        watermark=1, state="done", created_at=timezone.now(), done_at=timezone.now(),
    )  # fmt: skip
    return {**calls, "erasure": erasure.pk}


def _peopled(other: Team, ben: User) -> dict[str, Any]:
    """Make the team's other people: one who mentions Ben, a sign-in group with a role, and one who is invited."""
    cal, group = member(f"{CANARY}-cal", {other: ALL_ROLES}), AuthGroup.objects.create(name=f"{CANARY} group")
    TeamRole.objects.create(team=other, group=group, role=TeamRoleName.VIEWER)
    cal.groups.add(group)
    pk = Fingerprint.objects.order_by("pk")[0].group_id
    note = signed_in(cal).post(f"{API}/groups/{pk}/notes", {"text": f"@{CANARY}-ben, {CANARY}"})
    assert (note.status_code, ben.mentions.count()) == (200, 1), note.content
    invited = {"name": f"{CANARY}@example.com", "team": other.pk, "roles": ["viewer"]}
    invitation = signed_in(ben).post(f"{API}/invitations", invited, format="json")
    assert invitation.status_code == 201, invitation.content
    token = tokens.create(ben, ben, CANARY, ["viewer"], 1, timezone.now())[0]
    return {"invitation": invitation.json()["id"], "team": other, "sign_in_group": group.pk, "token": token.pk}


def _reads(theirs: World) -> Iterator[tuple[str, str, bool]]:
    """Yield the name and address of each read, and whether the address asks for names of the other team."""
    plain = {"from": "now-1d", "to": "now"}
    for name, method, path, operation in operations():
        if method != "GET" or name in EVENTS:
            continue
        taken = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}
        # Of these, some are required, and none shows what it names.
        base = {**plain, **{one: value for one, value in _forms(theirs).items() if one in taken}}
        by_name = {one: value for one, value in (("topic", TOPIC), ("connector", CONNECTOR)) if one in taken}
        for address in _addresses(path, theirs):
            yield name, f"{address}?{urlencode(base)}", ASKED in address
            for choices in _choices(operation):
                yield name, f"{address}?{urlencode({**base, **choices})}", ASKED in address
            for one, value in by_name.items():
                yield name, f"{address}?{urlencode({**base, one: value})}", True
            if "q" in taken:
                for text in (
                    f"topic:{TOPIC}",
                    f"-topic:{OWN_TOPIC}",
                    "topic:",
                    "origin_topic:",
                    "group:",
                    "exception:",
                ):
                    yield name, f"{address}?{urlencode({**base, 'q': text, 'at': len(text)})}", True


def _choices(operation: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield each combination of what an operation offers to measure and to split by."""
    offered = {one["name"]: one["schema"].get("enum", ()) for one in operation.get("parameters", ())}
    names = [one for one in ("measure", "by") if offered.get(one)]
    for values in product(*(offered[one] for one in names)) if names else ():
        yield dict(zip(names, values, strict=True))


def _forms(theirs: World) -> dict[str, Any]:
    return {"selection": theirs["selection"], "part": "value", "form": "json", "text": ""}


def _writes(theirs: World) -> Iterator[tuple[str, str, str, Any]]:
    """Yield the name, method, address and a body of each write, the end of the session last."""
    for name, method, path, operation in sorted(operations(), key=lambda row: row[0] == "session_destroy"):
        if method == "GET":
            continue
        for address in _addresses(path, theirs):
            known = {**theirs, **_plain(theirs), "kind": _kind(name), "team": _team(name, theirs)}
            yield from ((name, method, address, body) for body in _bodies(name, operation, known))
            if name in ("people_roles_change", "sign_in_groups_roles_change"):  # into one's own team
                own = Team.objects.get(name="mine").pk
                yield name, method, address, {"team": own, "roles": ["viewer"], "opened": []}


# Operations that want one of several members.
ALTERNATIVES = {"selections_create", "rehearsals_create", "fixes_discard_many", "groups_assign", "groups_assign_many"}


def _bodies(name: str, operation: Mapping[str, Any], known: World) -> Iterator[Any]:
    """Yield bodies that fit an operation, and for one of ALTERNATIVES also bodies with one optional member each."""
    found = list(bodies(operation, known))
    yield from found
    if name in ALTERNATIVES:
        least, whole = found
        yield from ({**least, one: value} for one, value in whole.items() if one not in least)


def _plain(theirs: World) -> dict[str, Any]:
    """Return values that pass the checks of a body, so that the reach alone refuses it."""
    now, bulk = timezone.now(), BulkFix.objects.get().pk
    return {
        "format": "ndjson", "reason": "a reason", "url": "https://example.com", "quiet": None, "topics": [TOPIC],
        "at": now.isoformat(), "until": (now + timedelta(days=1)).isoformat(), "bulk": bulk, "bulk_fix": bulk,
        "query": f"topic:{TOPIC}", "config": {"name": CONNECTOR},
        "dead_letter": theirs["ids"][0], "groups": theirs["groups"][:1],
    }  # fmt: skip


def _kind(name: str) -> str:
    kinds = {"disposals": "discard", "alert": "new_group", "alerts": "new_group", "annotations": "deploy"}
    return {**kinds, "masking": "header"}.get(name.split("_", maxsplit=1)[0], "jq")


def _team(name: str, theirs: World) -> int | str:
    """Return what names the team in the body of an operation. Owners of groups go by name."""
    team: Team = theirs["team"]
    return team.name if name.startswith(("groups_", "ownership_")) else team.pk


def _addresses(path: str, theirs: World) -> list[str]:
    """Return the path with what its parameters may name of the other team."""
    resource = path.removeprefix(f"{API}/").split("/")[0]
    of_resource = {
        "dead-letters": theirs["ids"][:2],
        "groups": theirs["groups"],
        "replays": [theirs["replay"]],
        "selections": [theirs["selection"]],
        "disposals": [theirs["disposal"]],
        "exports": [theirs["export"]],
        "saved-searches": [theirs["saved"]],
        "fix-templates": [theirs["template"]],
        "bulk-fixes": [BulkFix.objects.get().pk],
        "rehearsals": [Rehearsal.objects.get().pk],
        "regroupings": [theirs["regrouping"]],
        "tokens": [theirs["token"]],
        "annotations": [theirs["annotation"]],
        "masking-rules": [theirs["masking_rule"]],
        "issue-trackers": [theirs["tracker"]],
        "erasures": [theirs["erasure"]],
        "invitations": [theirs["invitation"]],
        "people": [theirs["ben"].pk],
        "sign-in-groups": [theirs["sign_in_group"]],
        "teams": [theirs["team"].pk],
        "alert-rules": [theirs["alert_rule"]],
        "alerts": [theirs["alert"]],
        "deliveries": [theirs["delivery"]],
        "channels": [theirs["channel"]],
    }
    names = {"connectors": CONNECTOR, "topics": TOPIC, "clusters": "local", "dialects": MAPPING}
    others = {
        "topic": TOPIC, "partition": "0", "offset": "1", "task": "0", "cluster": "local", "finding": f"{ASKED}-finding",
        "plugin": "SqlSink", "query_id": "12345678", "name": names.get(resource),
        "issue": theirs["issue"],
    }  # fmt: skip
    path = re.sub(r"\{(\w+)\}", lambda found: found[0] if found[1] == "id" else str(others[found[1]]), path)
    return [path.replace("{id}", str(pk)) for pk in of_resource[resource]] if "{id}" in path else [path]


def _asked(client: APIClient, method: str, address: str, body: Any) -> bytes:
    """Return the whole content of the answer."""
    return _content(_answer(client, method, address, body))


def _answer(client: APIClient, method: str, address: str, body: Any) -> Any:
    """Return the answer. No operation may break."""
    data = "" if body is None else json.dumps(body)
    answer: Any = client.generic(method, address, data, "application/json")
    assert answer.status_code < 500 or answer.status_code in (501, 502, 503, 504), (address, answer.content)
    return answer


def _content(answer: Any) -> bytes:
    return streamed(answer) if answer.streaming else answer.content


def _rows() -> Rows:
    """Return all rows of our tables by model and key, without the seals that the trail's chain adds."""
    ours = [one for one in apps.get_models() if one.__module__.startswith("dlqadmin.") and one._meta.managed]
    return {
        model: {row["pk"]: row for row in model._base_manager.values("pk", *_columns(model))}
        for model in ours
        if model._meta.model_name != "audithead"
    }


def _columns(model: type[models.Model]) -> list[str]:
    left_out = {"seq", "seal", "last_used_at"}
    return [field.attname for field in model._meta.concrete_fields if field.attname not in left_out]


def _touched(theirs: Rows, there: Rows, after: Rows) -> Iterator[type[models.Model]]:
    """Yield the models of rows of the other team that changed, and of new rows that refer to them."""
    for model, rows in theirs.items():
        if any(after[model].get(pk) != there[model].get(pk) for pk in rows):
            yield model
        links = [field for field in model._meta.concrete_fields if field.related_model in theirs]
        new = [row for pk, row in after[model].items() if pk not in there[model]]
        if any(row[field.attname] in theirs[field.related_model] for row in new for field in links):
            yield model


def _now_ms() -> int:
    return int(timezone.now().timestamp() * 1000) - 60_000

"""Titles of selections and replays quote no message, because everybody sees them."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from rest_framework.test import APIClient

from dlqadmin.deadletters.groups.safe_titles import safe_title
from dlqadmin.deadletters.models import Fingerprint, Group
from dlqadmin.erasures.models import Erasure
from dlqadmin.overview.models import Dismissal
from dlqadmin.replays.models import Replay, Selection
from tests.dlqadmin.deadletters.letters import NOW, index, letter
from tests.dlqadmin.replays.asking import WEEK, post

pytestmark = pytest.mark.django_db
QUOTING = "IntegrityError: duplicate Zx9secret"


@pytest.fixture
def group() -> int:
    """A group whose title quotes a record."""
    index([letter(0)])
    Group.objects.update(title=QUOTING)
    return Group.objects.get().pk


def test_a_selection_of_a_group_and_its_replay_are_named_by_exception_and_stage(
    as_operator: APIClient, group: int
) -> None:
    chosen = post(as_operator, "selections", {"filter": f"{WEEK}&group={group}"})
    replay = post(as_operator, "replays", {"selection": chosen["id"]})
    assert chosen["title"] == replay["title"] == safe_title(group)
    assert post(as_operator, "replays", {"selection": chosen["id"], "title": "mine"})["title"] == "mine"


def test_a_group_without_fingerprints_is_named_by_its_number(group: int) -> None:
    Fingerprint.objects.update(exception_class="org.example.BadRow", stage="TASK_PUT")
    assert safe_title(group) == f"BadRow in TASK_PUT (group {group})"
    assert safe_title(group + 1) == f"Group {group + 1}"


def migrate(name: str) -> None:
    migration: Any = import_module(f"dlqadmin.{name}_titles_without_messages")
    migration.hide_messages(apps, SimpleNamespace(connection=connection))


def test_an_upgrade_takes_messages_out_of_titles(group: int) -> None:
    own = Fingerprint.objects.get().pk
    by_group = {"from": "", "to": "", "include": {"fingerprint": [str(own)]}, "exclude": {}}
    narrowed = {**by_group, "include": {"fingerprint": [str(own)], "topic": ["t"]}}
    chosen = select(by_group, QUOTING)
    replay, typed = replayed(chosen, QUOTING), replayed(chosen, "what I typed")
    again = select({"ids": [1, 2]}, QUOTING, continues=replay)
    rerun = replayed(again, QUOTING)
    kept = [select(by_group, "group 3, 4"), select(narrowed, "group 3; topic t"), select({"ids": [1, 2]}, "2 records")]
    migrate("replays.migrations.0020")
    for one in (chosen, replay, again, rerun):
        one.refresh_from_db()
        assert one.title == safe_title(group)
    typed.refresh_from_db()
    assert typed.title == "what I typed"
    assert [Selection.objects.get(pk=one.pk).title for one in kept] == [one.title for one in kept]


def test_an_upgrade_takes_messages_out_of_erasures(group: int) -> None:
    made = [erasure(title) for title in (QUOTING, f"{QUOTING}; and records with their keys", "topic t")]
    migrate("erasures.migrations.0002")
    titles = [Erasure.objects.get(pk=one).title for one in made]
    assert titles == [f"group {group}", f"group {group}; and records with their keys", "topic t"]


def test_an_upgrade_takes_former_titles_out_of_dismissals(group: int) -> None:
    replay = replayed(select({"ids": [1]}, "x"), "what I typed")
    name = f"R-{replay.pk}"
    made = [
        dismissal("replay_failing", str(replay.pk), f"{name}: {QUOTING}"),
        dismissal("approval", "", f"{name}: {QUOTING}, 3 records"),
        dismissal("approval", str(replay.pk), f"{name}: what I typed, 3 records"),
        dismissal("failed_task", "", "orders-0 failed"),
    ]
    migrate("overview.migrations.0003")
    titles = [Dismissal.objects.get(pk=one).title for one in made]
    assert titles == [name, "A replay", f"{name}: what I typed, 3 records", "orders-0 failed"]


def select(filters: dict[str, Any], title: str, **more: Any) -> Selection:
    return Selection.objects.create(
        created_at=NOW, filters=filters, title=title, watermark=1, count=1, digest="d", **more
    )


def replayed(selection: Selection, title: str) -> Replay:
    return Replay.objects.create(selection=selection, title=title, planned_at=NOW, created_at=NOW)


def erasure(title: str) -> int:
    made = Erasure.objects.create(title=title, reason="r", ids=b"", count=0, watermark=1, created_at=NOW, heartbeat=NOW)
    return made.pk


def dismissal(kind: str, replay: str, title: str) -> int:
    about = {"object_type": "replay" if replay else "", "object_id": replay}
    made = Dismissal.objects.create(finding=f"{kind} {title}"[:32], kind=kind, title=title, at=NOW, **about)
    return made.pk

"""Every change of an account, every sign-in and every decision arrives in the list of the audit trail."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.accounts import tokens
from dlqadmin.accounts.models import ApiToken
from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.groups import triage
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.models import Group as DeadLetterGroup
from dlqadmin.replays.jobs import controls
from dlqadmin.replays.models import Replay
from dlqadmin.replays.plans import approvals
from tests.dlqadmin.conftest import PASSWORD, person, signed_in, token_of
from tests.dlqadmin.deadletters.letters import NOW
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.planned import PLAN, planned

pytestmark = pytest.mark.sql

ADMIN = "192.0.2.7"
NEW_PASSWORD = "entirely different words"


@pytest.fixture
def admin(db: None) -> Client:
    """A browser in which a superuser is signed in to Django's admin."""
    root = person("root", "operator")
    User.objects.filter(pk=root.pk).update(is_staff=True, is_superuser=True)
    client = Client(REMOTE_ADDR=ADMIN)
    client.force_login(User.objects.get(pk=root.pk))
    AuditEntry.objects.all().delete()
    return client


@pytest.fixture
def ada(admin: Client) -> User:
    return person("ada", "viewer")


def listed(**wanted: str) -> list[dict[str, Any]]:
    """What a viewer's list of the trail shows, oldest first."""
    client = signed_in(User.objects.filter(username="reader").first() or person("reader", "viewer"))
    rows: list[dict[str, Any]] = client.get("/api/v1/audit", wanted).json()["results"]
    return rows[::-1]


def sentences(**wanted: str) -> list[tuple[str, str, str]]:
    return [(row["actor"], row["sentence"], row["outcome"]) for row in listed(**wanted)]


def submit(admin: Client, path: str, body: dict[str, Any]) -> None:
    response = admin.post(f"/admin/auth/{path}", body)
    assert response.status_code == 302, response.content.decode()


def user_form(**fields: Any) -> dict[str, Any]:
    return {"username": "ada", "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00", "is_active": "on", **fields}


def test_a_user_created_in_the_admin(admin: Client) -> None:
    submit(
        admin,
        "user/add/",
        {"username": "eve", "password1": NEW_PASSWORD, "password2": NEW_PASSWORD, "usable_password": "true"},
    )
    assert ("root", "created user eve: is active yes", "done") in sentences(type="user")
    assert {row["address"] for row in listed(type="user")} == {ADMIN}


def test_a_user_deactivated_in_the_admin(admin: Client, ada: User) -> None:
    submit(admin, f"user/{ada.pk}/change/", user_form(is_active="", groups=[str(ada.groups.get().pk)]))
    assert sentences(type="user") == [("root", "changed user ada: is active yes → no", "done")]


def test_roles_and_permissions_given_to_a_user_in_the_admin(admin: Client, ada: User) -> None:
    operator, permission = Group.objects.get(name="operator"), Permission.objects.get(codename="read_payloads")
    submit(admin, f"user/{ada.pk}/change/", user_form(groups=[str(operator.pk)], user_permissions=[str(permission.pk)]))
    found = [row["detail"] for row in listed(type="user")]
    assert {"groups": {"before": ["viewer"], "after": []}} in found or {
        "groups": {"before": ["viewer"], "after": ["operator", "viewer"]}
    } in found
    assert found[-1] == {"user_permissions": {"before": [], "after": ["audit.read_payloads"]}}
    assert listed(type="user")[-1]["sentence"] == "changed user ada: user permissions none → audit.read_payloads"


def test_a_role_created_changed_and_deleted_in_the_admin(admin: Client) -> None:
    permission = Permission.objects.get(codename="operate")
    submit(admin, "group/add/", {"name": "night shift", "permissions": [str(permission.pk)]})
    role = Group.objects.get(name="night shift")
    submit(admin, f"group/{role.pk}/change/", {"name": "day shift", "permissions": []})
    submit(admin, f"group/{role.pk}/delete/", {"post": "yes"})
    assert [(actor, sentence) for actor, sentence, _ in sentences(type="role")] == [
        ("root", "created role night shift"),
        ("root", "changed role night shift: permissions none → audit.operate"),
        ("root", "changed role day shift: name night shift → day shift"),
        ("root", "changed role day shift: permissions audit.operate → none"),
        ("root", "deleted role day shift"),
    ]
    assert {row["href"] for row in listed(type="role")} == {None}


def test_a_password_set_in_the_admin_and_one_that_the_owner_changed(admin: Client, ada: User) -> None:
    body = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD, "usable_password": "true"}
    submit(admin, f"user/{ada.pk}/password/", body)
    own = signed_in(User.objects.get(pk=ada.pk))
    answer = own.post("/api/v1/account/password", {"current": NEW_PASSWORD, "new": PASSWORD}, format="json")
    assert answer.status_code == 204
    assert [(actor, sentence) for actor, sentence, _ in sentences(type="user")] == [
        ("root", "changed user ada: password changed"),
        ("ada", "changed user ada: password changed"),
        ("ada", "changed their own password"),
    ]


def test_a_user_deleted_in_the_admin(admin: Client, ada: User) -> None:
    submit(admin, f"user/{ada.pk}/delete/", {"post": "yes"})
    assert sentences(type="user") == [("root", "deleted user ada", "done")]


def test_users_changed_by_a_command_name_the_command(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["manage.py", "createsuperuser"])
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    call_command("createsuperuser", "--noinput", username="root", email="root@example.com", verbosity=0)
    [(actor, sentence, _)] = sentences(type="user", object="root")
    assert actor == "manage.py createsuperuser"
    assert sentence == ("created user root: email root@example.com; is active yes; is staff yes; is superuser yes")


def test_tokens_created_and_revoked_by_the_owner_the_admin_and_a_new_password(admin: Client, ada: User) -> None:
    first, second = (tokens.create(ada, ada, name, ["viewer"], 1, timezone.now())[0] for name in ("ci", "cron"))
    answer = signed_in(ada).delete(f"/api/v1/tokens/{first.pk}")
    assert answer.status_code == 200
    body = {"action": "revoke", "_selected_action": [str(second.pk)]}
    assert admin.post("/admin/accounts/apitoken/", body).status_code == 302
    token_of(ada)
    ada.set_password(NEW_PASSWORD)
    ada.save()
    assert [(actor, sentence) for actor, sentence, _ in sentences(type="API token")] == [
        ("ada", "created an API token: ci of ada with viewer"),
        ("ada", "created an API token: cron of ada with viewer"),
        ("ada", "revoked an API token: ci of ada"),
        ("root", "revoked an API token: cron of ada"),
        ("ada", "created an API token: test of ada with viewer"),
    ]
    assert ("dlqadmin", "revoked all API tokens of user ada", "done") in sentences(type="user")


def test_the_use_of_an_ended_token_is_a_refusal(ada: User) -> None:
    secret = token_of(ada)
    ApiToken.objects.update(expires_at=timezone.now())
    assert APIClient(headers={"Authorization": f"Bearer {secret}"}).get("/api/v1/audit").status_code == 401
    refused = ("an API token", "tried to use an API token that had ended: test of ada", "refused")
    assert sentences(outcome="refused") == [refused]


def _by_api(name: str, password: str) -> None:
    APIClient().post("/api/v1/session", {"username": name, "password": password})


def _by_admin(name: str, password: str) -> None:
    Client().post("/admin/login/", {"username": name, "password": password, "next": "/admin/"})


@pytest.mark.parametrize("sign_in", [_by_api, _by_admin])
def test_sign_ins_that_succeed_fail_and_are_limited(
    admin: Client, settings: Settings, sign_in: Callable[[str, str], None]
) -> None:
    settings.SIGN_IN_RATE = (2, 900)
    sign_in("root", PASSWORD)
    for _ in range(4):
        sign_in("root", "wrong")
    assert sentences(type="session", object="root") == [
        ("root", "signed in", "done"),
        ("", "failed to sign in as root", "failed"),
        ("", "failed to sign in as root", "failed"),
        ("", "had too many failed attempts to sign in as root", "refused"),
    ]


def test_a_deactivated_user_fails_to_sign_in(ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(is_active=False)
    _by_api("ada", PASSWORD)
    assert sentences(type="session", object="ada") == [("", "failed to sign in as ada", "failed")]


def test_decisions_about_a_replay_its_group_and_its_connector(db: None, engine: FakeEngine) -> None:
    replay = planned()
    Replay.objects.update(plan={**replay.plan, "to_send": 3})
    asker, approver = person("olga", "operator"), person("paul", "approver")
    group = DeadLetterGroup.objects.get()
    later = NOW + timedelta(minutes=1)
    AuditEntry.objects.all().delete()
    approvals.ask(replay, asker, "INC-7", PLAN, later)
    approvals.approve(replay, approver, "checked", PLAN, later)
    controls.cancel(replay, asker, "a mistake", later, wait=lambda seconds: None)
    triage.resolve([group.pk], asker, "fixed upstream", later)
    triage.assign([group.pk], asker, None, later)
    engine.answer = 409, {"message": "rebalancing"}
    assert signed_in(asker).post("/api/v1/connectors/c/pause", {"reason": "3 a.m."}).status_code == 409
    assert signed_in(asker).get(f"/api/v1/dead-letters/{DeadLetter.objects.latest('pk').pk}").status_code == 200
    rows = listed()
    assert [(row["actor"], row["sentence"], row["reason"]) for row in rows] == [
        ("olga", f"asked for approval of replay {replay}: 3 records", "INC-7"),
        ("paul", f"approved replay {replay}: 3 records", "checked"),
        ("olga", f"cancelled replay {replay}", "a mistake"),
        ("olga", f"resolved group {group.pk}: fixed upstream", ""),
        ("olga", f"assigned group {group.pk}: to nobody", ""),
        ("olga", "paused connector c: refused: rebalancing", "3 a.m."),
        ("olga", f"read dead letter {DeadLetter.objects.latest('pk')}: record", ""),
    ]
    assert [row["href"] for row in rows] == [
        *([f"/replays/{replay.pk}"] * 3),
        *([f"/groups/{group.pk}"] * 2),
        "/connectors/engine/c",
        f"/records/{DeadLetter.objects.latest('pk').pk}",
    ]
    assert [row["outcome"] for row in rows] == [*["done"] * 5, "refused", "done"]

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from tests.dlqadmin.conftest import PASSWORD, person, token_of

pytestmark = pytest.mark.sql


def test_a_stranger_learns_where_he_is_and_not_more(anonymous: APIClient) -> None:
    body = anonymous.get("/api/v1/session").json()
    assert body == {
        "authenticated": False,
        "username": None,
        "role": None,
        "approver": False,
        "administrator": False,
        "rights": [],
        "global_rights": [],
        "teams": [],
        "ended": None,
        "payload_reader": False,
        "environment": "LOCAL",
        "cluster": "local",
        "read_only": False,
        "clusters": [],
        "kafka": None,
        "has_password": False,
        "sign_out_path": None,
    }


def test_signing_in_and_out_is_audited(anonymous: APIClient, operator: User) -> None:
    signed_in = anonymous.post("/api/v1/session", {"username": "operator-1", "password": PASSWORD})
    assert (signed_in.json()["authenticated"], signed_in.json()["role"]) == (True, "operator")
    assert anonymous.delete("/api/v1/session").json()["authenticated"] is False
    assert list(AuditEntry.objects.values_list("actor", "action").order_by("id")) == [
        ("operator-1", "signed in"),
        ("operator-1", "signed out"),
    ]


def test_a_wrong_password_is_refused(anonymous: APIClient, operator: User) -> None:
    response = anonymous.post("/api/v1/session", {"username": "operator-1", "password": "guess"})
    assert response.status_code == 401
    assert response["Content-Type"] == "application/problem+json"


def test_signing_in_needs_the_csrf_token(operator: User) -> None:
    client = APIClient(enforce_csrf_checks=True)
    response = client.post("/api/v1/session", {"username": "operator-1", "password": PASSWORD})
    assert response.status_code == 403
    assert response["Content-Type"] == "application/problem+json"
    token = client.get("/api/v1/session").cookies["csrftoken"].value
    allowed = client.post(
        "/api/v1/session", {"username": "operator-1", "password": PASSWORD}, headers={"X-CSRFToken": token}
    )
    assert allowed.status_code == 200


def test_guessing_is_slowed_down(anonymous: APIClient) -> None:
    tries = [anonymous.post("/api/v1/session", {"username": "x", "password": str(n)}) for n in range(6)]
    assert [response.status_code for response in tries] == [401] * 5 + [429]
    assert tries[-1]["Content-Type"] == "application/problem+json"
    assert 0 < int(tries[-1]["Retry-After"]) <= 900
    assert tries[-1].json()["detail"].startswith("Too many attempts to sign in. Try again in ")


def test_a_token_signs_in_too(viewer: User) -> None:
    client = APIClient(headers={"Authorization": f"Token {token_of(viewer)}"})
    assert client.get("/api/v1/session").json()["username"] == "viewer-1"
    assert client.get("/api/v1/audit").status_code == 200


@pytest.mark.parametrize("path", ["metrics/balance", "metrics/errors", "connectors", "health", "audit", "dead-letters"])
def test_a_stranger_and_a_user_without_a_role_read_nothing(anonymous: APIClient, path: str) -> None:
    nobody = APIClient()
    nobody.force_login(person("nobody", None))
    for client, status in ((anonymous, 401), (nobody, 403)):
        response = client.get(f"/api/v1/{path}")
        assert response.status_code == status
        assert response["Content-Type"] == "application/problem+json"


def test_the_audit_trail_is_paged_newest_first(as_viewer: APIClient, anonymous: APIClient, operator: User) -> None:
    for n in range(3):
        AuditEntry.objects.create(actor="a", action=f"act {n}", object_type="t", object_id="1", digest="0")
    first = as_viewer.get("/api/v1/audit?limit=2").json()
    second = as_viewer.get(f"/api/v1/audit?limit=2&cursor={first['next']}").json()
    assert [row["action"] for row in first["results"] + second["results"]] == ["act 2", "act 1", "act 0"]
    assert second["next"] is None


def test_the_demo_user_is_made_once_and_keeps_its_password(
    db: None, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.LOCAL_DIR = tmp_path
    call_command("ensure_demo_user")
    call_command("ensure_demo_user")
    password = (tmp_path / "demo-password").read_text().strip()
    assert (tmp_path / "demo-password").stat().st_mode & 0o777 == 0o600
    user = User.objects.get(username="demo")
    assert user.check_password(password)
    assert {group.name for group in user.groups.all()} == {"operator", "payload reader"}
    assert capsys.readouterr().out.count(password) == 2


def test_production_gets_no_demo_user_by_accident(db: None, settings: Settings, tmp_path: Path) -> None:
    settings.LOCAL, settings.LOCAL_DIR = False, tmp_path
    with pytest.raises(CommandError):
        call_command("ensure_demo_user")
    assert not User.objects.filter(username="demo").exists()

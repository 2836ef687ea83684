"""API tokens are stored hashed, have a part of their owner's rights, and end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from tests.dlqadmin.conftest import PASSWORD, alone, person, signed_in  # noqa: F401  # alone is used by every test

pytestmark = pytest.mark.django_db
API = "/api/v1"


@pytest.fixture
def ada() -> User:
    return person("ada", "approver")


def made(owner: User, *scopes: str, **more: Any) -> dict[str, Any]:
    """Return a new token of its owner, with its secret."""
    body = {"name": "nightly", "scopes": scopes or ("viewer", "operator"), **more}
    answer = signed_in(owner).post(f"{API}/tokens", body)
    assert answer.status_code == 201, answer.content
    token: dict[str, Any] = answer.json()
    return token


def using(secret: str, keyword: str = "Bearer") -> APIClient:
    return APIClient(headers={"Authorization": f"{keyword} {secret}"})


def status(secret: str) -> int:
    return using(secret).get(f"{API}/audit").status_code


def rows() -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM accounts_apitoken")
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def set_times(**shifts: timedelta) -> None:
    """Let time pass for every token: move its times back."""
    from dlqadmin.accounts.models import ApiToken

    for token in ApiToken.objects.all():
        for name, shift in shifts.items():
            setattr(token, name, getattr(token, name) - shift)
        token.save()


def test_a_copy_of_the_database_holds_no_token_that_works(ada: User) -> None:
    secret = made(ada)["secret"]
    assert secret.startswith("dlq_")
    assert len(secret) >= 47
    assert status(secret) == 200
    kept = [str(value) for row in rows() for value in row.values()]
    assert not [value for value in kept if secret in value]
    assert {status(value) for value in kept if value and value.isascii() and " " not in value} == {401}


def test_a_secret_is_shown_once_and_recorded_nowhere(ada: User) -> None:
    token = made(ada)
    listed = signed_in(ada).get(f"{API}/tokens")
    assert listed.json()["results"] == [{key: value for key, value in token.items() if key != "secret"}]
    trail = str(list(AuditEntry.objects.values()))
    assert token["secret"] not in listed.content.decode() + trail
    assert "API token created" in trail


@pytest.mark.parametrize("keyword", ["Bearer", "Token", "bearer"])
def test_both_keywords_are_understood(ada: User, keyword: str) -> None:
    assert using(made(ada)["secret"], keyword).get(f"{API}/session").json()["username"] == "ada"


@pytest.mark.parametrize(
    ("role", "scopes", "rights"),
    [
        ("approver", ["viewer"], ["viewer"]),
        ("approver", ["operator"], ["viewer", "operator"]),
        ("approver", ["approver"], ["viewer", "operator", "approver"]),
        ("viewer", ["viewer"], ["viewer"]),
    ],
)
def test_a_token_has_the_rights_that_were_chosen(role: str, scopes: list[str], rights: list[str]) -> None:
    session = using(made(person("bob", role), *scopes)["secret"]).get(f"{API}/session").json()
    assert session["rights"] == rights
    assert session["role"] == ("operator" if "operator" in rights else "viewer")
    assert session["approver"] is ("approver" in rights)


def test_a_superusers_token_has_no_more_than_its_scopes(ada: User) -> None:
    User.objects.update(is_superuser=True, is_staff=True)
    ada.refresh_from_db()
    viewing = using(made(ada, "viewer")["secret"])
    assert viewing.post(f"{API}/selections", {"ids": [1]}).status_code == 403
    assert viewing.get("/admin/").status_code == 302


def test_a_token_loses_the_rights_that_its_owner_loses(ada: User) -> None:
    secret = made(ada, "approver")["secret"]
    ada.groups.set(person("bob", "viewer").groups.all())
    assert using(secret).get(f"{API}/session").json()["rights"] == ["viewer"]
    ada.groups.clear()
    assert status(secret) == 403


@pytest.mark.parametrize("scopes", [["operator"], ["approver"], ["viewer", "operator"], ["root"], []])
def test_nobody_creates_a_token_with_more_rights_than_their_own(scopes: list[str]) -> None:
    viewer = signed_in(person("bob", "viewer"))
    assert viewer.post(f"{API}/tokens", {"name": "x", "scopes": scopes}).status_code == 400


def test_a_token_expires(ada: User) -> None:
    token = made(ada)
    lives = datetime.fromisoformat(token["expires_at"]) - timezone.now()
    assert timedelta(days=89) < lives <= timedelta(days=90)
    set_times(expires_at=timedelta(days=90))
    answers = [using(token["secret"]).get(f"{API}/audit") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [401] * 3
    assert "expired on" in answers[0].json()["detail"]
    assert list(AuditEntry.objects.values_list("action", flat=True)).count("ended API token refused") == 1
    set_times(refused_at=timedelta(days=1))
    assert status(token["secret"]) == 401
    assert list(AuditEntry.objects.values_list("action", flat=True)).count("ended API token refused") == 2


@pytest.mark.parametrize("days", [0, -1, 366, 10**9, "x"])
def test_no_token_lives_longer_than_the_maximum(ada: User, days: object) -> None:
    body = {"name": "x", "scopes": ["viewer"], "days": days}
    assert signed_in(ada).post(f"{API}/tokens", body).status_code == 400


@pytest.mark.sql
def test_a_token_is_revoked_by_its_owner_or_a_superuser_and_nobody_else(ada: User) -> None:
    first, second = made(ada), made(ada)
    bob = person("bob", "approver")
    assert signed_in(bob).delete(f"{API}/tokens/{first['id']}").status_code == 404
    assert signed_in(bob).get(f"{API}/tokens").json()["results"] == []
    assert status(first["secret"]) == 200
    assert signed_in(ada).delete(f"{API}/tokens/{first['id']}").json()["state"] == "revoked"
    bob.is_superuser = True
    bob.save()
    assert signed_in(bob).delete(f"{API}/tokens/{second['id']}").status_code == 200
    assert [status(token["secret"]) for token in (first, second)] == [401, 401]
    revoked = AuditEntry.objects.filter(action="API token revoked").order_by("id")
    assert list(revoked.values_list("actor", "object_id")) == [("ada", str(first["id"])), ("bob", str(second["id"]))]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("post", "tokens", {"name": "another", "scopes": ["viewer"]}),
        ("get", "tokens", None),
        ("delete", "tokens/{id}", None),
        ("post", "account/password", {"current": PASSWORD, "new": "a new correct horse"}),
    ],
)
def test_a_token_manages_neither_tokens_nor_the_password(ada: User, method: str, path: str, body: Any) -> None:
    token = made(ada, "approver")
    answer = getattr(using(token["secret"]), method)(f"{API}/{path.format(**token)}", body)
    assert (answer.status_code, answer.json()["detail"]) == (403, "API tokens can't do this. Sign in with a password.")
    assert APIClient().get(f"{API}/tokens").status_code == 401


def by_form(user: User) -> None:
    user.set_password("a new correct horse")
    user.save()


def by_screen(user: User) -> None:
    changed = {"current": PASSWORD, "new": "a new correct horse"}
    assert signed_in(user).post(f"{API}/account/password", changed).status_code == 204


def past_receivers(user: User) -> None:
    User.objects.filter(pk=user.pk).update(password="!")


def deactivated(user: User) -> None:
    user.is_active = False
    user.save()


def deactivated_past_receivers(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


@pytest.mark.sql
@pytest.mark.parametrize("end", [by_form, by_screen, past_receivers, deactivated, deactivated_past_receivers])
def test_tokens_end_for_good_with_the_password_and_the_account(ada: User, end: Callable[[User], None]) -> None:
    secret, password = made(ada)["secret"], ada.password
    end(ada)
    assert status(secret) == 401
    User.objects.update(is_active=True, password=password)
    assert status(secret) == 401
    assert AuditEntry.objects.filter(action__in=["API tokens revoked", "ended API token refused"]).exists()


@pytest.mark.slow
def test_a_new_hash_of_the_same_password_ends_no_token(ada: User, settings: Settings) -> None:
    secret = made(ada)["secret"]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher", *settings.PASSWORD_HASHERS]
    answer = APIClient().post(f"{API}/session", {"username": "ada", "password": PASSWORD})
    assert answer.json()["authenticated"]
    ada.refresh_from_db()
    assert ada.password.startswith("pbkdf2_sha256$")
    assert status(secret) == 200
    by_form(ada)
    assert status(secret) == 401


def test_the_last_use_is_written_at_most_once_a_minute(ada: User) -> None:
    secret = made(ada)["secret"]
    assert rows()[0]["last_used_at"] is None
    assert status(secret) == 200
    first = rows()[0]["last_used_at"]
    assert status(secret) == 200
    assert rows()[0]["last_used_at"] == first
    set_times(last_used_at=timedelta(seconds=61))
    assert status(secret) == 200
    assert rows()[0]["last_used_at"] > first


@pytest.mark.parametrize("header", ["Bearer", "Bearer a b", "Token ", "Bearer \xff", "Bearer dlq_guess", "Basic eDp5"])
def test_what_is_no_token_is_refused(db: None, header: str) -> None:
    answer = APIClient().get(f"{API}/audit", HTTP_AUTHORIZATION=header)
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")


def test_prometheus_reads_with_a_viewers_token(ada: User) -> None:
    assert using(made(ada, "viewer")["secret"]).get("/metrics").status_code == 200
    assert APIClient().get("/metrics").status_code == 401

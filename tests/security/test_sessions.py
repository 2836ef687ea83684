"""A session ends by its age, by its user's inactivity, with the password and with the account."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from tests.dlqadmin.conftest import PASSWORD, alone, person  # noqa: F401  # alone is used by every test

pytestmark = pytest.mark.django_db
API = "/api/v1"
NEW = "a new correct horse"
ACTIVE = {"X-User-Active": "1"}
IDLE = "Your session ended after 30 minutes without activity. Sign in again."
AGED = "Your session ended 12 hours after you signed in. Sign in again."


@pytest.fixture
def ada() -> User:
    return person("ada", "operator")


@pytest.fixture
def browser(ada: User) -> APIClient:
    return signed_in()


def signed_in(password: str = PASSWORD) -> APIClient:
    client = APIClient()
    answer = client.post(f"{API}/session", {"username": "ada", "password": password})
    assert answer.json()["authenticated"]
    return client


def later(client: Client, minutes: float) -> None:
    """Let time pass for the client's session: move the times in it back."""
    session = client.session
    for key, value in list(session.items()):
        if isinstance(value, float):
            session[key] = value - 60 * minutes
    session.save()


def status(client: Client, **headers: str) -> int:
    return client.get(f"{API}/audit", headers=headers).status_code


def test_a_screen_that_refreshes_by_itself_does_not_keep_a_session(browser: APIClient) -> None:
    for _ in range(2):
        later(browser, 14)
        assert status(browser) == 200
    later(browser, 3)
    problem = browser.get(f"{API}/audit")
    assert (problem.status_code, problem["Content-Type"]) == (401, "application/problem+json")
    assert (problem.json()["code"], problem.json()["detail"]) == ("session_idle", IDLE)


@pytest.mark.parametrize("mark", [ACTIVE, {"Sec-Fetch-User": "?1"}])
def test_a_person_keeps_a_session_for_twelve_hours_and_not_longer(browser: APIClient, mark: dict[str, str]) -> None:
    for _ in range(35):
        later(browser, 20)
        assert status(browser, **mark) == 200
    later(browser, 20.1)
    problem = browser.get(f"{API}/audit", headers=mark)
    assert (problem.status_code, problem.json()["code"], problem.json()["detail"]) == (401, "session_expired", AGED)


@pytest.mark.parametrize("mark", ["0", "", "true", "?1"])
def test_only_the_exact_mark_is_activity(browser: APIClient, mark: str) -> None:
    later(browser, 29)
    assert status(browser, **{"X-User-Active": mark}) == 200
    later(browser, 2)
    assert status(browser) == 401


def test_an_ended_session_stays_ended_and_every_request_is_told_why(browser: APIClient) -> None:
    later(browser, 31)
    details = {browser.get(f"{API}/{path}", headers=ACTIVE).json()["detail"] for path in ("audit", "groups", "audit")}
    assert details == {IDLE}
    assert browser.get(f"{API}/session", headers=ACTIVE).json()["ended"] == IDLE
    again = browser.post(f"{API}/session", {"username": "ada", "password": PASSWORD})
    assert (again.json()["authenticated"], again.json()["ended"]) == (True, None)
    assert status(browser) == 200


def test_the_admin_obeys_the_same_limits(browser: APIClient, ada: User) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    assert browser.get("/admin/").status_code == 200
    later(browser, 31)
    assert browser.get("/admin/")["Location"].startswith("/admin/login/")
    admin = Client()
    admin.post("/admin/login/", {"username": "ada", "password": PASSWORD})
    assert admin.get("/admin/").status_code == 200
    later(admin, 29)
    assert admin.get("/admin/", headers={"Sec-Fetch-User": "?1"}).status_code == 200
    later(admin, 29)
    assert admin.get("/admin/").status_code == 200
    later(admin, 12 * 60)
    assert admin.get("/admin/", headers={"Sec-Fetch-User": "?1"})["Location"].startswith("/admin/login/")


def test_signing_in_takes_a_new_key_and_signing_out_ends_it(ada: User) -> None:
    client = APIClient()
    client.cookies["sessionid"] = planted = "planted0by0somebody0else00000000"
    client.post(f"{API}/session", {"username": "ada", "password": PASSWORD})
    first = client.cookies["sessionid"].value
    client.post(f"{API}/session", {"username": "ada", "password": PASSWORD})
    second = client.cookies["sessionid"].value
    assert len({planted, first, second}) == 3
    client.delete(f"{API}/session")
    for key in (planted, first, second):
        stolen = APIClient()
        stolen.cookies["sessionid"] = key
        assert status(stolen) == 401


def test_the_session_cookie_is_hidden_from_scripts_and_other_sites(browser: APIClient) -> None:
    cookie = browser.cookies["sessionid"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/")


def test_changing_ones_password_ends_all_other_sessions_and_is_recorded(browser: APIClient, ada: User) -> None:
    other, key = signed_in(), browser.cookies["sessionid"].value
    answer = browser.post(f"{API}/account/password", {"current": PASSWORD, "new": NEW})
    assert (answer.status_code, status(browser), status(other)) == (204, 200, 401)
    assert browser.cookies["sessionid"].value != key
    assert signed_in(NEW)
    assert ("ada", "password changed") in AuditEntry.objects.values_list("actor", "action")


@pytest.mark.parametrize(
    ("current", "new", "fault"),
    [
        ("guess", NEW, "current: The current password is wrong."),
        (PASSWORD, PASSWORD, "new: The new password must differ from the current one."),
        (PASSWORD, "short", "new: This password is too short. It must contain at least 12 characters."),
        (PASSWORD, "1qaz2wsx3edc", "new: This password is too common."),
        (PASSWORD, "ada.lovelace.1815", "new: The password is too similar to the last name."),
    ],
)
def test_a_password_is_changed_by_whoever_knows_it_to_a_good_one(
    browser: APIClient, ada: User, current: str, new: str, fault: str
) -> None:
    User.objects.update(last_name="lovelace.1815")
    problem = browser.post(f"{API}/account/password", {"current": current, "new": new})
    assert (problem.status_code, problem.json().get("detail")) == (400, fault)
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)
    assert PASSWORD not in problem.content.decode()


def test_a_stranger_and_another_site_change_no_password(ada: User) -> None:
    assert APIClient().post(f"{API}/account/password", {"current": PASSWORD, "new": NEW}).status_code == 401
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(ada)
    assert client.post(f"{API}/account/password", {"current": PASSWORD, "new": NEW}).status_code == 403


def change_by_hand(user: User) -> None:
    user.set_password(NEW)
    user.save()


@pytest.mark.parametrize(
    "end",
    [
        change_by_hand,
        lambda user: User.objects.filter(pk=user.pk).update(is_active=False),
        lambda user: user.delete(),
    ],
)
def test_sessions_end_with_the_password_and_the_account(
    browser: APIClient, ada: User, end: Callable[[User], object]
) -> None:
    assert status(browser) == 200
    end(ada)
    assert status(browser) == 401


def test_a_session_does_not_live_again_with_its_account(browser: APIClient, ada: User) -> None:
    for active in (False, True):
        ada.is_active = active
        ada.save()
    assert status(browser) == 401


def test_a_session_of_an_earlier_version_ends(browser: APIClient) -> None:
    session = browser.session
    for key in [key for key, value in session.items() if isinstance(value, float)]:
        del session[key]
    session.save()
    assert status(browser, **ACTIVE) == 401

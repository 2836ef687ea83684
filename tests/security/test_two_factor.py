"""A stolen password alone opens no account with two-factor sign-in, by any door."""

from __future__ import annotations

import time
from typing import Any

import pyotp
import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client, RequestFactory
from pytest_django import Settings
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.test import APIClient

from dlqadmin.accounts import two_factor
from dlqadmin.accounts.models import RecoveryCode, TotpDevice
from dlqadmin.audit.models import AuditEntry
from tests.dlqadmin.conftest import PASSWORD, alone, person, signed_in, token_of  # noqa: F401 (every test uses `alone`)

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
API = "/api/v1"
TWO_FACTOR = f"{API}/account/two-factor"
NAME = {"username": "ada", "password": PASSWORD}


@pytest.fixture
def ada() -> User:
    return person("ada", "operator")


@pytest.fixture
def browser(ada: User) -> APIClient:
    client = APIClient()
    client.post(f"{API}/session", NAME)
    return client


@pytest.fixture
def secret(browser: APIClient) -> str:
    """The secret of ada's authenticator app, which is switched on."""
    return switch_on(browser)[0]


def switch_on(browser: APIClient) -> tuple[str, list[str]]:
    secret = browser.post(TWO_FACTOR, {"password": PASSWORD}).json()["secret"]
    confirmed = browser.post(f"{TWO_FACTOR}/confirm", {"code": code(secret, -1)})
    assert confirmed.status_code == 200
    return secret, confirmed.json()["recovery_codes"]


def code(secret: str, steps: int = 0) -> str:
    """Return the code of the present time step, or of one some steps later."""
    return pyotp.TOTP(secret).generate_otp(int(time.time() // 30) + steps)


def sign_in(**more: str) -> tuple[int, str | None]:
    """Return the status of a sign-in, and the code of its problem."""
    answer = APIClient().post(f"{API}/session", {**NAME, **more})
    return answer.status_code, answer.json().get("code")


def test_a_secret_counts_when_a_code_has_confirmed_it(browser: APIClient, ada: User) -> None:
    new = browser.post(TWO_FACTOR, {"password": PASSWORD}).json()
    assert new["address"].startswith("otpauth://totp/dlqadmin:ada")
    assert new["qr"].startswith("data:image/svg+xml")
    assert sign_in() == (200, None)
    assert browser.post(f"{TWO_FACTOR}/confirm", {"code": "000000"}).status_code == 400
    assert sign_in() == (200, None)
    done = browser.post(f"{TWO_FACTOR}/confirm", {"code": code(new["secret"])})
    assert len(set(done.json()["recovery_codes"])) == 10
    assert done["Cache-Control"] == "no-store"
    assert browser.get(TWO_FACTOR).json() == {"enabled": True, "recovery_codes_left": 10}
    assert AuditEntry.objects.filter(actor="ada", action="two-factor on").count() == 1


def test_switching_it_on_ends_the_other_sessions(browser: APIClient, ada: User) -> None:
    other = APIClient()
    other.post(f"{API}/session", NAME)
    switch_on(browser)
    assert [one.get(f"{API}/audit").status_code for one in (browser, other)] == [200, 401]


def test_the_database_does_not_hold_the_secret_or_a_recovery_code(browser: APIClient) -> None:
    secret, recovery = switch_on(browser)
    stored = str([*TotpDevice.objects.values(), *RecoveryCode.objects.values()])
    assert secret not in stored
    assert not any(one in stored or one.replace("-", "") in stored for one in recovery)
    told = str([*AuditEntry.objects.values_list("detail", flat=True)])
    assert secret not in told


def test_a_sign_in_needs_a_code(secret: str) -> None:
    assert sign_in() == (401, "code_required")
    assert sign_in(code="") == (401, "code_required")
    assert sign_in(code="000000") == (401, "code_wrong")
    assert sign_in(code=code(secret)) == (200, None)
    failed = AuditEntry.objects.get(action="sign-in failed")
    assert (failed.object_id, failed.detail["why"]) == ("ada", "wrong code")


def test_a_wrong_password_says_nothing_about_a_code(secret: str) -> None:
    assert sign_in(password="wrong") == (401, None)
    assert sign_in(password="wrong", code=code(secret)) == (401, None)


def test_a_code_is_used_once(secret: str) -> None:
    used = code(secret)
    assert sign_in(code=used) == (200, None)
    assert sign_in(code=used) == (401, "code_wrong")


def test_a_code_before_the_last_one_is_refused(secret: str) -> None:
    assert sign_in(code=code(secret, 1)) == (200, None)
    assert sign_in(code=code(secret)) == (401, "code_wrong")


@pytest.mark.parametrize("steps", [-3, -2, 2, 3])
def test_an_old_or_early_code_is_refused(ada: User, steps: int) -> None:
    now = 1_800_000_000.0
    new = two_factor.begin(ada)
    totp = pyotp.TOTP(new.text)
    assert two_factor.confirm(ada, totp.at(int(now) - 90), now - 90)
    assert not two_factor.accept(ada, totp.at(int(now) + 30 * steps), now)
    assert two_factor.accept(ada, totp.at(int(now)), now)


def test_a_recovery_code_is_used_once_however_it_is_typed(browser: APIClient) -> None:
    _, recovery = switch_on(browser)
    assert sign_in(code=recovery[0]) == (200, None)
    assert sign_in(code=recovery[0]) == (401, "code_wrong")
    assert sign_in(code=recovery[1].replace("-", " ").upper()) == (200, None)
    assert browser.get(TWO_FACTOR).json()["recovery_codes_left"] == 8
    assert AuditEntry.objects.filter(action="recovery code used").count() == 2


def test_guesses_of_the_code_are_limited_though_the_password_is_right(secret: str) -> None:
    statuses = [sign_in(code=f"{n:06}")[0] for n in range(6)]
    assert statuses == [401] * 5 + [429]
    assert sign_in(code=code(secret))[0] == 429


def test_guesses_of_the_code_to_switch_it_off_are_limited(browser: APIClient, secret: str) -> None:
    statuses = [
        browser.post(f"{TWO_FACTOR}/off", {"password": PASSWORD, "code": f"{n:06}"}).status_code for n in range(6)
    ]
    assert statuses == [400] * 5 + [429]


def test_a_password_that_is_confirmed_between_guesses_clears_no_count(browser: APIClient, secret: str) -> None:
    statuses = set()
    for n in range(6):
        statuses.add(browser.post(f"{TWO_FACTOR}/off", {"password": PASSWORD, "code": f"{n:06}"}).status_code)
        browser.post(TWO_FACTOR, {"password": PASSWORD})
    assert 429 in statuses


def test_a_password_link_signs_nobody_in_without_the_code(browser: APIClient, secret: str) -> None:
    root = User.objects.create_superuser("root", password=PASSWORD)
    link = signed_in(root).post(f"{API}/people/{User.objects.get(username='ada').pk}/password-link").json()["link"]
    new = APIClient()
    body = {"token": link.rpartition("/")[2], "password": "another-long-password-9"}
    assert new.post(f"{API}/invitations/accept", body).status_code == 204
    assert not new.get(f"{API}/session").json()["authenticated"]
    assert new.post(f"{API}/session", {"username": "ada", "password": body["password"]}).status_code == 401
    more = {"username": "ada", "password": body["password"], "code": code(secret)}
    assert new.post(f"{API}/session", more).status_code == 200


def test_switching_it_off_needs_password_and_code(browser: APIClient, secret: str) -> None:
    for password, typed in (("wrong", code(secret)), (PASSWORD, "000000")):
        assert browser.post(f"{TWO_FACTOR}/off", {"password": password, "code": typed}).status_code == 400
    done = browser.post(f"{TWO_FACTOR}/off", {"password": PASSWORD, "code": code(secret)})
    assert done.json() == {"enabled": False, "recovery_codes_left": 0}
    assert sign_in() == (200, None)
    assert AuditEntry.objects.filter(actor="ada", action="two-factor off").exists()


def test_a_new_secret_needs_the_password_and_cannot_replace_one_that_is_on(browser: APIClient, secret: str) -> None:
    assert browser.post(TWO_FACTOR, {"password": "wrong"}).status_code == 400
    assert browser.post(TWO_FACTOR, {"password": PASSWORD}).status_code == 409
    assert sign_in(code=code(secret)) == (200, None)


def test_the_password_can_be_changed_in_a_session(browser: APIClient, secret: str) -> None:
    body = {"current": PASSWORD, "new": "a new correct horse"}
    assert browser.post(f"{API}/account/password", body).status_code == 204
    assert sign_in(password="a new correct horse") == (401, "code_required")


@pytest.mark.parametrize("typed", [{}, {"code": "000000"}])
def test_the_admins_own_form_is_no_way_around(ada: User, secret: str, typed: dict[str, str]) -> None:
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    client = Client()
    shown = client.post("/admin/login/", {**NAME, **typed})
    assert b"This account needs a code" in shown.content
    assert client.get("/admin/").status_code == 302


def test_every_caller_of_authenticate_needs_the_code(ada: User, secret: str) -> None:
    with pytest.raises(AuthenticationFailed):
        authenticate(RequestFactory().get("/"), username="ada", password=PASSWORD)


def test_a_request_cannot_claim_to_be_signed_in(secret: str) -> None:
    assert sign_in(is_signed_in="true") == (401, "code_required")


def test_an_administrator_resets_it(browser: APIClient, secret: str) -> None:
    call_command("reset_two_factor", "ada")
    assert sign_in() == (200, None)
    entry = AuditEntry.objects.get(action="two-factor reset")
    assert (entry.actor, entry.object_id) == ("manage.py reset_two_factor", "ada")
    for name, problem in (("ada", "has no two-factor sign-in"), ("nobody", "No user is named nobody")):
        with pytest.raises(CommandError, match=problem):
            call_command("reset_two_factor", name)


def test_a_new_secret_key_locks_the_account_unless_it_has_a_fallback(secret: str, settings: Settings) -> None:
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another key of fifty characters, for this test alone"
    assert sign_in(code=code(secret)) == (401, "code_wrong")
    settings.SECRET_KEY_FALLBACKS = [old]
    assert sign_in(code=code(secret)) == (200, None)


def test_an_api_token_cannot_change_it(ada: User) -> None:
    program = APIClient(headers={"Authorization": f"Bearer {token_of(ada)}"})
    statuses: list[Any] = [program.get(TWO_FACTOR).status_code, program.post(TWO_FACTOR, {}).status_code]
    assert statuses == [403, 403]

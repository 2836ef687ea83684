"""Nobody gets an account, a right or a session by a forged sign-in with an OpenID provider."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from django.conf import settings as settings_of
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from joserfc.jwk import RSAKey
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.accounts.models import ApiToken, ProviderIdentity
from dlqadmin.audit.models import AuditEntry
from tests.dlqadmin.conftest import PASSWORD, alone, person, signed_in, token_of  # noqa: F401 (every test uses `alone`)
from tests.support.openid_provider import CLIENT_SECRET, OpenIdProvider, unsigned

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
API = "/api/v1"
GROUPS = {"ops": ["operator", "payload reader"], "all": ["viewer"]}
WIDE = "\uff41da"  # `ada` with a wide letter
Claims = dict[str, Any]


@pytest.fixture
def provider(settings: Settings) -> Iterator[OpenIdProvider]:
    running = OpenIdProvider()
    entry = running.settings(title="Corporate", groups=GROUPS, administrators=["root"])
    settings.OIDC_PROVIDERS = {"corp": entry}
    yield running
    running.close()


@pytest.fixture
def browser() -> APIClient:
    return APIClient()


def response_of(browser: Client, query: str = "", name: str = "corp") -> str:
    """Start a sign-in, and return the path with which the provider sends the browser back."""
    started = browser.get(f"/sign-in/{name}{query}")
    assert started.status_code == 302
    back = httpx.get(started["Location"], follow_redirects=False)
    assert back.status_code == 302, back.text
    found = urlsplit(back.headers["Location"])
    return f"{found.path}?{found.query}"


def sign_in(browser: Client, query: str = "") -> str:
    """Sign in with the provider; return where it led."""
    return str(browser.get(response_of(browser, query))["Location"])


def session(browser: Client) -> Claims:
    found: Claims = browser.get(f"{API}/session").json()
    return found


def refusal(browser: Client) -> str | None:
    found: str | None = browser.get(f"{API}/sign-in-options").json()["refusal"]
    return found


def assert_refused(browser: Client, why: str) -> None:
    assert not session(browser)["authenticated"]
    assert refusal(browser) == f"Corporate: {why}"
    assert refusal(browser) is None
    last = AuditEntry.objects.filter(object_type="session").latest("id")
    assert (last.action, last.object_id, last.detail["said"]) == ("provider sign-in refused", "corp", why)


def test_a_person_signs_in_with_the_rights_of_the_claim(provider: OpenIdProvider, browser: APIClient) -> None:
    provider.person["groups"] = ["ops"]
    assert sign_in(browser, "?next=/groups%3Fstate=open") == "/groups?state=open"
    found = session(browser)
    assert (found["username"], found["role"], found["has_password"]) == ("ada", "operator", False)
    assert found["rights"] == ["viewer", "operator", "payload reader"]
    told = [*AuditEntry.objects.order_by("id").values_list("actor", "action", "object_id")]
    assert told == [
        ("provider corp", "created", "ada"),
        ("provider corp", "changed", "ada"),
        ("ada", "signed in", "ada"),
    ]
    assert AuditEntry.objects.get(action="signed in").detail["provider"] == "corp"


def test_no_token_or_secret_reaches_the_browser(
    provider: OpenIdProvider, browser: APIClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "dlqadmin")
    with_code = response_of(browser)
    done = browser.get(with_code)
    shown = done.content + b"".join(one.output().encode() for one in browser.cookies.values())
    shown += browser.get(f"{API}/session").content + browser.get(f"{API}/sign-in-options").content
    id_token = browser.session["signed_in_with"]["id_token"]
    told = str([*AuditEntry.objects.values_list("detail", flat=True)]) + caplog.text
    for secret in (id_token, CLIENT_SECRET):
        assert secret.encode() not in shown
        assert secret not in told
    assert done["Cache-Control"] == "no-store"


def test_the_session_is_a_new_one(provider: OpenIdProvider, browser: APIClient) -> None:
    with_code = response_of(browser)
    before = browser.session.session_key
    planted = browser.session
    planted["planted"] = True
    planted.save()
    browser.get(with_code)
    assert browser.session.session_key != before
    assert "planted" not in browser.session
    assert before
    assert not browser.session.exists(before)
    assert browser.session.get_expiry_age() > 3600  # the short life of a session without a user has ended


def test_the_limits_of_a_session_hold(provider: OpenIdProvider, browser: APIClient) -> None:
    sign_in(browser)
    changed = browser.session
    changed["active_at"] -= 31 * 60
    changed.save()
    assert session(browser)["ended"].startswith("Your session ended after 30 minutes without activity.")


@pytest.mark.parametrize(
    "target", ["https://evil.test/", "//evil.test", "/\\evil.test", "javascript:alert(1)", "http:///evil.test", "x"]
)
def test_a_sign_in_leads_to_paths_of_the_dashboard_only(
    provider: OpenIdProvider, browser: APIClient, target: str
) -> None:
    assert sign_in(browser, f"?next={target}") == "/"


def changed(**claims: Any) -> Callable[[OpenIdProvider], Callable[[Claims], str]]:
    return lambda provider: lambda given: provider.sign({**given, **claims})


def without(name: str) -> Callable[[OpenIdProvider], Callable[[Claims], str]]:
    return lambda provider: lambda given: provider.sign({key: one for key, one in given.items() if key != name})


HOSTILE: dict[str, tuple[Callable[[OpenIdProvider], Callable[[Claims], str]], str]] = {
    "wrong nonce": (changed(nonce="another"), "its nonce is wrong"),
    "no nonce": (without("nonce"), "its nonce is wrong"),
    "wrong audience": (changed(aud="another"), "its aud is wrong"),
    "issued to another client": (changed(aud=["dlqadmin", "other"], azp="other"), "it was issued to another client"),
    "two audiences without a party": (changed(aud=["dlqadmin", "other"]), "it was issued to another client"),
    "another issuer": (changed(iss="https://evil.test"), "its iss is wrong"),
    "expired": (changed(exp=int(time.time()) - 3600), "its exp is wrong"),
    "no expiry": (without("exp"), "its exp is wrong"),
    "no subject": (without("sub"), "its sub is wrong"),
    "a number as subject": (changed(sub=1), "its sub is wrong"),
    "alg none": (lambda _: unsigned, "its signature or form is wrong"),
    "another key": (
        lambda provider: lambda given: provider.sign(given, RSAKey.generate_key(2048, {"kid": "1"})),
        "its signature or form is wrong",
    ),
    "not a token": (lambda _: lambda given: "a.b.c", "its signature or form is wrong"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_forged_id_token_is_refused(provider: OpenIdProvider, browser: APIClient, case: str) -> None:
    forge, reason = HOSTILE[case]
    provider.forge = forge(provider)
    assert sign_in(browser) == "/"
    assert_refused(browser, f"The ID token is not valid: {reason}.")
    assert not User.objects.exists()


def test_a_response_is_used_once(provider: OpenIdProvider, browser: APIClient) -> None:
    with_code = response_of(browser)
    browser.get(with_code)
    browser.delete(f"{API}/session")
    browser.get(with_code)
    assert_refused(browser, "This sign-in has expired, or was finished already. Try again.")


@pytest.mark.parametrize("state", ["", "?state=", "?state=guessed&code=x"])
def test_a_response_without_a_sign_in_is_refused(provider: OpenIdProvider, browser: APIClient, state: str) -> None:
    browser.get(f"/sign-in/corp/callback{state}")
    assert_refused(browser, "This sign-in has expired, or was finished already. Try again.")
    assert not any(one.path.startswith("/token") for one in provider.seen)


def test_the_response_to_one_browser_signs_no_other_in(provider: OpenIdProvider, browser: APIClient) -> None:
    with_code = response_of(APIClient())
    browser.get(with_code)
    assert_refused(browser, "This sign-in has expired, or was finished already. Try again.")


def test_a_response_of_another_provider_is_refused(provider: OpenIdProvider, browser: APIClient) -> None:
    path, _, query = response_of(browser).partition("?")
    state = parse_qs(query)["state"][0]
    browser.get(path, {"state": state, "code": "x", "iss": "https://evil.test"})
    assert_refused(browser, "The response is from another provider.")


def test_an_old_response_is_refused(provider: OpenIdProvider, browser: APIClient) -> None:
    with_code = response_of(browser)
    old = browser.session
    old["pending_sign_ins"] = [{**row, "at": row["at"] - 601} for row in old["pending_sign_ins"]]
    old.save()
    browser.get(with_code)
    assert_refused(browser, "This sign-in has expired, or was finished already. Try again.")


def test_metadata_of_another_issuer_are_refused(provider: OpenIdProvider, browser: APIClient) -> None:
    provider.metadata["issuer"] = "https://evil.test"
    browser.get("/sign-in/corp")
    assert_refused(browser, "The provider does not respond. Try again later.")


def test_a_token_endpoint_without_tls_gets_no_secret(provider: OpenIdProvider, browser: APIClient) -> None:
    with_code = response_of(browser)
    provider.metadata["token_endpoint"] = "http://192.0.2.1/token"
    browser.get(with_code)
    assert_refused(browser, "The provider does not respond. Try again later.")


@pytest.mark.parametrize("name", ["ada", "Ada", WIDE])
def test_a_name_never_leads_to_an_existing_account(provider: OpenIdProvider, browser: APIClient, name: str) -> None:
    local = person("ada", "approver")
    User.objects.filter(pk=local.pk).update(email="ada@corp.test", is_superuser=True)
    provider.person |= {"preferred_username": name, "email": "ada@corp.test", "email_verified": False}
    assert sign_in(browser) == "/"
    shown = "ada" if name == WIDE else name
    assert_refused(
        browser,
        f"Another account has the name {shown}. An administrator can link it to you with manage.py link_identity.",
    )
    assert not ProviderIdentity.objects.exists()


@pytest.mark.parametrize("verified", [False, True])
def test_an_equal_email_address_never_leads_to_an_existing_account(
    provider: OpenIdProvider, browser: APIClient, verified: bool
) -> None:
    local = person("ada", "approver")
    User.objects.filter(pk=local.pk).update(email="ada@corp.test")
    provider.person |= {"preferred_username": "mallory", "email": "ada@corp.test", "email_verified": verified}
    sign_in(browser)
    assert (session(browser)["username"], session(browser)["rights"]) == ("mallory", [])


def test_an_administrator_links_an_account_by_the_subject(provider: OpenIdProvider, browser: APIClient) -> None:
    person("ada", "viewer")
    call_command("link_identity", "ada", provider="corp", subject="1")
    with pytest.raises(CommandError, match="has an account already"):
        call_command("link_identity", "ada", provider="corp", subject="1")
    sign_in(browser)
    assert (session(browser)["username"], session(browser)["role"]) == ("ada", "viewer")
    assert AuditEntry.objects.filter(action="linked provider", object_id="ada").exists()


def test_a_new_name_at_the_provider_keeps_the_account(provider: OpenIdProvider, browser: APIClient) -> None:
    sign_in(browser)
    provider.person |= {"preferred_username": "lovelace"}
    sign_in(browser)
    assert session(browser)["username"] == "ada"


def test_a_deactivated_account_is_refused(provider: OpenIdProvider, browser: APIClient) -> None:
    sign_in(browser)
    browser.delete(f"{API}/session")
    ada = User.objects.get()
    ada.is_active = False
    ada.save()
    sign_in(browser)
    assert_refused(browser, "Your account is deactivated.")


def test_the_provider_takes_what_it_gave_and_leaves_what_an_administrator_gave(
    provider: OpenIdProvider, browser: APIClient
) -> None:
    provider.person["groups"] = ["ops", "root"]
    sign_in(browser)
    ada = User.objects.get()
    assert (ada.is_superuser, ada.is_staff) == (True, True)
    ada.groups.add(Group.objects.get(name="viewer"))
    provider.person["groups"] = ["all"]
    sign_in(browser)
    provider.person["groups"] = []
    sign_in(browser)
    ada.refresh_from_db()
    assert (ada.is_superuser, ada.is_staff) == (False, False)
    assert [group.name for group in ada.groups.all()] == ["viewer"]
    changes = AuditEntry.objects.filter(actor="provider corp", action="changed").order_by("id")
    assert [sorted(entry.detail) for entry in changes] == [
        ["is_staff", "is_superuser"],
        ["groups"],
        ["is_staff", "is_superuser"],
        ["groups"],
    ]


def test_a_local_administrator_stays_one(provider: OpenIdProvider, browser: APIClient) -> None:
    sign_in(browser)
    User.objects.update(is_superuser=True)
    for groups in (["root"], []):
        provider.person["groups"] = groups
        sign_in(browser)
    assert User.objects.get().is_superuser


def test_a_lost_right_ends_the_tokens_that_had_it_and_all_sessions(
    provider: OpenIdProvider, browser: APIClient
) -> None:
    provider.person["groups"] = ["ops", "all"]
    sign_in(browser)
    ada, other = User.objects.get(), APIClient()
    reading, acting = token_of(ada, "viewer"), token_of(ada, "viewer", "operator")
    sign_in(other)
    assert session(browser)["authenticated"]  # a sign-in that takes nothing ends nothing
    provider.person["groups"] = ["all"]
    sign_in(other)
    assert not session(browser)["authenticated"]
    statuses = [
        APIClient(headers={"Authorization": f"Bearer {one}"}).get(f"{API}/audit").status_code
        for one in (reading, acting)
    ]
    assert statuses == [200, 401]
    provider.person["groups"] = ["ops"]
    sign_in(other)  # the right comes back, the token does not
    assert [*ApiToken.objects.order_by("id").values_list("end", flat=True)] == ["", "rights_lost"]


def test_an_account_without_a_password_has_tokens_but_no_local_sign_in(
    provider: OpenIdProvider, browser: APIClient
) -> None:
    provider.person["groups"] = ["all"]
    sign_in(browser)
    made = browser.post(f"{API}/tokens", {"name": "cli", "scopes": ["viewer"]})
    assert made.status_code == 201
    sign_in(browser)
    ApiToken.objects.update(last_used_at=timezone.now() - timedelta(days=1))
    program = APIClient(headers={"Authorization": f"Bearer {made.json()['secret']}"})
    assert program.get(f"{API}/audit").status_code == 200
    for password in (PASSWORD, "", "!"):
        assert APIClient().post(f"{API}/session", {"username": "ada", "password": password}).status_code in (400, 401)


def test_a_sign_out_leads_through_the_provider_once(provider: OpenIdProvider, browser: APIClient) -> None:
    sign_in(browser)
    id_token = browser.session["signed_in_with"]["id_token"]
    left = browser.delete(f"{API}/session")
    assert (left.json()["authenticated"], left.json()["sign_out_path"]) == (False, "/sign-out")
    assert id_token.encode() not in left.content
    away = urlsplit(browser.get("/sign-out")["Location"])
    assert f"{away.scheme}://{away.netloc}{away.path}" == f"{provider.issuer}/end-session"
    assert parse_qs(away.query) == {
        "id_token_hint": [id_token],
        "client_id": ["dlqadmin"],
        "post_logout_redirect_uri": ["http://testserver/"],
    }
    assert browser.get("/sign-out")["Location"] == "/"


def test_a_provider_without_a_sign_out_leads_home(provider: OpenIdProvider, browser: APIClient) -> None:
    provider.metadata["end_session_endpoint"] = None
    sign_in(browser)
    browser.delete(f"{API}/session")
    assert browser.get("/sign-out")["Location"] == "/"


def test_the_sign_in_page_knows_the_providers_and_nothing_else_of_them(
    provider: OpenIdProvider, browser: APIClient
) -> None:
    assert browser.get(f"{API}/sign-in-options").json() == {
        "providers": [{"name": "corp", "title": "Corporate", "path": "/sign-in/corp"}],
        "local": True,
        "refusal": None,
    }
    assert browser.get("/sign-in/other").status_code == 404


def test_without_local_sign_in_only_superusers_use_their_password(
    provider: OpenIdProvider, browser: APIClient, settings: Settings
) -> None:
    settings.LOCAL_SIGN_IN = False
    staff, root = person("staff-1", "operator"), person("root", None)
    User.objects.filter(pk=staff.pk).update(is_staff=True)
    User.objects.filter(pk=root.pk).update(is_superuser=True)
    refused = browser.post(f"{API}/session", {"username": "staff-1", "password": PASSWORD})
    assert (refused.status_code, refused.json()["code"]) == (401, "local_sign_in_off")
    admin = Client().post("/admin/login/", {"username": "staff-1", "password": PASSWORD})
    assert b"Passwords are only for superusers" in admin.content
    assert not session(browser)["authenticated"]
    assert browser.post(f"{API}/session", {"username": "root", "password": PASSWORD}).status_code == 200


def test_a_sign_in_with_a_provider_that_was_left_does_not_shorten_the_session(
    provider: OpenIdProvider, browser: APIClient
) -> None:
    person("bea", "viewer")
    browser.get("/sign-in/corp")
    assert browser.post(f"{API}/session", {"username": "bea", "password": PASSWORD}).status_code == 200
    assert browser.session.get_expiry_age() == settings_of.SESSION_COOKIE_AGE


def test_without_local_sign_in_a_password_link_signs_nobody_in(provider: OpenIdProvider, settings: Settings) -> None:
    root = User.objects.create_superuser("root", password=PASSWORD)
    settings.LOCAL_SIGN_IN = False
    link = signed_in(root).post(f"{API}/people/{person('bea', 'viewer').pk}/password-link").json()["link"]
    new = APIClient()
    body = {"token": link.rpartition("/")[2], "password": "another-long-password-9"}
    assert new.post(f"{API}/invitations/accept", body).status_code == 204
    assert not session(new)["authenticated"]

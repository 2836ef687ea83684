"""A person signs in with a real Keycloak, by its own forms, and signs out of both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from tests.support.keycloak import LocalKeycloak

pytestmark = pytest.mark.django_db
API = "/api/v1"
FORM = re.compile(r'<form[^>]*id="kc-form-login"[^>]*action="([^"]+)"')


@pytest.fixture(scope="module")
def keycloak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKeycloak]:
    running = LocalKeycloak(tmp_path_factory.mktemp("keycloak")).start()
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def provider(keycloak: LocalKeycloak, settings: Settings) -> None:
    settings.OIDC_PROVIDERS = {
        "keycloak": {
            "issuer": keycloak.issuer,
            "client_id": "dlqadmin",
            "secret": "a secret for tests",
            "groups": {"kafka-operators": ["operator", "payload reader"], "kafka-viewers": ["viewer"]},
        }
    }


@pytest.fixture
def person() -> Iterator[httpx.Client]:
    """The person's browser, at Keycloak's pages."""

    known: dict[str, str] = {}

    def keep(response: httpx.Response) -> None:
        # Keycloak's cookies are for https. Unlike a browser, httpx makes no exception for loopback.
        for header in response.headers.get_list("set-cookie"):
            name, value = header.partition(";")[0].split("=", 1)
            known[name] = value
        client.headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in known.items())

    with httpx.Client(follow_redirects=False, timeout=60, event_hooks={"response": [keep]}) as client:
        yield client


def sign_in(browser: APIClient, person: httpx.Client, name: str) -> dict[str, Any]:
    """Sign in by Keycloak's form, if it shows one; return the dashboard's session."""
    answer = person.get(browser.get("/sign-in/keycloak?next=/groups")["Location"])
    if answer.status_code == 200:
        form = FORM.search(answer.text)
        assert form, answer.text
        answer = person.post(unescape(form[1]), data={"username": name, "password": f"{name}'s password"})
    assert answer.status_code == 302, answer.text
    back = urlsplit(answer.headers["Location"])
    assert browser.get(f"{back.path}?{back.query}")["Location"] == "/groups"
    found: dict[str, Any] = browser.get(f"{API}/session").json()
    return found


@pytest.mark.parametrize(("name", "rights"), [("olga", ["viewer", "operator", "payload reader"]), ("vera", ["viewer"])])
def test_a_person_has_the_rights_of_the_group(person: httpx.Client, name: str, rights: list[str]) -> None:
    session = sign_in(APIClient(), person, name)
    assert (session["username"], session["rights"]) == (name, rights)
    assert AuditEntry.objects.get(action="signed in").detail["provider"] == "keycloak"


def test_a_sign_out_ends_keycloaks_session_too(person: httpx.Client) -> None:
    browser = APIClient()
    sign_in(browser, person, "olga")
    assert person.get(browser.get("/sign-in/keycloak")["Location"]).status_code == 302  # Keycloak knows the person
    path = browser.delete(f"{API}/session").json()["sign_out_path"]
    left = person.get(browser.get(path)["Location"])
    assert (left.status_code, left.headers["Location"]) == (302, "http://testserver/")
    shown = person.get(browser.get("/sign-in/keycloak")["Location"])
    assert FORM.search(shown.text)


def test_a_cancelled_sign_in_is_refused(person: httpx.Client) -> None:
    browser = APIClient()
    asked = browser.get("/sign-in/keycloak")["Location"].replace("code_challenge_method=S256", "x=1")
    back = urlsplit(person.get(asked).headers["Location"])  # the realm insists on PKCE
    browser.get(f"{back.path}?{back.query}")
    refusal = browser.get(f"{API}/sign-in-options").json()["refusal"]
    assert refusal == "keycloak: The provider refused: invalid_request."

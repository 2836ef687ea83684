"""The registries of clusters: who may set them, and where their secrets may go."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.host.network import HOST, free_ports
from dlqadmin.schemas import registries
from dlqadmin.schemas.models import ConfiguredRegistry
from tests.dlqadmin.conftest import person, signed_in

pytestmark = pytest.mark.django_db
BODY = {"name": "shop", "url": "https://registry.example:8081"}


@pytest.fixture
def as_admin(db: None) -> APIClient:
    admin = person("root", None)
    User.objects.filter(pk=admin.pk).update(is_superuser=True)
    return signed_in(User.objects.get(pk=admin.pk))


def put(client: APIClient, **more: str) -> Any:
    return client.put("/api/v1/registries/local", {**BODY, **more})


def test_an_administrator_sets_and_removes_the_registry_of_a_cluster(as_admin: APIClient) -> None:
    found = put(as_admin).json()
    assert [(row["cluster"], row["name"], row["by"], row["is_fixed"]) for row in found["results"]] == [
        ("local", "shop", "root", False)
    ]
    assert as_admin.delete("/api/v1/registries/local").status_code == 204
    assert as_admin.get("/api/v1/registries").json()["results"] == []
    assert [entry.action for entry in AuditEntry.objects.order_by("pk")] == [
        "change schema registry",
        "remove schema registry",
    ]


def test_a_cluster_that_is_not_there_has_no_registry(as_admin: APIClient) -> None:
    assert as_admin.put("/api/v1/registries/nowhere", BODY).status_code == 404
    assert as_admin.delete("/api/v1/registries/local").status_code == 404
    assert as_admin.post("/api/v1/registries/local/test").status_code == 404


@pytest.mark.parametrize(
    ("more", "field", "reason"),
    [
        ({"url": "ftp://x"}, "url", "'ftp://x' is not an address; write one like https://registry.example:8081"),
        (
            {"url": "https://a,https://b"},
            "url",
            "'https://a,https://b' is not an address; write one like https://registry.example:8081",
        ),
        ({"url": "https://me:pw@registry"}, "url", "holds a user or password; use auth, user and secret instead"),
        ({"url": "https://registry/?x=1"}, "url", "holds a query or fragment"),
        ({"ca_file": "/nowhere.pem"}, "ca_file", "/nowhere.pem does not exist"),
        ({"auth": "basic", "secret": "shop"}, "user", "is missing; basic needs one"),
        ({"auth": "bearer", "secret": "other"}, "secret", "'other' is not an entry of SCHEMA_REGISTRY_SECRETS"),
        (
            {"auth": "oauth", "user": "u", "secret": "shop"},
            "token_url",
            "'' is not an address; write one like https://registry.example:8081",
        ),
        (
            {"auth": "oauth", "user": "u", "secret": "shop", "token_url": "https://evil.example/token"},
            "secret",
            "'shop' may not be sent to https://evil.example:443; SCHEMA_REGISTRY_SECRETS lists its addresses",
        ),
        (
            {"auth": "bearer", "secret": "shop", "url": "https://registry.example:8082"},
            "secret",
            "'shop' may not be sent to https://registry.example:8082; SCHEMA_REGISTRY_SECRETS lists its addresses",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(
    as_admin: APIClient, settings: Settings, more: dict[str, str], field: str, reason: str
) -> None:
    settings.SCHEMA_REGISTRY_SECRETS = {"shop": {"addresses": ["https://Registry.example:8081/x"], "value": "s3cret"}}
    answer = put(as_admin, **more)
    assert answer.status_code == 400
    assert reason in json.dumps(answer.json(), ensure_ascii=False).replace('\\"', '"')
    assert f'"{field}"' in json.dumps(answer.json())
    assert not ConfiguredRegistry.objects.exists()


def test_a_secret_is_never_shown(as_admin: APIClient, settings: Settings) -> None:
    settings.SCHEMA_REGISTRY_SECRETS = {"shop": {"addresses": [BODY["url"]], "value": "s3cret"}}
    answer = put(as_admin, auth="bearer", secret="shop")
    assert answer.json()["secrets"] == ["shop"]
    assert b"s3cret" not in answer.content + json.dumps(list(AuditEntry.objects.values("detail"))).encode()
    assert "s3cret" not in repr(registries.registry_of("local").options)  # type: ignore[union-attr]  # it is configured


def test_the_registry_of_the_environment_wins_and_cannot_be_changed(as_admin: APIClient, settings: Settings) -> None:
    put(as_admin)
    settings.SCHEMA_REGISTRIES = {"central": {"url": "http://central:8081"}}
    [row] = as_admin.get("/api/v1/registries").json()["results"]
    assert (row["name"], row["is_fixed"], row["by"]) == ("central", True, None)
    assert put(as_admin).status_code == 409


def test_problems_of_the_environment_stop_the_start(settings: Settings) -> None:
    settings.SCHEMA_REGISTRY_SECRETS = {"a": {"value": "x"}}
    settings.SCHEMA_REGISTRIES = {"one": {"url": "http://r", "auht": "basic"}, "two": "http://r"}
    assert list(registries.problems_of_environment())[:3] == [
        "SCHEMA_REGISTRY_SECRETS: a needs 'addresses', a list, and either 'value' or 'file'",
        "SCHEMA_REGISTRIES: one: auht is not a known option",
        "SCHEMA_REGISTRIES: two must be an object with 'url'",
    ]


def test_the_credentials_of_each_kind_are_sent_to_the_registry_alone(
    as_admin: APIClient, settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.write_text("s3cret\n")
    token = json.dumps({"access_token": "t0ken", "expires_in": 60, "token_type": "Bearer"})
    with listener({"/subjects": (200, "[]"), "/token": (200, token)}) as (url, asked):
        settings.SCHEMA_REGISTRY_SECRETS = {"shop": {"addresses": [url], "file": str(file)}}
        for more in (
            {"auth": "basic", "user": "me"},
            {"auth": "bearer"},
            {"auth": "oauth", "user": "me", "token_url": f"{url}/token", "scope": "read"},
        ):
            assert put(as_admin, url=url, secret="shop", **more).status_code == 200
            answer = as_admin.post("/api/v1/registries/local/test").json()
            assert (answer["reached"], answer["verdict"]) == (True, "The registry answered; 0 subjects visible.")
    assert [(path, kind) for path, kind, _ in asked] == [
        ("/subjects", "Basic bWU6czNjcmV0"),
        ("/subjects", "Bearer s3cret"),
        ("/token", "Basic bWU6czNjcmV0"),
        ("/subjects", "Bearer t0ken"),
    ]


def test_a_redirect_is_not_followed(as_admin: APIClient) -> None:
    with listener({}) as (elsewhere, asked), listener({"/subjects": (302, elsewhere)}) as (url, _):
        put(as_admin, url=url)
        answer = as_admin.post("/api/v1/registries/local/test").json()
    assert answer["verdict"] == "The registry redirects to another address (HTTP 302); configure that address."
    assert asked == []


@pytest.mark.parametrize(
    ("status", "body", "verdict"),
    [
        (401, "{}", "The registry refused the credentials (HTTP 401)."),
        (500, "secret content", "The registry answered with HTTP 500."),
        (200, "<html>", "The answer is not that of a registry."),
    ],
)
def test_an_answer_that_is_no_registrys_is_told_without_its_content(
    as_admin: APIClient, status: int, body: str, verdict: str
) -> None:
    with listener({"/subjects": (status, body)}) as (url, _):
        put(as_admin, url=url)
        assert as_admin.post("/api/v1/registries/local/test").json()["verdict"] == verdict


def test_settings_are_shown_without_what_may_be_a_password() -> None:
    given = registries.RegistrySettings("local", "shop", "http://me:hush@registry", secret="hush", user="hush")
    assert "hush" not in repr(given)


def test_a_registry_that_is_away_is_told(as_admin: APIClient) -> None:
    put(as_admin, url=f"http://{HOST}:{free_ports(1)[0]}")
    answer = as_admin.post("/api/v1/registries/local/test").json()
    assert not answer["reached"]
    assert answer["verdict"].startswith("The registry can't be reached: ")


@contextmanager
def listener(answers: dict[str, tuple[int, str]]) -> Iterator[tuple[str, list[tuple[str, str | None, str]]]]:
    """A server that answers each path as told, and keeps what it was asked: path, Authorization, body."""
    asked: list[tuple[str, str | None, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            path = self.path.partition("?")[0]
            asked.append((path, self.headers.get("Authorization"), body))
            status, text = answers.get(path, (404, "{}"))
            self.send_response(status)
            if status == 302:
                self.send_header("Location", text + path)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(text.encode())

        do_POST = do_GET  # noqa: N815 (http.server's name)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer((HOST, 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

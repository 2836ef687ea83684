"""The dashboard signs in at the engine, and its credentials go nowhere else."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.connectors import client
from dlqadmin.connectors.connect_clusters import own_engine
from tests.dlqadmin.conftest import alone, as_operator, as_viewer, operator, viewer
from tests.dlqadmin.fakes import FakeEngine

__all__ = ["User", "alone", "as_operator", "as_viewer", "operator", "viewer"]  # fixtures

TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def engine(settings: Settings) -> Iterator[FakeEngine]:
    with FakeEngine() as running:
        running.add("c", {"topics": "t"})
        running.authorization = f"Bearer {TOKEN}"
        settings.ENGINE_URL = running.url
        yield running


@pytest.fixture
def stranger() -> Iterator[FakeEngine]:
    """A worker that the dashboard's settings don't name."""
    with FakeEngine() as running:
        yield running


def test_the_token_is_read_from_its_file_for_every_request(
    engine: FakeEngine, settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    settings.ENGINE_TOKEN_FILE, settings.ENGINE_TOKEN = str(file), "not this one"
    for token in (TOKEN, TOKEN[::-1]):
        file.write_text(f"# the engine's\n{token}\n")
        engine.authorization = f"Bearer {token}"
        assert set(client.get(own_engine(), client.CONNECTORS)) == {"c"}


def test_a_foreign_worker_gets_a_user_and_a_password(engine: FakeEngine, settings: Settings) -> None:
    settings.ENGINE_USER, settings.ENGINE_PASSWORD = "me", "hüsh"
    engine.authorization = "Basic " + base64.b64encode("me:hüsh".encode()).decode()
    assert set(client.get(own_engine(), client.CONNECTORS)) == {"c"}


def test_a_token_goes_with_a_redirect_to_a_listed_worker_alone(
    engine: FakeEngine, stranger: FakeEngine, settings: Settings
) -> None:
    settings.ENGINE_TOKEN = TOKEN
    engine.redirect = stranger.url
    with pytest.raises(client.EngineMisconfigured, match="not in ENGINE_URLS"):
        client.control(own_engine(), "c", "pause")
    assert stranger.given == []
    settings.ENGINE_URLS = [stranger.url]
    client.control(own_engine(), "c", "pause")
    assert stranger.given == [f"Bearer {TOKEN}"]
    assert stranger.calls == [("PUT", "/connectors/c/pause")]


def test_workers_that_redirect_to_each_other_are_left(engine: FakeEngine, settings: Settings) -> None:
    settings.ENGINE_TOKEN = TOKEN
    engine.redirect = engine.url
    with pytest.raises(client.EngineUnavailable, match="redirect to each other"):
        client.get(own_engine(), client.CONNECTORS)


@pytest.mark.parametrize(
    ("given", "setting"),
    [
        ({"ENGINE_TOKEN": "wrong"}, "ENGINE_TOKEN "),
        ({"ENGINE_TOKEN": "zürich"}, "ENGINE_TOKEN "),
        ({"ENGINE_TOKEN_FILE": "/dev/null"}, "ENGINE_TOKEN_FILE"),
        ({"ENGINE_TOKEN_FILE": "/nowhere/token"}, "ENGINE_TOKEN_FILE"),
        ({"ENGINE_USER": "me"}, "ENGINE_USER"),
        ({"ENGINE_CA_FILE": "/nowhere/ca.pem"}, "ENGINE_CA_FILE"),
        ({}, "ENGINE_TOKEN_FILE"),
    ],
)
def test_a_refused_dashboard_says_which_setting_to_change(
    as_operator: APIClient, engine: FakeEngine, settings: Settings, given: dict[str, str], setting: str
) -> None:
    for name, value in given.items():
        setattr(settings, name, value)
    body = as_operator.get("/api/v1/connectors").json()
    (cluster,) = body["clusters"]
    assert cluster["reachable"] is False
    assert setting in cluster["trouble"]
    response = as_operator.post("/api/v1/connectors/c/pause")
    assert (response.status_code, response.json()["detail"]) == (503, cluster["trouble"])
    assert not [value for value in given.values() if len(value) == 6 and value in cluster["trouble"]]

"""Kafka Connect's REST over a herder that only remembers."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from engine.rest.app import build_app
from tests.engine.rest.herder import Herder, examine


@pytest.fixture
def herder() -> Herder:
    return Herder()


@pytest.fixture
def client(herder: Herder) -> TestClient:
    return TestClient(build_app(herder, examine, puts=herder), raise_server_exceptions=False)

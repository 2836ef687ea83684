"""What nobody foresaw is told as everything else is."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from engine.errors import FatalError
from engine.rest.app import build_app
from tests.engine.rest.herder import Herder, examine


@pytest.mark.parametrize("error", [FatalError("no right"), ValueError("no right"), TimeoutError("no right")])
def test_what_no_status_code_is_for_is_told_with_500(error: Exception) -> None:
    herder = Herder()
    herder.later = error  # type: ignore[assignment]  # also errors that are not the engine's
    answer = TestClient(build_app(herder, examine), raise_server_exceptions=False).delete("/connectors/c/offsets")
    assert (answer.status_code, answer.json()) == (500, {"error_code": 500, "message": "no right"})

from pathlib import Path

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient


@pytest.mark.parametrize("path", ["/api/v1/alive", "/api/v1/health", "/", "/admin/login/"])
def test_every_answer_has_the_secure_headers(anonymous: APIClient, path: str) -> None:
    response = anonymous.get(path)
    policy = response["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "script-src 'self';" in policy
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"


def test_every_address_outside_the_api_shows_the_frontend(
    anonymous: APIClient, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text("<title>dlqadmin</title>")
    settings.FRONTEND_DIST = tmp_path
    for path in ("/", "/groups/7", "/records?stage=TASK_PUT"):
        response = anonymous.get(path)
        assert response.content == b"<title>dlqadmin</title>"
        assert "no-store" in response["Cache-Control"]


def test_a_frontend_that_is_not_built_says_so(anonymous: APIClient, settings: Settings, tmp_path: Path) -> None:
    settings.FRONTEND_DIST = tmp_path
    assert anonymous.get("/").status_code == 503


def test_a_missing_asset_is_not_the_frontend(anonymous: APIClient) -> None:
    assert anonymous.get("/assets/gone-abc.js").status_code == 404

import pytest
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


def test_a_missing_asset_is_not_the_frontend(anonymous: APIClient) -> None:
    assert anonymous.get("/assets/gone-abc.js").status_code == 404

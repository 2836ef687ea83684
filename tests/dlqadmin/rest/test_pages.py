"""The frontend's page, addresses that people try first, and the page about the REST API."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

ROUTES = Path("frontend/src/app/App.tsx")
PAGE = '<title>dlqadmin</title><script src="/assets/{build}.js"></script>'


@pytest.fixture
def dist(settings: Settings, tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text(PAGE.format(build="index-a1"))
    settings.FRONTEND_DIST = tmp_path
    return tmp_path


def test_each_route_of_the_frontend_is_a_page(anonymous: APIClient, dist: Path) -> None:
    routes = set(re.findall(r'<Route path="(/[^"]*)"', ROUTES.read_text()))
    assert len(routes) > 10
    for route in routes:
        response = anonymous.get(re.sub(r":\w+", "7", route) + "?stage=TASK_PUT")
        assert response.status_code == 200, route
        assert response.content == PAGE.format(build="index-a1").encode()
        assert "no-store" in response["Cache-Control"]


@pytest.mark.parametrize("path", ["/healthcheck", "/index.php", "/groups/7/8", "/.env", "/records/1/fix/2"])
def test_an_unknown_path_is_the_page_with_status_404(anonymous: APIClient, dist: Path, path: str) -> None:
    response = anonymous.get(path)
    assert response.status_code == 404
    assert b"<title>dlqadmin" in response.content


def test_a_frontend_that_is_not_built_says_so(anonymous: APIClient, settings: Settings, tmp_path: Path) -> None:
    settings.FRONTEND_DIST = tmp_path
    assert anonymous.get("/").status_code == 503
    assert "X-Frontend-Build" not in anonymous.get("/api/v1/alive")


def test_the_files_of_a_newer_build_are_served_without_a_restart(anonymous: APIClient, dist: Path) -> None:
    (dist / "assets").mkdir()
    (dist / "assets" / "index-b22.js").write_text("start();")
    found = anonymous.get("/assets/index-b22.js")
    assert found.content == b"start();"
    assert found["Content-Type"].partition(";")[0] in {"text/javascript", "application/javascript"}
    assert "immutable" in found["Cache-Control"]
    assert anonymous.get("/assets/index-a1.js").status_code == 404
    assert anonymous.get("/assets/..%2Findex.html").status_code == 404


def test_responses_of_the_api_name_the_build_of_the_frontend(anonymous: APIClient, dist: Path) -> None:
    assert anonymous.get("/api/v1/alive")["X-Frontend-Build"] == "index-a1"
    (dist / "index.html").write_text(PAGE.format(build="index-b22"))
    assert anonymous.get("/api/v1/alive")["X-Frontend-Build"] == "index-b22"


def test_healthz_is_the_liveness_check(anonymous: APIClient) -> None:
    assert anonymous.get("/healthz").json() == {"alive": True}


def test_health_leads_to_the_health_of_all_parts(anonymous: APIClient, as_viewer: APIClient) -> None:
    assert as_viewer.get("/health", follow=True).json()["connect"] == [
        {"name": "engine", "reachable": False, "workers": 0}
    ]
    assert anonymous.get("/health", follow=True).status_code == 401


def test_docs_leads_to_the_page_about_the_api(anonymous: APIClient, as_viewer: APIClient) -> None:
    assert as_viewer.get("/docs")["Location"] == "/api/docs"
    page = as_viewer.get("/api/docs")
    assert page.status_code == 200
    scripts = re.findall(r'<script src="([^"]+)">', page.content.decode())
    assert len(scripts) == 3
    assert "<script>" not in page.content.decode()  # the content security policy refuses inline scripts
    for script in scripts:
        assert as_viewer.get(script).status_code == 200, script
    assert anonymous.get("/api/docs").status_code == 401

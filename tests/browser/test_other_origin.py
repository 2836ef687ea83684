"""A page on another origin, open in the browser of a signed-in operator, reaches neither the dashboard nor the engine.

Ports are not part of a cookie: a page on another port of the same host is sent with the operator's cookies, so only the
CSRF token and the checks of origin stand between it and a write. Both kinds of page are tried: another port of the same
host ("same site"), and another host.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import Site, signed_in
from tests.support.product import Product

ATTACK = """
async ({url, method, mode, type, body, token}) => {
    const options = {method, mode, credentials: "include", headers: {}};
    if (body) options.body = body;
    if (type) options.headers["Content-Type"] = type;
    if (token) options.headers["Authorization"] = "Bearer " + token;
    try {
        const answer = await fetch(url, options);
        return {type: answer.type, status: answer.status, text: await answer.text()};
    } catch (problem) {
        return {type: "error", status: 0, text: ""};
    }
}
"""
FORM = """
([url, method]) => {
    document.body.innerHTML = `<form action="${url}" method="${method}" enctype="text/plain" target="frame">
        <input name='{"name":"evil","config":{"connector.class":"FileStreamSink","x":"' value='"}}'>
        </form><iframe name="frame"></iframe>`;
    document.querySelector("form").submit();
}
"""
FRAME = "url => document.body.append(Object.assign(document.createElement('iframe'), {src: url}))"


class Blank(BaseHTTPRequestHandler):
    """An empty page of a stranger."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>stranger</title><body></body>")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module", params=["127.0.0.1", "localhost"], ids=["another-port", "another-host"])
def stranger(request: pytest.FixtureRequest, chromium: Browser, site: Site) -> Iterator[Page]:
    """A page of a stranger, in the browser where the operator is signed in."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Blank)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = signed_in(chromium, site)
    page = context.new_page()
    page.goto(f"http://{request.param}:{server.server_port}/")
    yield page
    context.close()
    server.shutdown()
    server.server_close()


def ask(
    page: Page, url: str, method: str = "GET", body: str = "", kind: str = "", mode: str = "cors", token: str = ""
) -> dict[str, Any]:
    request = {"url": url, "method": method, "mode": mode, "type": kind, "body": body, "token": token}
    answer: dict[str, Any] = page.evaluate(ATTACK, request)
    return answer


def submit(page: Page, url: str) -> None:
    """Submit a form, which no preflight asks for; return when the server has answered."""
    with page.expect_response(url) as answer:
        page.evaluate(FORM, [url, "post"])
    assert answer.value.status >= 400


READS = {
    "engine": ("/", "/connectors", "/connectors/usgs-to-sql/config", "/metrics", "/health"),
    "dashboard": ("/api/v1/session", "/api/v1/dead-letters", "/api/v1/audit", "/api/schema", "/metrics", "/"),
}


@pytest.mark.parametrize("port", sorted(READS))
def test_it_reads_nothing(stranger: Page, product: Product, port: str) -> None:
    base = product.engine if port == "engine" else product.web
    for mode in ("cors", "no-cors"):
        answers = [ask(stranger, base + path, mode=mode) for path in READS[port]]
        assert [answer for answer in answers if answer["text"] or answer["status"]] == []


def test_it_reads_nothing_with_a_stolen_token_either(stranger: Page, product: Product) -> None:
    for host in ("127.0.0.1", "localhost"):
        engine = product.engine.replace("127.0.0.1", host)
        answers = [ask(stranger, engine + path, token=product.engine_token) for path in READS["engine"]]
        assert [answer for answer in answers if answer["text"] or answer["status"]] == []


def test_the_engine_wants_credentials_where_nothing_was_set_up(product: Product) -> None:
    assert httpx.get(f"{product.engine}/connectors", timeout=30).status_code == 401
    assert set(httpx.get(f"{product.engine}/health", timeout=30).json()) == {"status", "message"}


def test_it_changes_nothing_on_the_engine(stranger: Page, product: Product) -> None:
    before = product.engine_json("connectors?expand=info&expand=status")
    body = '{"name": "evil", "config": {"connector.class": "FileStreamSink", "topics": "x", "file": "evil.py"}}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json"):
        for mode in ("cors", "no-cors"):
            ask(stranger, f"{product.engine}/connectors", "POST", body, kind, mode)
    for method, path in (
        ("PUT", "/connectors/usgs-to-sql/pause"),
        ("PUT", "/connectors/usgs-to-sql/stop"),
        ("POST", "/connectors/usgs-to-sql/restart?includeTasks=true"),
        ("DELETE", "/connectors/local-file-sink"),
        ("DELETE", "/connectors/local-file-sink/offsets"),
    ):
        ask(stranger, product.engine + path, method)
        ask(stranger, product.engine + path, method, mode="no-cors")
    submit(stranger, f"{product.engine}/connectors")
    after = product.engine_json("connectors?expand=info&expand=status")
    assert {name: row["info"] for name, row in after.items()} == {name: row["info"] for name, row in before.items()}
    assert {row["status"]["connector"]["state"] for row in after.values()} == {"RUNNING"}


def test_it_changes_nothing_on_the_dashboard(stranger: Page, product: Product) -> None:
    with product.client() as client:
        entries = {entry["id"] for entry in client.get("audit").json()["results"]}
        group = client.get("groups").json()["results"][0]
        writes = (
            ("POST", "/selections", '{"filter": {}}'),
            ("POST", f"/groups/{group['id']}/resolve", "{}"),
            ("POST", f"/groups/{group['id']}/mute", '{"reason": "x"}'),
            ("POST", "/connectors/usgs-to-sql/pause", ""),
            ("POST", "/exports", '{"filter": {}, "format": "ndjson"}'),
            ("DELETE", "/session", ""),
        )
        for method, path, body in writes:
            for kind in ("text/plain", "application/json"):
                for mode in ("cors", "no-cors"):
                    ask(stranger, f"{product.web}/api/v1{path}", method, body, kind, mode)
        submit(stranger, f"{product.web}/api/v1/selections")
        submit(stranger, f"{product.web}/admin/logout/")
        seen = client.get("audit").json()["results"]
        assert [entry for entry in seen if entry["id"] not in entries] == []
        assert client.get("session").json()["authenticated"] is True


def test_it_can_not_frame_the_dashboard(stranger: Page, product: Product) -> None:
    with stranger.expect_event("console", lambda message: "frame" in message.text.lower()):
        stranger.evaluate(FRAME, product.web)

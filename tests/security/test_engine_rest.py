"""The engine's REST API lets nobody in who may not: every route, every kind of stranger."""

from __future__ import annotations

import base64
import http.client
import logging
import re
import socket
import ssl
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from engine.__main__ import main
from engine.config.worker import parse_worker
from engine.errors import ConfigError
from engine.rest import request_checks
from engine.rest.access import access_rules, allowed_hosts
from engine.rest.app import build_app
from engine.rest.credentials import Credentials, hash_password
from engine.rest.request_checks import AccessRules, RequestChecks
from engine.rest.server import RestServer
from engine.rest.throttle import MOST_FAILURES, Throttle
from engine.rest.tls import server_context
from tests.engine.rest.herder import Herder, examine
from tests.support.certificates import self_signed

TOKEN = "0123456789abcdef0123456789abcdef"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
HOST = "engine.test"
LOGGER = logging.getLogger("tests.security.levels").name
BODIES = {
    "/connectors": {"name": "d", "config": {"topics": "t"}},
    "/connectors/{name}/config": {"topics": "t"},
    "/connectors/{name}/put-rehearsal": {"records": [{"key": "k", "value": {"map": []}}]},
    "/connectors/{name}/offsets": {"offsets": [{"partition": {"a": 1}, "offset": None}]},
    "/connector-plugins/{plugin}/config/validate": {"connector.class": "FileStreamSink"},
    "/admin/loggers/{logger}": {"level": "INFO"},
}


def door(herder: Herder, **rules: Any) -> RequestChecks:
    rules = {"hosts": frozenset({HOST}), "credentials": Credentials(TOKEN), **rules}
    return RequestChecks(build_app(herder, examine, puts=herder), AccessRules(**rules))


def client_of(served: RequestChecks) -> TestClient:
    return TestClient(served, base_url=f"http://{HOST}", raise_server_exceptions=False, follow_redirects=False)


def routes() -> list[tuple[str, str]]:
    """Every method and path of the application itself, so that a new route is in every test below."""
    found = [route for route in door(Herder()).app.routes if isinstance(route, Route)]
    return sorted((method, route.path) for route in found for method in route.methods or ())


ROUTES = routes()
CHANGES = [(method, path) for method, path in ROUTES if method not in {"GET", "HEAD"}]
CLOSED = [(method, path) for method, path in ROUTES if path != "/health"]


def ask(served: TestClient, method: str, path: str, headers: dict[str, str], content: bytes | None = None) -> Any:
    named = path.format_map({"name": "c", "plugin": "FileStreamSink", "task": "0", "logger": LOGGER})
    if content is not None:
        return served.request(method, named, headers=headers, content=content)
    body = BODIES.get(path) if method in {"POST", "PUT", "PATCH"} else None
    return (
        served.request(method, named, headers=headers, json=body)
        if body
        else served.request(method, named, headers=headers)
    )


def assert_refused(answer: Any, status: int, herder: Herder) -> None:
    assert answer.status_code == status, answer.request
    if answer.request.method != "HEAD":
        assert answer.json()["error_code"] == status
        assert answer.json()["message"]
    assert herder.asked == [], answer.request


def assert_all_refused(
    routes: list[tuple[str, str]], status: int, headers: dict[str, str], content: bytes | None = None, **rules: Any
) -> list[Any]:
    """Ask each route of one engine; return the answers."""
    herder, answers = Herder(), []
    served = client_of(door(herder, **rules))
    for method, path in routes:
        answers.append(ask(served, method, path, headers, content))
        assert_refused(answers[-1], status, herder)
    return answers


def test_the_matrix_has_every_route() -> None:
    assert len(ROUTES) > 25
    assert {"/metrics", "/", "/connectors", "/connectors/{name}/offsets"} <= {path for _, path in ROUTES}


def test_without_credentials_every_route_is_401() -> None:
    for answer in assert_all_refused(CLOSED, 401, {}):
        assert answer.headers["www-authenticate"] == 'Bearer realm="engine"'


def test_with_wrong_credentials_every_route_is_401() -> None:
    assert_all_refused(ROUTES, 401, {"Authorization": f"Bearer {TOKEN}x"}, throttle=Throttle(lambda: 0, len(ROUTES)))


@pytest.mark.parametrize("wrong", ["Basic " + base64.b64encode(b"a:b").decode(), "Basic %", "Bearer", "", TOKEN])
def test_malformed_credentials_are_401(wrong: str) -> None:
    assert client_of(door(Herder())).get("/connectors", headers={"Authorization": wrong}).status_code == 401


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_with_right_credentials_every_route_answers(method: str, path: str) -> None:
    answer = ask(client_of(door(Herder())), method, path, BEARER)
    assert answer.status_code in {200, 201, 202, 204}
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert "server" not in answer.headers


def test_a_page_of_another_origin_changes_and_reads_nothing() -> None:
    for answer in assert_all_refused(ROUTES, 403, {"Origin": "https://evil.test"}, credentials=None):
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("origin", [f"http://{HOST}:8000", "null", f"http://{HOST}.evil.test", f"file://{HOST}", ""])
def test_an_origin_that_only_resembles_ours_is_foreign(origin: str) -> None:
    assert client_of(door(Herder())).get("/connectors", headers={**BEARER, "Origin": origin}).status_code == 403


def test_a_request_that_a_foreign_page_makes_without_origin_is_refused() -> None:
    """Images, scripts and frames send no `Origin`."""
    assert_all_refused(ROUTES, 403, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, credentials=None)


def test_a_page_on_another_port_and_a_frame_are_foreign() -> None:
    served = client_of(door(Herder(), credentials=None))
    assert served.get("/connectors", headers={"Sec-Fetch-Site": "same-site"}).status_code == 403
    frame = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
    assert served.get("/connectors", headers=frame).status_code == 403


def test_a_link_to_the_api_can_be_followed() -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    served = client_of(door(Herder(), credentials=None))
    assert served.get("/connectors", headers=link).status_code == 200
    assert served.put("/connectors/c/pause", headers=link).status_code == 403


def test_a_rebound_host_name_reaches_nothing() -> None:
    assert_all_refused(ROUTES, 421, {"Host": "evil.test"}, credentials=None)


@pytest.mark.parametrize("host", [f"{HOST}.evil.test", f"{HOST}@evil.test", f"evil.test/{HOST}", "", "10.9.8.7", "[::"])
def test_a_host_that_only_resembles_ours_is_foreign(host: str) -> None:
    assert client_of(door(Herder())).get("/health", headers={"Host": host}).status_code == 421


CREATION = b'{"name": "d", "config": {"topics": "t"}}'


def test_a_body_that_any_page_may_send_is_415() -> None:
    """Browsers send text/plain without asking first: a `no-cors` fetch created a connector."""
    assert_all_refused(CHANGES, 415, {"Content-Type": "text/plain"}, CREATION, credentials=None)


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data", "", "text/json"])
def test_other_kinds_of_bodies_are_415_too(kind: str) -> None:
    herder = Herder()
    headers = {"Content-Type": kind} if kind else {}
    answer = client_of(door(herder, credentials=None)).post("/connectors", headers=headers, content=CREATION)
    assert_refused(answer, 415, herder)


def test_json_with_a_character_set_is_json() -> None:
    served = client_of(door(Herder()))
    headers = {**BEARER, "Content-Type": "Application/JSON; charset=utf-8"}
    assert served.put("/connectors/c/config", headers=headers, content=b"{}").status_code == 200


def test_health_tells_strangers_its_status_and_no_more() -> None:
    served = client_of(door(Herder()))
    assert served.get("/health").json().keys() == {"status", "message"}
    assert "w:1" not in served.get("/health").text
    assert served.get("/health/details").status_code == 401
    assert served.get("/health/details", headers=BEARER).json()["worker_id"] == "w:1"
    assert served.get("/health", headers={"Authorization": "Bearer no"}).status_code == 401
    assert served.post("/health").status_code == 401


def test_a_permitted_origin_is_answered_as_kafka_connect_answers_it() -> None:
    page = {"Origin": "https://ui.test"}
    served = client_of(door(Herder(), origins=("https://ui.test",), methods=("GET", "PUT")))
    asked = {**page, "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "content-type"}
    preflight = served.options("/connectors/c/config", headers=asked)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == "https://ui.test"
    assert preflight.headers["access-control-allow-methods"] == "GET, PUT"
    assert (
        served.options("/connectors", headers={**asked, "Access-Control-Request-Method": "DELETE"}).status_code == 400
    )
    answer = served.get("/connectors", headers={**page, **BEARER})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, "https://ui.test")
    assert served.get("/connectors", headers=page).status_code == 401
    assert served.get("/connectors", headers={**BEARER, "Origin": "https://evil.test"}).status_code == 403


def test_its_own_page_is_no_foreign_page() -> None:
    served = client_of(door(Herder()))
    assert served.get("/connectors", headers={**BEARER, "Origin": f"http://{HOST}"}).status_code == 200


# Credentials


@pytest.mark.slow
def test_users_of_a_properties_file_sign_in_with_plain_and_hashed_passwords(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text(f"# Kafka's format\nplain=one=1\nhashed={hash_password('two')}\n")
    served = client_of(door(Herder(), credentials=Credentials(users_file=users)))
    assert served.get("/connectors", auth=("plain", "one=1")).status_code == 200
    assert served.get("/connectors", auth=("hashed", "two")).status_code == 200
    assert served.get("/connectors", auth=("hashed", "two")).status_code == 200
    for user, password in (("plain", "two"), ("hashed", "one=1"), ("hashed", hash_password("two")), ("other", "")):
        answer = served.get("/connectors", auth=(user, password))
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith('Basic realm="engine"')


def test_a_changed_file_counts_at_once_and_a_lost_one_lets_nobody_in(tmp_path: Path) -> None:
    tokens, users = tmp_path / "tokens", tmp_path / "users"
    tokens.write_text(f"# two tokens\n{TOKEN}\n{'b' * 40}\n")
    users.write_text("me=first\n")
    served = client_of(door(Herder(), credentials=Credentials(None, tokens, users)))
    assert served.get("/connectors", headers=BEARER).status_code == 200
    assert served.get("/connectors", headers={"Authorization": f"bearer {'b' * 40}"}).status_code == 200
    assert served.get("/connectors", auth=("me", "first")).status_code == 200
    tokens.write_text("c" * 50)
    users.write_text("me=second\n")
    assert served.get("/connectors", headers=BEARER).status_code == 401
    assert served.get("/connectors", auth=("me", "first")).status_code == 401
    assert served.get("/connectors", auth=("me", "second")).status_code == 200
    assert served.get("/connectors", headers={"Authorization": f"Bearer {'c' * 50}"}).status_code == 200
    tokens.unlink()
    users.write_text("")
    assert served.get("/connectors", headers={"Authorization": f"Bearer {'c' * 50}"}).status_code == 401
    assert served.get("/connectors", auth=("me", "second")).status_code == 401


def test_wrong_credentials_are_throttled_for_each_address_and_logged_without_the_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    users = tmp_path / "users"
    users.write_text("me=right\n")
    rules = {"credentials": Credentials(TOKEN, users_file=users), "throttle": Throttle(lambda: now[0])}
    served = client_of(door(Herder(), **rules))
    with caplog.at_level(logging.WARNING, "engine"):
        answers = [served.get("/connectors", auth=("me", f"guess-{number}")) for number in range(MOST_FAILURES)]
    assert {answer.status_code for answer in answers} == {401}
    assert "testclient" in caplog.text
    assert "guess" not in caplog.text
    blocked = served.get("/connectors", auth=("me", "right"))
    assert (blocked.status_code, blocked.headers["retry-after"]) == (429, "60")
    assert served.get("/connectors", headers=BEARER).status_code == 200
    now[0] = 61.0
    assert served.get("/connectors", auth=("me", "right")).status_code == 200


@pytest.mark.slow
def test_guesses_at_the_same_time_are_throttled_too(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text(f"me={hash_password('right')}\n")
    rules = {"credentials": Credentials(None, users_file=users), "hosts": frozenset({"127.0.0.1"})}
    with serving(door(Herder(), **rules)) as (port, _), ThreadPoolExecutor(3 * MOST_FAILURES) as pool:

        def guess(number: int) -> int:
            login = base64.b64encode(f"me:guess-{number}".encode()).decode()
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                connection.request("GET", "/connectors", headers={"Authorization": f"Basic {login}"})
                return connection.getresponse().status
            finally:
                connection.close()

        answers = list(pool.map(guess, range(3 * MOST_FAILURES)))
    assert answers.count(401) == MOST_FAILURES
    assert answers.count(429) == 2 * MOST_FAILURES


def test_right_passwords_are_never_throttled(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("me=right\n")
    served = client_of(door(Herder(), credentials=Credentials(TOKEN, users_file=users)))
    for _ in range(2 * MOST_FAILURES):
        assert served.get("/connectors", auth=("me", "right")).status_code == 200


# Bodies


def test_a_stranger_sends_no_body_to_the_open_path() -> None:
    """The answer comes while the body is still missing."""
    with serving(door(Herder(), hosts=frozenset({"127.0.0.1"}))) as (port, _):
        head = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        for extra in ("Content-Length: 100000\r\n", "Transfer-Encoding: chunked\r\n"):
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(f"{head}{extra}\r\n".encode())
                assert connection.recv(12) == b"HTTP/1.1 401"


def test_a_body_beyond_the_limit_is_413_before_it_is_read() -> None:
    herder = Herder()
    served = client_of(door(herder, max_request_bytes=1024))
    content = b'{"a": "' + b"x" * 2000 + b'"}'
    headers = {**BEARER, "Content-Type": "application/json"}
    assert_refused(served.put("/connectors/c/config", headers=headers, content=content), 413, herder)
    streamed = served.put("/connectors/c/config", headers=headers, content=iter([content[:900], content[900:]]))
    assert_refused(streamed, 413, herder)


def test_a_stranger_s_body_is_not_waited_for() -> None:
    """The answer comes while the body is still missing."""
    with serving(door(Herder(), hosts=frozenset({"127.0.0.1"}))) as (port, _):
        head = f"PUT /connectors/c/config HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        for extra, status in (
            ("Content-Length: 100000\r\n", b"401"),
            (f"Content-Length: 90000000\r\nAuthorization: Bearer {TOKEN}\r\n", b"413"),
        ):
            with socket.create_connection(("127.0.0.1", port), 10) as connection:
                connection.sendall(f"{head}{extra}\r\n".encode())
                assert connection.recv(4096).startswith(b"HTTP/1.1 " + status)


def test_a_client_that_still_sends_its_refused_body_gets_the_answer() -> None:
    """A connection that is closed with unread bytes is reset, which takes the answer from slow clients."""
    with serving(door(Herder(), hosts=frozenset({"127.0.0.1"}))) as (port, _):
        head = f"PUT /connectors/c/config HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 300000\r\n\r\n"
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.sendall(head.encode())
            time.sleep(0.2)  # the answer is there meanwhile
            for _ in range(30):
                connection.sendall(b"x" * 10_000)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 401")
    assert b"needs the worker's credentials" in answer


def test_a_refused_body_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_checks, "LINGER_S", 0.2)
    with serving(door(Herder(), hosts=frozenset({"127.0.0.1"}))) as (port, _):
        head = f"PUT /connectors/c/config HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 300000\r\n\r\n"
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.sendall(head.encode())
            assert b"".join(iter(lambda: connection.recv(65536), b"")).startswith(b"HTTP/1.1 401")  # then it is closed


def test_a_forwarded_address_is_not_believed(caplog: pytest.LogCaptureFixture) -> None:
    with (
        serving(door(Herder(), hosts=frozenset({"127.0.0.1"}))) as (port, _),
        caplog.at_level(logging.WARNING, "engine"),
    ):
        headers = {"Authorization": "Bearer no", "X-Forwarded-For": "203.0.113.9"}
        assert httpx.get(f"http://127.0.0.1:{port}/", headers=headers).status_code == 401
    assert "127.0.0.1" in caplog.text
    assert "203.0.113.9" not in caplog.text


# Starting


WIDE = "listeners=http://0.0.0.0:0\n"


def test_an_engine_that_other_machines_reach_does_not_start_without_authentication(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "worker.properties"
    for more in ("", "rest.authentication=none\n"):
        file.write_text(WIDE + more)
        assert main(["run", str(file)]) == 1
        printed = capsys.readouterr().err
        assert "listeners = http://0.0.0.0:0: is reachable from other machines" in printed
        assert "rest.auth.token.file" in printed


@pytest.mark.parametrize(
    ("properties", "option"),
    [
        ({"rest.extension.classes": "com.example.Other"}, "rest.extension.classes"),
        ({"rest.extension.classes": "BasicAuthSecurityRestExtension"}, "rest.basic.auth.credentials.file"),
        ({"rest.auth.token.file": "/nowhere/token"}, "rest.auth.token.file"),
        ({"rest.auth.token.file": "/dev/null"}, "rest.auth.token.file"),
        ({"rest.basic.auth.credentials.file": "/dev/null"}, "rest.basic.auth.credentials.file"),
        ({"rest.authentication": "none", "rest.auth.token": TOKEN}, "rest.authentication"),
        ({"rest.authentication": "none", "access.control.allow.origin": "*"}, "access.control.allow.origin"),
        ({"rest.auth.token": "short"}, "rest.auth.token"),
        ({"rest.authentication": "off"}, "rest.authentication"),
        ({"listeners": "ftp://127.0.0.1:1"}, "listeners"),
        ({"listeners": "http://127.0.0.1:99999"}, "listeners"),
    ],
)
def test_rules_that_would_not_hold_are_refused_with_the_options_name(
    properties: dict[str, str], option: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as refused:
        access_rules(parse_worker(properties), {"XDG_STATE_HOME": str(tmp_path)})
    assert [name for name, _, _ in refused.value.problems] == [option]
    assert "short" not in str(refused.value.problems)


def test_on_loopback_a_private_token_is_made_once(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path)}
    access, file = access_rules(parse_worker({"group.id": "a/b"}), env)
    assert file is not None
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = file.read_text().strip()
    assert access.credentials is not None
    assert access.credentials.accepts_token(token)
    assert access_rules(parse_worker({"group.id": "a/b"}), env)[1] == file
    assert file.read_text().strip() == token
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="must be readable by its owner only"):
        access_rules(parse_worker({"group.id": "a/b"}), env)


def test_hosts_are_those_of_the_listeners_and_the_configured_ones() -> None:
    loopback = {"localhost", "127.0.0.1", "::1"}
    assert allowed_hosts(parse_worker({}).rest) == loopback
    assert allowed_hosts(parse_worker({"listeners": "http://Engine.test:1"}).rest) == {"engine.test"}
    wide = {"listeners": "http://0.0.0.0:1", "rest.advertised.host.name": "e", "rest.allowed.hosts": "x, y"}
    assert allowed_hosts(parse_worker(wide).rest) == loopback | {"e", "x", "y", socket.gethostname().lower()}


def test_leases_carry_no_credentials_of_the_rest_api() -> None:
    secret = {"rest.auth.token": TOKEN, "listeners.https.ssl.keystore.password": "hush", "group.id": "g"}
    worker = parse_worker(secret)
    assert worker.lease_properties == {"group.id": "g"}
    assert TOKEN not in repr(worker.rest)
    assert "hush" not in repr(worker.rest)


# TLS


@contextmanager
def serving(
    app: RequestChecks, tls: ssl.SSLContext | None = None, **properties: str
) -> Iterator[tuple[int, RestServer]]:
    worker = parse_worker({"listeners": f"{'https' if tls else 'http'}://127.0.0.1:0", **properties})
    server = RestServer(worker.rest.listeners, tls)
    server.start(app)
    try:
        yield int(server.addresses[0].rpartition(":")[2]), server
    finally:
        server.stop()


@pytest.mark.slow
def test_a_connection_that_sends_no_request_is_closed() -> None:
    server = RestServer(parse_worker({"listeners": "http://127.0.0.1:0"}).rest.listeners, head_s=0.3)
    server.start(door(Herder()))
    try:
        port = int(server.addresses[0].rpartition(":")[2])
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: 127"):
            with socket.create_connection(("127.0.0.1", port), timeout=5) as silent:
                silent.sendall(sent)
                assert silent.recv(1) == b""
        with socket.create_connection(("127.0.0.1", port), timeout=5) as kept:
            for _ in range(2):  # the second one comes later than a head may take
                kept.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                assert kept.recv(12) == b"HTTP/1.1 200"
                time.sleep(0.4)
                kept.recv(65536)
            kept.sendall(b"GET /hea")
            assert kept.recv(1) == b""
    finally:
        server.stop()


def tls_of(properties: dict[str, str]) -> ssl.SSLContext:
    worker = parse_worker({"listeners": "https://127.0.0.1:0", **properties})
    made = server_context(worker.rest, worker.client)
    assert made is not None
    return made


@pytest.mark.parametrize("prefix", ["listeners.https.", ""])
def test_an_https_listener_speaks_tls_with_the_stores_key(tmp_path: Path, prefix: str) -> None:
    keystore, chain = self_signed(tmp_path, b"hush")
    stores = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(keystore), "ssl.key.password": "hush"}
    tls = tls_of({f"{prefix}{name}": value for name, value in stores.items()})
    trusting = ssl.create_default_context(cadata=chain)
    with serving(door(Herder(), hosts=frozenset({"127.0.0.1"})), tls) as (port, server):
        assert server.addresses == (f"https://127.0.0.1:{port}",)
        answer = httpx.get(f"https://127.0.0.1:{port}/connectors", headers=BEARER, verify=trusting)
        assert answer.json() == ["c"]
        with pytest.raises(httpx.HTTPError):  # nobody gets an answer in clear text
            httpx.get(f"http://127.0.0.1:{port}/connectors", headers=BEARER)


def test_an_https_listener_can_require_certificates_of_clients(tmp_path: Path) -> None:
    keystore, chain = self_signed(tmp_path / "server")
    own, own_chain = self_signed(tmp_path / "client")
    truststore = tmp_path / "trusted.pem"
    truststore.write_text(own_chain)
    prefix = "listeners.https.ssl."
    stores = {"keystore.location": str(keystore), "truststore.location": str(truststore), "client.auth": "required"}
    tls = tls_of({prefix + name: value for name, value in stores.items()})
    trusting = ssl.create_default_context(cadata=chain)
    with serving(door(Herder(), hosts=frozenset({"127.0.0.1"})), tls) as (port, _):
        address = f"https://127.0.0.1:{port}/connectors"
        with pytest.raises(httpx.TransportError):
            httpx.get(address, headers=BEARER, verify=trusting)
        trusting.load_cert_chain(own)
        assert httpx.get(address, headers=BEARER, verify=trusting).status_code == 200
        assert httpx.get(address, verify=trusting).status_code == 401


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({}, "listeners.https.ssl.keystore.location"),
        ({"ssl.keystore.location": "/nowhere"}, "listeners.https.ssl.keystore.location"),
        ({"ssl.keystore.loction": "/x"}, "listeners.https.ssl.keystore.loction"),
        ({"ssl.client.auth": "perhaps"}, "listeners.https.ssl.client.auth"),
        ({"ssl.enabled.protocols": "TLSv1"}, "listeners.https.ssl.enabled.protocols"),
    ],
)
def test_a_tls_listener_that_cannot_work_is_refused(options: dict[str, str], option: str) -> None:
    with pytest.raises(ConfigError) as refused:
        tls_of({f"listeners.https.{name}": value for name, value in options.items()})
    assert [name for name, _, _ in refused.value.problems] == [option]


def test_every_listener_is_listened_on(tmp_path: Path) -> None:
    keystore, chain = self_signed(tmp_path)
    tls = tls_of({"listeners.https.ssl.keystore.location": str(keystore)})
    both = "http://127.0.0.1:0,https://127.0.0.1:0"
    with serving(door(Herder(), hosts=frozenset({"127.0.0.1"})), tls, listeners=both) as (_, server):
        clear, locked = server.addresses
        assert re.match(r"http://.* https://", f"{clear} {locked}")
        assert httpx.get(f"{clear}/connectors", headers=BEARER).json() == ["c"]
        trusting = ssl.create_default_context(cadata=chain)
        assert httpx.get(f"{locked}/connectors", headers=BEARER, verify=trusting).json() == ["c"]


def test_large_headers_are_refused() -> None:
    with serving(door(Herder(), hosts=frozenset({"127.0.0.1"}))) as (port, _):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/", headers={**BEARER, "X-Large": "x" * 1_000_000})
        assert connection.getresponse().status == 400
        connection.close()

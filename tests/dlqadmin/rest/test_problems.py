import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from django.db import OperationalError
from django.test import RequestFactory
from rest_framework.test import APIClient

from dlqadmin.rest import problems

BODIES = {
    "cut off": b'{"username": "a"',
    "a list": b"[1, 2]",
    "a number": b"1",
    "null": b"null",
    "a string": b'"x"',
    "not UTF-8": b'{"username": "\xff\xfe"}',
    "NaN": b'{"username": NaN}',
    "a lone surrogate": b'{"username": "\\ud800", "password": "x"}',
    "NUL": b'{"username": "a\\u0000b", "password": "x"}',
    "deep": b"[" * 100_000,
    "wrong types": b'{"username": {"a": 1}, "password": [1]}',
    "long": b'{"username": "' + b"a" * 10_000 + b'", "password": "x"}',
    "empty": b"",
    "big number": b'{"username": 1e400, "password": ' + b"9" * 5000 + b"}",
}


def assert_problem(response: Any, status: Any) -> None:
    assert response.status_code == status
    assert response["Content-Type"] == "application/problem+json"
    body = json.loads(response.content)
    assert {"type", "title", "status", "detail", "instance", "errors"} == set(body)
    assert body["status"] == status


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_malformed_body_is_a_problem_and_never_a_500(anonymous: APIClient, body: Any) -> None:
    assert_problem(anonymous.post("/api/v1/session", body, content_type="application/json"), 400)


def test_a_body_that_is_not_json_is_named_unsupported(anonymous: APIClient) -> None:
    assert_problem(anonymous.post("/api/v1/session", b"<a/>", content_type="application/xml"), 415)


def test_an_unknown_charset_is_a_problem(anonymous: APIClient) -> None:
    response = anonymous.post("/api/v1/session", b"{}", content_type="application/json; charset=klingon")
    assert_problem(response, 400)


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api", "/api/v2/health", "/api/v1/dead-letters/abc/def"])
def test_an_unknown_address_of_the_api_is_a_problem(anonymous: APIClient, path: str) -> None:
    assert_problem(anonymous.get(path), 404)


def test_a_database_that_is_away_is_no_bug() -> None:
    try:
        raise OperationalError("connection refused")
    except OperationalError:
        response = problems.server_error(RequestFactory().get("/api/v1/health"))
    assert_problem(response, 503)
    assert "The database does not respond" in response.content.decode()
    assert_problem(problems.server_error(RequestFactory().get("/api/v1/health")), 500)


def test_a_full_disk_of_the_database_is_named() -> None:
    with closing(sqlite3.connect(":memory:")) as small:
        small.execute("PRAGMA max_page_count = 4")
        small.execute("CREATE TABLE kept (value BLOB)")
        with pytest.raises(sqlite3.OperationalError) as full:
            small.execute("INSERT INTO kept VALUES (zeroblob(100000))")
    try:
        raise OperationalError(*full.value.args) from full.value
    except OperationalError:
        response = problems.server_error(RequestFactory().get("/api/v1/health"))
    assert_problem(response, 503)
    assert "The disk of the database is full." in response.content.decode()


def test_a_full_disk_on_which_postgresql_opens_no_connection_is_named() -> None:
    said = 'connection failed: connection to server at "127.0.0.1", port 5432 failed: FATAL:  could not write init file'
    try:
        raise OperationalError(said)
    except OperationalError:
        response = problems.server_error(RequestFactory().get("/api/v1/health"))
    assert_problem(response, 503)
    assert "The disk of the database is full." in response.content.decode()


def test_a_method_that_is_not_there_is_a_problem(as_viewer: APIClient) -> None:
    assert_problem(as_viewer.put("/api/v1/health", {}), 405)


def test_an_answer_that_is_not_json_can_not_be_asked_for(as_viewer: APIClient) -> None:
    assert_problem(as_viewer.get("/api/v1/alive", headers={"accept": "image/png"}), 406)


def test_a_bug_is_a_problem_without_its_details(rf: RequestFactory) -> None:
    response = problems.server_error(rf.get("/api/v1/health"))
    assert response.status_code == 500
    assert b"Traceback" not in response.content


def test_a_bad_parameter_is_named(as_viewer: APIClient) -> None:
    response = as_viewer.get("/api/v1/metrics/errors?from=yesterday")
    assert_problem(response, 400)
    assert [row["parameter"] for row in response.json()["errors"]] == ["from"]

"""The ids of the lines that are logged while a request is answered."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest, StreamingHttpResponse
from django.test import RequestFactory
from rest_framework.test import APIClient

from dlqadmin.logs import context
from dlqadmin.rest.current_request import current_request_middleware
from tests.dlqadmin.logs.statements import STATEMENTS, logged_statements


def test_the_lines_of_a_request_have_its_id_and_the_user_once_that_is_known(
    as_viewer: APIClient, viewer: User, lines: list[dict[str, Any]]
) -> None:
    with logged_statements():
        response = as_viewer.get("/api/v1/session", HTTP_X_REQUEST_ID="proxy-7")
    assert response["X-Request-ID"] == "proxy-7"
    assert {line["request_id"] for line in lines} == {"proxy-7"}
    assert "user_id" not in lines[0]  # the statement that reads the session
    assert lines[-1]["user_id"] == viewer.pk
    assert context.ids() == {}


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "a]\u00e9"])
def test_another_id_is_made_if_the_given_one_is_unsafe(anonymous: APIClient, given: str) -> None:
    found = [anonymous.get("/api/v1/alive", HTTP_X_REQUEST_ID=given)["X-Request-ID"] for _ in range(2)]
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in found)
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [("/api/v1/connectors/orders/config", "connector", "orders"), ("/api/v1/replays/7/log", "replay", "R-7")],
)
def test_a_request_about_a_connector_or_a_replay_names_it(
    as_viewer: APIClient, lines: list[dict[str, Any]], path: str, name: str, value: str
) -> None:
    with logged_statements():
        as_viewer.get(path)
    last = [line for line in lines if line["logger"] == STATEMENTS.name][-1]
    assert last[name] == value
    assert {"connector", "replay"} & last.keys() == {name}


def test_an_internal_error_names_the_request_of_its_trace(as_viewer: APIClient, lines: list[dict[str, Any]]) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("a bug")

    as_viewer.raise_request_exception = False
    with connection.execute_wrapper(fail):
        response = as_viewer.get("/api/v1/session", HTTP_X_REQUEST_ID="proxy-8")
    assert (response.status_code, response["X-Request-ID"]) == (500, "proxy-8")
    assert response.json()["detail"] == "The dashboard failed. Its log has the stack trace of request proxy-8."
    [line] = [line for line in lines if "exception" in line]
    assert line["request_id"] == "proxy-8"
    assert line["exception"].endswith("RuntimeError: a bug")


def test_a_stream_logs_as_its_request_after_the_view_has_returned() -> None:
    def view(_: HttpRequest) -> StreamingHttpResponse:
        return StreamingHttpResponse(str(context.request_id()).encode() for _ in range(2))

    request = RequestFactory().get("/", HTTP_X_REQUEST_ID="proxy-9")
    response = current_request_middleware(view)(request)
    assert context.ids() == {}
    assert b"".join(response) == b"proxy-9proxy-9"
    assert context.ids() == {}

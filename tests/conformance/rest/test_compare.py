"""Differences of two answers are named exactly, and what depends on the run is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conformance.rest.answers import normal
from tests.conformance.rest.compare import differences
from tests.conformance.rest.judgement import recorded
from tests.conformance.rest.requests import CORE_STEPS, REQUESTS, RestRequest


def answer(body: Any, status: int = 200, **headers: str) -> dict[str, Any]:
    return {"status": status, "headers": headers, "body": body}


@pytest.mark.parametrize(
    ("theirs", "ours", "where"),
    [
        (answer({"a": 1}), answer({"a": 1}), []),
        (answer({"a": 1}), answer({"a": 1}, 404), ["status"]),
        (answer({"a": 1}), answer({"b": 1}), ["body.a", "added body.b"]),
        (answer({"message": "x"}, 400), answer({"message": "y"}, 400), ["400 message"]),
        (answer("", allow="GET"), answer("", allow="PUT"), ["allow"]),
        (answer(["a", "b"]), answer(["b", "a"]), []),
        (answer(["a", "b"]), answer(["b"]), ["body"]),
        (answer([{"name": "a", "width": 1}, {"name": "b"}]), answer([{"name": "b"}, {"name": "a"}]), ["body.a.width"]),
        (answer([{"class": "A", "type": "sink"}]), answer([{"class": "B", "type": "sink"}]), ["body.A sink"]),
        (answer({"errors": ["x"]}), answer({"errors": ["y"]}), ["body.errors text"]),
        (answer({"errors": ["x"]}), answer({"errors": []}), ["body.errors"]),
    ],
)
def test_what_differs_is_named(theirs: dict[str, Any], ours: dict[str, Any], where: list[str]) -> None:
    assert [one.where for one in differences("r", theirs, ours)] == [f"rest/r {aspect}" for aspect in where]


def test_times_ids_and_folders_are_left_out() -> None:
    request = httpx.Request("GET", "http://127.0.0.1:5/")
    body = {"worker_id": "h:1", "version": "4.1.0", "trace": "", "offsets": [{"partition": 1, "offset": None}]}
    response = httpx.Response(200, json={**body, "file": "/tmp/x/out"}, request=request)
    assert normal(response, Path("/tmp/x")).body == {
        "worker_id": "<worker_id>",
        "version": "<version>",
        "trace": "",
        "offsets": [],
        "file": "{folder}/out",
    }


def test_each_request_has_a_name_of_its_own_and_a_recorded_answer() -> None:
    names = [request.name for request in REQUESTS]
    assert len(set(names)) == len(names) >= 145
    assert set(names) == recorded().keys()
    assert len([step for step in CORE_STEPS if isinstance(step, RestRequest)]) > 200

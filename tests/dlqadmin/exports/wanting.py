"""Asks for files as a client does."""

from __future__ import annotations

from typing import Any

from rest_framework.test import APIClient

from dlqadmin.exports.tasks import write_exports
from tests.dlqadmin.deadletters.letters import ALL

API = "/api/v1/exports"
WEEK = f"from={ALL['from']}&to={ALL['to']}"


def ask(client: APIClient, form: str = "ndjson", query: str = WEEK, expect: int = 201, **headers: str) -> Any:
    response = client.post(API, {"format": form, "filter": query}, headers=headers)
    assert response.status_code == expect, response.content
    return response.json()


def done(client: APIClient, form: str = "ndjson") -> Any:
    """An export that a worker has written."""
    asked = ask(client, form)
    write_exports()
    answer = client.get(f"{API}/{asked['id']}").json()
    assert answer["state"] == "done", answer
    return answer

"""Selections, and files of records, over REST."""

from __future__ import annotations

import json
from typing import Any

from rest_framework.test import APIClient

from tests.dlqadmin.deadletters.letters import ALL

API = "/api/v1"
WEEK = f"from={ALL['from']}&to={ALL['to']}"
NULL = b'{"id": 9007199254740993, "mag":1.10, "gap":null}'
FINE = b'{"id": 9007199254740993, "mag":1.10, "gap":7}'
GAP = ".gap //= 0"


def post(client: APIClient, path: str, body: Any, expect: int = 201, **headers: str) -> Any:
    response = client.post(f"{API}/{path}", body, headers=headers)
    assert response.status_code == expect, response.content
    return response.json()


def selected(client: APIClient) -> int:
    return int(post(client, "selections", {"filter": WEEK})["id"])


def exported(client: APIClient) -> list[Any]:
    response = client.get(f"{API}/bulk-fixes/export", {"selection": selected(client)})
    assert response.status_code == 200, response.content
    assert response["X-Left-Out"] == "0"
    return [json.loads(line) for line in response.content.splitlines()]


def imported(client: APIClient, rows: list[Any], expect: int = 201, query: str = "", **headers: str) -> Any:
    data = "".join(json.dumps(row) + "\n" for row in rows)
    url = f"{API}/bulk-fixes/import{query}"
    response = client.post(url, data, content_type="application/x-ndjson", headers=headers)
    assert response.status_code == expect, response.content
    return response.json()

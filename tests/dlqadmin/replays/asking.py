"""What a person asks of replays over HTTP."""

from __future__ import annotations

from typing import Any

from rest_framework.test import APIClient

from dlqadmin.deadletters.models import DeadLetter
from tests.dlqadmin.deadletters.letters import ALL

API = "/api/v1"
WEEK = f"from={ALL['from']}&to={ALL['to']}"


def post(client: APIClient, path: str, body: Any, expect: int = 201, **headers: str) -> Any:
    response = client.post(f"{API}/{path}", body, headers=headers)
    assert response.status_code == expect, response.content
    return response.json()


def get(client: APIClient, path: str, **params: Any) -> Any:
    response = client.get(f"{API}/{path}", params)
    assert response.status_code == 200, response.content
    return response.json()


def nth(number: int) -> int:
    """The id of the dead letter that was indexed as the nth, from 1."""
    return DeadLetter.objects.order_by("pk").values_list("pk", flat=True)[number - 1]


def planned(client: APIClient, **options: Any) -> Any:
    chosen = post(client, "selections", {"filter": WEEK})
    return post(client, "replays", {"selection": chosen["id"], **options})

"""The acts of an operator on the dead letters of the past week, through the REST APIs of engine and dashboard.

All of them are real. They have the time at which the demo started, and the audit trail shows them as acts of `demo`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from demo.environment import engine_token
from demo.past_week import CONFIG, CONNECTOR, DEAD_LETTERS, PastWeek, past_events
from dlqadmin.host.network import wait_until

PATIENCE_S = 300
EVERY_S = 2.0
MAGNITUDE_TO_NULL = json.dumps([{"op": "replace", "path": "/properties/mag", "value": None}])
MUTED_FOR = timedelta(days=7)
TRUNCATED, ENCODING, MAGNITUDE = "truncated", "wrong encoding", "wrong magnitude"


def live_through(env: Mapping[str, str], week: PastWeek) -> None:
    """Write the week into Kafka and do what an operator did. A second call with the same data does nothing."""
    week.create_topics()
    week.send_events()
    sent = week.send_dead_letters()
    with httpx.Client(base_url=f"http://{env['WEB_HOST']}:{env['WEB_PORT']}/api/v1/", timeout=60) as client:
        wait_until(lambda: signed_in(client, env), "The dashboard", PATIENCE_S, EVERY_S)
        wait_until(lambda: indexed(client) >= sent, "The indexer", PATIENCE_S, EVERY_S)
        if indexed(client) > sent:  # an earlier start came this far
            return
        encoding, truncated = groups_of(client, ENCODING), groups_of(client, TRUNCATED)
        call(client, "POST", "groups/resolve", {"groups": encoding, "reason": "Alaska sends UTF-8 again."})
        until = (datetime.now(UTC) + MUTED_FOR).isoformat()
        reason = "A radio link cuts off every fortieth message. Its replacement is ordered."
        call(client, "POST", "groups/mute", {"groups": truncated, "reason": reason, "until": until})
        continue_connector(env, week)
        replay(client, groups_of(client, MAGNITUDE)[0])
        week.send_latest_dead_letters()


def signed_in(client: httpx.Client, env: Mapping[str, str]) -> bool:
    """Sign in as the demo user. Return whether the dashboard accepted it."""
    password = Path(env["LOCAL_DIR"], "demo-password").read_text().strip()
    try:
        client.get("session").raise_for_status()
        client.headers.update({"X-CSRFToken": client.cookies["csrftoken"], "Referer": str(client.base_url)})
        client.post("session", json={"username": "demo", "password": password}).raise_for_status()
    except httpx.HTTPError:
        return False
    client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
    return True


def indexed(client: httpx.Client) -> int:
    """Return the number of dead letters of the week in the index."""
    page = call(client, "GET", "dead-letters", params={"topic": DEAD_LETTERS, "limit": 1})
    return int(page["total"]["count"])


def groups_of(client: httpx.Client, damage: str) -> list[int]:
    """Return the ids of the groups of the events with this damage."""
    keys = {event.key.decode() for event, _ in past_events() if event.damage == damage}
    page = call(client, "GET", "dead-letters", params={"topic": DEAD_LETTERS, "limit": 200})
    return sorted({row["group"]["id"] for row in page["results"] if row["key_text"] in keys})


def continue_connector(env: Mapping[str, str], week: PastWeek) -> None:
    """Let the engine continue the connector where Kafka Connect left it."""
    week.commit_offsets()
    config = {**CONFIG, "file": str(Path(env["CONNECT_FILE_CONNECTORS_ROOT"], f"{CONNECTOR}.txt"))}
    headers = {"Authorization": f"Bearer {engine_token(env)}"}
    httpx.put(
        f"{env['ENGINE_URL']}/connectors/{CONNECTOR}/config", json=config, headers=headers, timeout=60
    ).raise_for_status()


def replay(client: httpx.Client, group: int) -> None:
    """Replace the wrong magnitudes of a group by null, and replay its records."""
    selection = call(client, "POST", "selections", {"filter": f"group={group}"})["id"]
    fix = {"kind": "patch", "program": MAGNITUDE_TO_NULL, "name": "Magnitude n/a becomes null"}
    made = call(client, "POST", "bulk-fixes", {"selection": selection, **fix})
    settled(client, f"bulk-fixes/{made['id']}", "running")
    made = call(client, "POST", "replays", {"selection": selection, "title": "Puerto Rico's day without magnitudes"})
    plan = settled(client, f"replays/{made['id']}", "planning")["plan"]
    reason = "Puerto Rico sends null for an unknown magnitude since its update."
    body = {"reason": reason, "plan_digest": plan["digest"], "resolve_groups": True}
    call(client, "POST", f"replays/{made['id']}/run", body)


def settled(client: httpx.Client, path: str, status: str) -> Any:
    """Return the document when its status is another one."""
    wait_until(lambda: call(client, "GET", path)["status"] != status, path, PATIENCE_S, EVERY_S)
    return call(client, "GET", path)


def call(client: httpx.Client, method: str, path: str, body: object = None, **options: Any) -> Any:
    """Return the response's document. Raises httpx.HTTPStatusError."""
    response = client.request(method, path, json=body, **options)
    return response.raise_for_status().json()

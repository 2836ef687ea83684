"""Answers to the requests, without what differs from run to run: times, ids, versions, workers, traces."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from dlqadmin.host.network import wait_until
from tests.conformance.rest.requests import JSON, RestRequest, Step, Wait

log = logging.getLogger(__name__)
WAIT_TIMEOUT_S = 30
REBALANCE_S = 5
FOLDER = "{folder}"
HEADERS = ("content-type", "location", "allow")
# Names of members that are compared by presence: their values differ from run to run, or are prose.
RUN_VALUES = (
    "version",
    "commit",
    "kafka_cluster_id",
    "worker_id",
    "trace",
    "last_modified",
    "documentation",
    "workerId",
    "kafkaClusterId",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: status, the compared headers, and the body as a document or as text."""

    status: int
    headers: dict[str, str]
    body: Any

    def document(self) -> dict[str, Any]:
        return {"status": self.status, "headers": self.headers, "body": self.body}


def answers(http: httpx.Client, folder: Path, steps: Iterable[Step]) -> dict[str, Answer]:
    """Send the requests in order. Return the answers by the names of the requests.

    A wait that is in vain is logged, and the answers after it show why.
    """
    found: dict[str, Answer] = {}
    for step in steps:
        if isinstance(step, RestRequest):
            found[step.name] = ask(http, folder, step)
            continue
        try:
            wait_until(partial(_has_states, http, step), f"{step}", WAIT_TIMEOUT_S)
        except TimeoutError as error:
            log.warning("%s", error)
    return found


def ask(http: httpx.Client, folder: Path, request: RestRequest) -> Answer:
    """Send one request. A worker that rebalances is asked again, as a client would."""
    content, headers = None, dict(request.headers)
    if request.body is not None:
        content = request.body
        if not isinstance(content, bytes):
            content = json.dumps(content).replace(FOLDER, str(folder)).encode()
            headers.setdefault("content-type", JSON)

    deadline = time.monotonic() + REBALANCE_S
    while True:
        response = http.request(request.method, request.path, content=content, headers=headers)
        is_over = time.monotonic() > deadline or b"already exists" in response.content
        if response.status_code != 409 or is_over:
            return normal(response, folder)
        time.sleep(0.2)


def normal(response: httpx.Response, folder: Path) -> Answer:
    """Return the comparable part of a response."""
    headers = {name: response.headers[name] for name in HEADERS if name in response.headers}
    if "allow" in headers:
        headers["allow"] = ",".join(sorted(headers["allow"].replace(" ", "").split(",")))
    if "location" in headers:
        headers["location"] = re.sub(r"^https?://[^/]+", "", headers["location"])
    text = response.text.replace(str(folder), FOLDER)
    text = re.sub(r"http://127\.0\.0\.1:\d+", "http://<worker>", text)
    try:
        body = without_run_values(json.loads(text))
    except ValueError:
        # The body of OPTIONS repeats the header, in the order of a hash.
        body = ",".join(sorted(text.split(", "))) if response.request.method == "OPTIONS" else text
    return Answer(response.status_code, headers, body)


def without_run_values(body: Any, name: str = "") -> Any:
    """Return a document without values that differ from run to run."""
    if name in RUN_VALUES and body and not isinstance(body, (dict, list)):
        return f"<{name}>"
    if isinstance(body, str) and re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", body):
        return "<version>"
    if isinstance(body, dict):
        return {key: without_run_values(value, key) for key, value in body.items()}
    if isinstance(body, list) and name == "offsets":
        # Kafka Connect shows a deleted offset as null until it has read its own tombstone.
        body = [row for row in body if row["offset"] is not None]
    if isinstance(body, list):
        return [without_run_values(value) for value in body]
    return body


def _has_states(http: httpx.Client, wait: Wait) -> bool:
    response = http.get(f"/connectors/{wait.connector}/status")
    if response.status_code != 200:
        return False
    body = response.json()
    states = tuple(task["state"] for task in body["tasks"])
    topics = http.get(f"/connectors/{wait.connector}/topics").json() if wait.topics else {}
    tasks = http.get(f"/connectors/{wait.connector}/tasks")
    return (
        body["connector"]["state"] == wait.state
        and states == wait.tasks
        and all(set(wait.topics) <= set(row["topics"]) for row in topics.values())
        and tasks.status_code == 200
        and len(tasks.json()) == len(wait.tasks)
    )

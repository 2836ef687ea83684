"""The steps that the scripts of Python clients share: call, wait, and write the results as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

TIMEOUT_S = 60
TEXT = "org.apache.kafka.connect.storage.StringConverter"


def sink(folder: str) -> dict[str, str]:
    return {
        "name": "sink",
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "tasks.max": "1",
        "topics": "orders",
        "file": f"{folder}/client-out",
        "key.converter": TEXT,
        "value.converter": TEXT,
    }


class Steps:
    """The results by step. A call that fails has its error's class and status as the result."""

    def __init__(self) -> None:
        self.results: dict[str, Any] = {}

    def call(self, name: str, work: Callable[[], Any]) -> Any:
        """Do the work, again while a worker rebalances."""
        deadline = time.monotonic() + 10
        while True:
            try:
                result = work()
            except Exception as error:  # every client has exceptions of its own
                status = getattr(getattr(error, "response", None), "status_code", None) or getattr(error, "code", None)
                if status == 409 and time.monotonic() < deadline:
                    time.sleep(0.2)
                    continue
                result = {"error": type(error).__name__, "status": status}
            self.results[name] = result
            return result

    def until(self, ready: Callable[[], bool]) -> None:
        """Wait until it is so. Errors mean that it is not yet."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                if ready():
                    return
            except Exception:  # the status of a new connector is missing for a moment
                time.sleep(0.1)
            time.sleep(0.1)
        raise TimeoutError(f"not within {TIMEOUT_S} s")

    def write(self) -> None:
        print(json.dumps(self.results))


def has_state(status: dict[str, Any], state: str, tasks: int = 1) -> bool:
    """Return whether the connector and that many tasks have this state."""
    rows = status["tasks"]
    return status["connector"]["state"] == state and [row["state"] for row in rows] == [state] * tasks

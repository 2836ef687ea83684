"""The engine's REST API, asked with short time-outs; any Kafka Connect worker answers the same."""

from typing import Any
from urllib.parse import quote

import httpx
from django.conf import settings

TIMEOUT = httpx.Timeout(3.0, connect=1.0)
CONNECTORS = "/connectors?expand=status&expand=info"


class EngineUnavailable(Exception):
    """The engine did not answer in time."""


class EngineRefused(Exception):
    """The engine answered, and said no; `status` is its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message

    def __str__(self) -> str:
        return self.message


def get(address: str) -> Any:
    """The JSON document at an address of the engine. Raises EngineUnavailable or EngineRefused."""
    return _call("GET", address)


def control(connector: str, action: str) -> None:
    """Pause, resume, stop or restart a connector with its tasks. Raises EngineUnavailable or EngineRefused."""
    if action == "restart":
        _call("POST", f"/connectors/{_segment(connector)}/restart?includeTasks=true&onlyFailed=false")
    else:
        _call("PUT", f"/connectors/{_segment(connector)}/{action}")


def restart_task(connector: str, task: int) -> None:
    """Restart one task. Raises EngineUnavailable or EngineRefused."""
    _call("POST", f"/connectors/{_segment(connector)}/tasks/{task}/restart")


def _segment(name: str) -> str:
    """A name as one segment of a path; `.` and `..` would be resolved away and name something else."""
    if name in ("", ".", ".."):
        raise EngineRefused(404, f"Connector {name} not found")
    return quote(name, safe="")


def _call(method: str, address: str) -> Any:
    try:
        # A worker that stands by sends its clients to the one that leads.
        answer = httpx.request(method, settings.ENGINE_URL + address, timeout=TIMEOUT, follow_redirects=True)
        document = answer.json() if answer.content else None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise EngineUnavailable(f"{type(error).__name__}: {error}") from error
    except ValueError as error:
        raise EngineUnavailable(f"the answer is not JSON: {error}") from error
    if answer.is_error:
        message = document.get("message") if isinstance(document, dict) else None
        raise EngineRefused(answer.status_code, str(message or answer.reason_phrase))
    return document

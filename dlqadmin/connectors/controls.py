"""Control of connectors and tasks. Every request is audited, whatever its result."""

from collections.abc import Callable
from typing import Any, Literal

from dlqadmin.audit.entries import record
from dlqadmin.connectors import client
from dlqadmin.rest.problems import UpstreamUnavailable

Action = Literal["pause", "resume", "stop", "restart"]


def control(user: Any, connector: str, action: Action, reason: str) -> None:
    """Pause, resume, stop or restart a connector.

    Raises EngineRefused, or UpstreamUnavailable if the engine did not answer.
    """
    _run_audited(user, f"{action} connector", connector, reason, lambda: client.control(connector, action))


def restart_task(user: Any, connector: str, task: int, reason: str) -> None:
    """Restart one task. Raises EngineRefused, or UpstreamUnavailable if the engine did not answer."""
    _run_audited(user, "restart task", f"{connector}-{task}", reason, lambda: client.restart_task(connector, task))


def _run_audited(user: Any, action: str, name: str, reason: str, act: Callable[[], None]) -> None:
    outcome = "accepted"
    try:
        act()
    except client.EngineRefused as error:
        outcome = f"refused: {error.message}"
        raise
    except client.EngineUnavailable as error:
        outcome = f"unknown: {error}"
        raise UpstreamUnavailable(
            "The engine does not respond. It may or may not have received the request."
        ) from error
    finally:
        record(user, action, "connector", name, {"reason": reason, "outcome": outcome})

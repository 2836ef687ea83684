"""Control of connectors and tasks. Every request is audited, whatever its result."""

from collections.abc import Callable
from typing import Any, Literal

from dlqadmin.audit.entries import record
from dlqadmin.connectors import client
from dlqadmin.connectors.connect_clusters import ConnectCluster
from dlqadmin.rest.problems import UpstreamUnavailable

Action = Literal["pause", "resume", "stop", "restart"]


def control(
    user: Any, cluster: ConnectCluster, connector: str, action: Action, reason: str, *, only_failed: bool = False
) -> None:
    """Pause, resume, stop or restart a connector, or restart only its failed parts.

    Raises EngineRefused, or UpstreamUnavailable if the cluster did not answer.
    """
    facts = {"only_failed": True} if only_failed else {}
    _run_audited(
        user,
        cluster,
        f"{action} connector",
        connector,
        {"reason": reason, **facts},
        lambda: client.control(cluster, connector, action, only_failed=only_failed),
    )


def restart_task(user: Any, cluster: ConnectCluster, connector: str, task: int, reason: str) -> None:
    """Restart one task. Raises EngineRefused, or UpstreamUnavailable if the cluster did not answer."""
    _run_audited(
        user,
        cluster,
        "restart task",
        f"{connector}-{task}",
        {"reason": reason},
        lambda: client.restart_task(cluster, connector, task),
    )


def _run_audited(
    user: Any, cluster: ConnectCluster, action: str, name: str, detail: dict[str, Any], act: Callable[[], None]
) -> None:
    outcome = "accepted"
    try:
        act()
    except client.EngineRefused as error:
        outcome = f"refused: {error.message}"
        raise
    except client.EngineUnavailable as error:
        outcome = f"unknown: {error}"
        raise UpstreamUnavailable(
            f"{cluster.title} does not respond. It may or may not have received the request."
        ) from error
    finally:
        record(user, action, "connector", name, {**detail, "cluster": cluster.name, "outcome": outcome})

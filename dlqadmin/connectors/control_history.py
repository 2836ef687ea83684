"""The requests of people to control or change connectors, from the audit trail."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db.models import Max

from dlqadmin.audit.models import AuditEntry
from dlqadmin.audit.sentences import sentence_of
from dlqadmin.connectors.connect_clusters import ENGINE, ConnectorKey

_STATES: dict[str, Literal["paused", "stopped", "running"]] = {
    "pause connector": "paused",
    "stop connector": "stopped",
    "resume connector": "running",
}


@dataclass(frozen=True, slots=True)
class ControlRequest:
    """A request that the cluster did not refuse, and the state that it asked for."""

    state: Literal["paused", "stopped", "running"]
    actor: str
    at: datetime
    reason: str


def newest_requests(connectors: Collection[ConnectorKey]) -> dict[ConnectorKey, ControlRequest]:
    """Return the newest request for each of these connectors.

    Requests that did not go through the dashboard are unknown. Entries without a cluster are older than clusters
    besides the engine.
    """
    if not connectors:
        return {}
    names = {key.name for key in connectors}
    entries = AuditEntry.objects.filter(object_type="connector", object_id__in=names, action__in=_STATES)
    heard = entries.exclude(detail__outcome__startswith="refused").order_by()
    newest = heard.values("object_id", "detail__cluster").annotate(newest=Max("pk")).values_list("newest", flat=True)
    return {
        ConnectorKey(str(row.detail.get("cluster") or ENGINE), row.object_id): ControlRequest(
            _STATES[row.action], row.actor, row.at, str(row.detail.get("reason") or "")
        )
        for row in AuditEntry.objects.filter(pk__in=list(newest)).order_by("pk")
    }


CONFIGURATION = ("create connector", "change connector", "delete connector")
RESTARTS = ("restart connector", "restart task")


@dataclass(frozen=True, slots=True)
class ConnectorRequest:
    """A request to control or change a connector that the cluster did not refuse, for charts.

    `options` are the names of the changed options, without their values.
    """

    entry: int
    kind: Literal["configuration", "control", "restart"]
    connector: str
    title: str
    actor: str
    at: datetime
    options: tuple[str, ...]


def changes_between(start: datetime, end: datetime, limit: int) -> list[ConnectorRequest]:
    """Return the newest of these requests in [start, end), newest first."""
    actions = (*_STATES, *CONFIGURATION, *RESTARTS)
    entries = AuditEntry.objects.filter(object_type="connector", action__in=actions, at__gte=start, at__lt=end)
    heard = entries.exclude(detail__outcome__startswith="refused").order_by("-at", "-id")
    return [_change(row) for row in heard[:limit]]


def _change(entry: AuditEntry) -> ConnectorRequest:
    is_task = entry.action == "restart task"
    connector = entry.object_id.rpartition("-")[0] if is_task else entry.object_id
    changed = entry.detail.get("changed")
    return ConnectorRequest(
        entry=entry.pk,
        kind="configuration" if entry.action in CONFIGURATION else "restart" if entry.action in RESTARTS else "control",
        connector=connector,
        title=sentence_of(entry, {"cluster": entry.detail.get("cluster")}),
        actor=entry.actor,
        at=entry.at,
        options=tuple(sorted(map(str, changed))) if isinstance(changed, dict) else (),
    )

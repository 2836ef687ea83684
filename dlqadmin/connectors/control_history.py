"""The newest request of a person to pause, stop or resume a connector, from the audit trail."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db.models import Max

from dlqadmin.audit.models import AuditEntry
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

"""Changes of connectors since their records failed, as far as the audit trail knows them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import msgspec

from dlqadmin.audit.models import AuditEntry

# A pause or a stop changes nothing about a record. A resume or a restart often follows a repair.
_NO_CHANGE = ("pause connector", "stop connector")


class ConnectorChange(msgspec.Struct, frozen=True):
    """The latest action of a person on a connector."""

    connector: str
    action: str
    actor: str
    at: datetime


def latest_since(connectors: Collection[str], since: datetime | None) -> ConnectorChange | None:
    """Return the latest change of one of these connectors after `since`, or None if none is known."""
    if not connectors or since is None:
        return None
    entries = AuditEntry.objects.filter(object_type="connector", object_id__in=connectors, at__gt=since)
    known = entries.exclude(action__in=_NO_CHANGE).exclude(detail__outcome__startswith="refused")
    found = known.order_by("-pk").first()
    return None if found is None else ConnectorChange(found.object_id, found.action, found.actor, found.at)

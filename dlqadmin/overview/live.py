"""The state that every screen follows: the health of all parts, and a version of the data behind the figures."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec
from django.conf import settings
from django.db.models import Max
from django.utils import timezone

from dlqadmin.audit.models import AuditEntry
from dlqadmin.connectors.cluster_responses import ClusterResponse
from dlqadmin.deadletters.models import DeadLetter, GroupActivity, WorkChange
from dlqadmin.metrics import queries as metrics
from dlqadmin.overview.documents import LiveState
from dlqadmin.overview.facts import gather
from dlqadmin.overview.health import health
from dlqadmin.replays.models import Replay, ReplayEvent

TABLES = (DeadLetter, GroupActivity, WorkChange, ReplayEvent, AuditEntry)


def live_state() -> LiveState:
    """Return the health, and the version of the data."""
    found = gather(timezone.now())
    return LiveState(health=health(found), version=data_version(found.connect))


def data_version(connect: Sequence[ClusterResponse]) -> str:
    """Return a hash that changes with dead letters, groups, replays, connector states and record counts.

    Screens read their figures again only after a change. The newest ids are those of all teams: the newest one of a
    team has no index. A key keeps people from guessing these ids.
    """
    newest = [table._base_manager.aggregate(newest=Max("pk"))["newest"] for table in TABLES]
    replays = Replay._base_manager.aggregate(at=Max("heartbeat"), done=Max("done_at"))
    balance = metrics.balance()
    balance.as_of = None  # the time of the last report moves without a new record
    parts = (newest, list(replays.values()), [_states(response) for response in connect], balance)
    key = hashlib.blake2b(settings.SECRET_KEY.encode(), digest_size=32, person=b"dlqadmin-version").digest()
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=8, key=key).hexdigest()


def _states(response: ClusterResponse) -> list[object]:
    """Return the states of a cluster's connectors and tasks."""
    found: list[object] = [response.cluster, response.reachable]
    for name, row in sorted(response.body.items()):
        status = row.get("status", {})
        holders = [status.get("connector"), *(status.get("tasks") or [])]
        found.append((name, [holder.get("state") for holder in holders if isinstance(holder, dict)]))
    return found

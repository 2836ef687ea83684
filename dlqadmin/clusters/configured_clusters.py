"""Add, change and remove the clusters that administrators configure."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from dlqadmin.audit.entries import record
from dlqadmin.broker import cluster_settings
from dlqadmin.broker.cluster_settings import FIELDS, ClusterSettings
from dlqadmin.broker.models import ConfiguredCluster
from dlqadmin.replays.models import Replay, ReplayStatus
from dlqadmin.replays.sending.sender import unsettled
from dlqadmin.rest.problems import StateConflict

AUDITED = (
    *FIELDS, "secret", "dead_letter_topics", "is_read_only", "is_enabled", "environment", "colour",
)  # fmt: skip
MOST_NAMES = 3


def wanted_settings(name: str, given: dict[str, Any]) -> ClusterSettings:
    """Return the settings that a request wants for a cluster, which need not exist yet.

    Raises ValidationError by field, or StateConflict if the environment sets the cluster.
    """
    _refuse_fixed(name)
    wanted = cluster_settings.of_row(_row(name, given))
    errors: dict[str, list[str]] = {}
    for field, text in cluster_settings.problems(wanted):
        errors.setdefault(field, []).append(text)
    if errors:
        raise ValidationError(errors)
    return wanted


def change(user: Any, name: str, given: dict[str, Any]) -> None:
    """Add a cluster, or replace its settings. Nothing is sent to it yet.

    Raises ValidationError by field. Raises StateConflict if the environment sets the cluster, or if replays use a
    cluster that is to be disabled.
    """
    wanted_settings(name, given)
    row = _row(name, given)
    with transaction.atomic():
        before = ConfiguredCluster.objects.select_for_update().filter(name=name).first()
        if before is not None:
            if before.is_enabled and not row.is_enabled:
                _refuse_busy(name, "disabled")
            row.pk = before.pk
        row.actor, row.at = user.get_username(), timezone.now()
        row.save()
        detail = {"before": None if before is None else _plain(before), "after": _plain(row)}
        record(user, "change cluster" if before else "add cluster", "cluster", name, detail)
    cluster_settings.forget()


def remove(user: Any, name: str) -> bool:
    """Remove the settings of a cluster. Return whether there was one. Its dead letters stay in the index.

    Raises StateConflict if the environment sets the cluster, or if replays use it.
    """
    _refuse_fixed(name)
    with transaction.atomic():
        row = ConfiguredCluster.objects.select_for_update().filter(name=name).first()
        if row is None:
            return False
        _refuse_busy(name, "removed")
        record(user, "remove cluster", "cluster", name, {"before": _plain(row)})
        row.delete()
    cluster_settings.forget()
    return True


def _row(name: str, given: dict[str, Any]) -> ConfiguredCluster:
    return ConfiguredCluster(name=name, **{**given, "environment": given["environment"].upper()})


def _refuse_fixed(name: str) -> None:
    if name == settings.CLUSTER:
        raise StateConflict(f"KAFKA_BOOTSTRAP_SERVERS sets the cluster {name}. Change it there.")
    if name in settings.OTHER_CLUSTERS:
        raise StateConflict(f"OTHER_CLUSTERS sets the cluster {name}. Change it there.")


def _refuse_busy(name: str, done: str) -> None:
    """Refuse if a replay from or to this cluster is paused, or needs a sender that settles its transactions."""
    here = Replay.objects.filter(Q(source_cluster=name) | Q(target_cluster=name))
    busy = unsettled(here).values("pk").union(here.filter(status=ReplayStatus.PAUSED).values("pk"))
    found = [f"R-{row['pk']}" for row in busy.order_by("pk")]
    if found:
        more = f" and {len(found) - MOST_NAMES} more" if len(found) > MOST_NAMES else ""
        listed = ", ".join(found[:MOST_NAMES]) + more
        raise StateConflict(f"{name} can't be {done} while replays use it: end or cancel {listed} first.")


def _plain(row: ConfiguredCluster) -> dict[str, Any]:
    return {field: getattr(row, field) for field in AUDITED}

"""The entries of the audit trail that the present request may reach."""

from __future__ import annotations

import re
from typing import Any

from django.apps import apps
from django.db.models import CharField, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat, StrIndex, Substr

from dlqadmin.teams.reach import Reach, of_sender, remembered

TASK = re.compile(r"-\d+$", re.ASCII)  # behind a connector's name, in the name of its task
# Types of objects that are rows, with their model and the letter before the id in the object's name.
NUMBERED = {
    "replay": ("replays", "Replay", "R-"),
    "selection": ("replays", "Selection", "S-"),
    "bulk fix": ("replays", "BulkFix", "B-"),
    "export": ("exports", "Export", "E-"),
}
_RECORD = "dead letter"  # named `topic / partition / offset`


def entries_in_reach(reach: Reach) -> Q:
    """Return the condition of the sender's own entries, and of entries about an object in reach."""
    found = of_sender("user") | Q(object_type=_RECORD, pk__in=_of_records(reach))
    for kind, (app, model, letter) in NUMBERED.items():
        found |= Q(object_type=kind, object_id__in=_names(apps.get_model(app, model), letter))
    found |= Q(object_type="group", object_id__in=_names(apps.get_model("deadletters", "Group"), ""))
    for (kind, cluster), names in remembered("audited names", _audited_names).items():
        found |= Q(object_type=kind, object_id__in=names, **_cluster(cluster))
    return found


def _names(model: Any, letter: str) -> Any:
    """Return the names of the model's rows in reach, as entries have them."""
    number = Cast("pk", CharField())
    name = Concat(Value(letter), number, output_field=CharField()) if letter else number
    return model.objects.order_by().annotate(audit_name=name).values("audit_name")


def _of_records(reach: Reach) -> Any:
    """Return the ids of entries about dead letters of topics in reach."""
    topic = Substr("object_id", 1, StrIndex("object_id", Value(" / ")) - 1)
    rows = _entries().filter(object_type=_RECORD, object_id__contains=" / ").annotate(topic=topic)
    return rows.filter(topic__in=remembered("audited topics", _topics)).values("pk")


def _topics(reach: Reach) -> list[str]:
    """Return the topics of which all dead letters are in reach."""
    sources = apps.get_model("deadletters", "FingerprintSource")._base_manager.order_by()
    known: dict[str, bool] = {}
    for topic, connector, cluster in sources.values_list("topic", "connector", "cluster").distinct():
        known[topic] = known.get(topic, True) and reach.has_source(topic, connector, cluster)
    return [topic for topic, whole in known.items() if whole]


def _audited_names(reach: Reach) -> dict[tuple[str, str | None], list[str]]:
    """Return the names of topics and connectors in reach that have entries, by type and cluster."""
    rows = _entries().filter(object_type__in=("topic", "connector"))
    found: dict[tuple[str, str | None], list[str]] = {}
    for kind, name, cluster in rows.values_list("object_type", "object_id", "detail__cluster").distinct():
        has = reach.has_topic if kind == "topic" else reach.has_connector
        at = cluster if isinstance(cluster, str) else ""
        if has(name, at) or (kind == "connector" and TASK.search(name) and has(TASK.sub("", name), at)):
            found.setdefault((kind, at or None), []).append(name)
    return found


def _cluster(cluster: str | None) -> dict[str, Any]:
    """Return the condition of entries that name this cluster; of older entries, which name none."""
    return {"detail__cluster__isnull": True} if cluster is None else {"detail__cluster": cluster}


def _entries() -> QuerySet[Any]:
    return apps.get_model("audit", "AuditEntry")._base_manager.order_by()

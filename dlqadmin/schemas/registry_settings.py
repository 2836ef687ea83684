"""List, change, remove and test the registries of clusters."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from dlqadmin.audit.entries import record
from dlqadmin.broker import clusters
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso
from dlqadmin.schemas import registries
from dlqadmin.schemas.documents import RegistryDocument, RegistryList, RegistryTestAnswer
from dlqadmin.schemas.models import ConfiguredRegistry
from dlqadmin.schemas.registries import FIELDS, RegistrySettings, UnusableRegistry
from engine.schemas.problems import RegistryUnavailable, SchemaNotFound


def listing() -> RegistryList:
    """Return every registry, and what a new one may refer to."""
    rows = {row.cluster: row for row in ConfiguredRegistry.objects.all()}
    return RegistryList(
        results=[_document(one, None if one.is_fixed else rows.get(one.cluster)) for one in registries.all_settings()],
        clusters=cluster_names(),
        secrets=sorted(settings.SCHEMA_REGISTRY_SECRETS),
    )


def cluster_names() -> list[str]:
    """Return the names of all clusters, the own one first."""
    return [settings.CLUSTER, *clusters.names()]


def change(user: Any, cluster: str, given: dict[str, Any]) -> None:
    """Set the registry of a cluster. Raises ValidationError, or StateConflict if the environment sets it."""
    _refuse_fixed(cluster)
    wanted = RegistrySettings(cluster=cluster, **given)
    if problem := next(registries.problems(wanted), None):
        field, _, reason = problem.partition(" ")
        raise ValidationError({field if field in FIELDS else "url": [reason if field in FIELDS else problem]})
    with transaction.atomic():
        before = ConfiguredRegistry.objects.select_for_update().filter(cluster=cluster).first()
        detail = {"before": None if before is None else _plain(before), "after": given}
        ConfiguredRegistry.objects.update_or_create(
            cluster=cluster, defaults={**given, "actor": user.get_username(), "at": timezone.now()}
        )
        record(user, "change schema registry", "schema registry", cluster, detail)


def remove(user: Any, cluster: str) -> bool:
    """Remove the registry of a cluster. Return whether there was one.

    Raises StateConflict if the environment sets it.
    """
    _refuse_fixed(cluster)
    with transaction.atomic():
        row = ConfiguredRegistry.objects.select_for_update().filter(cluster=cluster).first()
        if row is None:
            return False
        record(user, "remove schema registry", "schema registry", cluster, {"before": _plain(row)})
        row.delete()
    return True


def test(given: RegistrySettings) -> RegistryTestAnswer:
    """Ask the registry for its subjects. It takes at most a few seconds, and changes nothing."""
    began = time.monotonic()
    try:
        subjects = registries.client(given).list_subjects()
    except (UnusableRegistry, RegistryUnavailable, SchemaNotFound) as error:
        text = str(error)
        answer = RegistryTestAnswer(reached=False, verdict=f"{text[0].upper()}{text[1:]}.", subjects=0, took_ms=0)
    else:
        verdict = f"The registry answered; {counted(len(subjects), 'subject')} visible."
        answer = RegistryTestAnswer(reached=True, verdict=verdict, subjects=len(subjects), took_ms=0)
    answer.took_ms = round((time.monotonic() - began) * 1000)
    return answer


def _refuse_fixed(cluster: str) -> None:
    found = registries.settings_of(cluster)
    if found is not None and found.is_fixed:
        raise StateConflict(f"SCHEMA_REGISTRIES sets the registry of {cluster}. Change it there.")


def _document(one: RegistrySettings, row: ConfiguredRegistry | None) -> RegistryDocument:
    return RegistryDocument(
        cluster=one.cluster,
        **{field: getattr(one, field) for field in FIELDS},
        is_fixed=one.is_fixed,
        trouble=next(registries.problems(one), ""),
        by=row.actor if row else None,
        at=iso(row.at) if row else None,
    )


def _plain(row: ConfiguredRegistry) -> dict[str, str]:
    return {field: getattr(row, field) for field in FIELDS}

"""Events that charts show beside their figures: those that people report, and those that the dashboard knows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from dlqadmin.audit.entries import record
from dlqadmin.audit.permissions import is_administrator
from dlqadmin.connectors.control_history import ConnectorRequest, changes_between
from dlqadmin.metrics.models import Annotation
from dlqadmin.overview.documents import AnnotationDocument, AnnotationList
from dlqadmin.replays.models import Replay
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.text import storable
from dlqadmin.rest.times import iso, iso_or_none
from dlqadmin.teams.reach import current_reach

MOST = 200  # annotations in one response


def annotations_between(start: datetime, end: datetime, user: Any) -> AnnotationList:
    """Return the newest annotations that overlap [start, end), oldest first."""
    found = [*_reported(start, end, user), *_replays(start, end), *_changes(start, end)]
    found.sort(key=lambda row: (row.at, row.id))
    return AnnotationList(results=found[-MOST:], complete=len(found) <= MOST)


def create(fields: dict[str, Any], actor: User, once: RequestKey, now: datetime) -> Annotation:
    """Store an annotation of a person or a pipeline. Raises ParameterError if it is about nothing in reach."""
    texts = {name: storable(fields[name]) for name in ("title", "text", "topic", "connector", "source")}
    reach = current_reach()
    if not (
        reach.has_topic(texts["topic"], settings.CLUSTER) or reach.has_connector(texts["connector"], settings.CLUSTER)
    ):
        raise ParameterError("topic", "or connector must name something that your teams own")
    with transaction.atomic():
        made = Annotation.objects.create(
            at=fields["at"] or now,
            until=fields["until"],
            kind=fields["kind"],
            url=fields["url"],
            **texts,
            created_by=actor,
            created_at=now,
            idempotency_key=once.key,
            request_digest=once.digest,
        )
        record(actor, "created", "annotation", str(made.pk), {"text": made.title})
    return made


def delete(annotation: Annotation, actor: User) -> None:
    """Delete an annotation."""
    with transaction.atomic():
        record(actor, "deleted", "annotation", str(annotation.pk), {"text": annotation.title})
        annotation.delete()


def may_delete(annotation: Annotation, user: Any) -> bool:
    """Return whether a user is the author, or an administrator."""
    return annotation.created_by_id == user.pk or is_administrator(user)


def annotation_document(row: Annotation, user: Any) -> AnnotationDocument:
    """Return the document of a reported annotation, as this user sees it."""
    return AnnotationDocument(
        id=str(row.pk),
        kind="note" if row.kind == "note" else "deploy",
        at=iso(row.at),
        until=iso_or_none(row.until),
        title=row.title,
        text=row.text,
        url=row.url,
        topic=row.topic,
        connector=row.connector,
        actor=row.created_by.get_username() if row.created_by else "",
        source=row.source,
        replay=None,
        removable=may_delete(row, user),
    )


def _reported(start: datetime, end: datetime, user: Any) -> Iterator[AnnotationDocument]:
    rows = Annotation.objects.filter(at__lt=end).filter(Q(at__gte=start) | Q(until__gt=start))
    return (
        annotation_document(row, user) for row in rows.select_related("created_by").order_by("-at", "-id")[: MOST + 1]
    )


def _replays(start: datetime, end: datetime) -> Iterator[AnnotationDocument]:
    """Yield the replays that ran in [start, end): from their start until their last record was sent."""
    ran = Replay.objects.filter(started_at__lt=end).filter(
        Q(started_at__gte=start) | Q(sent_at__gt=start) | Q(done_at__gt=start)
    )
    for row in ran.select_related("started_by").defer("plan").order_by("-started_at", "-id")[: MOST + 1]:
        assert row.started_at is not None
        yield AnnotationDocument(
            id=f"replay-{row.pk}",
            kind="replay",
            at=iso(row.started_at),
            until=iso_or_none(row.sent_at),
            title=f"{row}: {row.title}" if row.title else str(row),
            text="",
            url="",
            topic=row.target_topic,
            connector="",
            actor=row.started_by.get_username() if row.started_by else "",
            source="dlqadmin",
            replay=row.pk,
            removable=False,
        )


def _changes(start: datetime, end: datetime) -> Iterator[AnnotationDocument]:
    return map(_change_document, changes_between(start, end, MOST + 1))


def _change_document(change: ConnectorRequest) -> AnnotationDocument:
    return AnnotationDocument(
        id=f"change-{change.entry}",
        kind=change.kind,
        at=iso(change.at),
        until=None,
        title=change.title,
        text=", ".join(change.options),
        url="",
        topic="",
        connector=change.connector,
        actor=change.actor,
        source="dlqadmin",
        replay=None,
        removable=False,
    )

"""Rehearsals over REST: asked for, done by a worker, looked at by who asked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.bodies import actor
from dlqadmin.replays.models import BulkFix, Rehearsal
from dlqadmin.replays.rehearsal_serializers import RehearsalBody, RehearsalDocument
from dlqadmin.replays.rehearsing import rehearsals
from dlqadmin.replays.rehearsing.tasks import enqueue
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import iso, iso_or_none

LOST = timedelta(seconds=90)
NOBODY = "No worker took it up, or it ended with its worker. Rehearse again."


class RehearsalList(APIView):
    """Rehearsals."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="rehearsals_create", request=RehearsalBody, responses={202: RehearsalDocument})
    def post(self, request: Request) -> Response:
        """Take records as they would be sent through their own connectors' stages, without effect."""
        form = RehearsalBody(data=request.data)
        form.is_valid(raise_exception=True)
        wanted = form.wanted()
        _check(wanted)
        made = rehearsals.create(actor(request), wanted, timezone.now())
        transaction.on_commit(lambda: enqueue(made.pk))
        return Response(_document(made), status=202)


class RehearsalRecord(APIView):
    """One rehearsal."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="rehearsals_retrieve", responses=RehearsalDocument)
    def get(self, request: Request, pk: int) -> Response:
        """What came of it, for who asked."""
        found = Rehearsal.objects.filter(pk=pk, author=actor(request)).first() if pk <= MAX_ID else None
        if found is None:
            raise Http404("You have no rehearsal with this id.")
        return Response(_document(found))


def _check(wanted: dict[str, Any]) -> None:
    """Raises ParameterError where it names what is not there."""
    if "bulk" in wanted:
        if not BulkFix.objects.filter(pk=wanted["bulk"]).exists():
            raise ParameterError("bulk", "names a bulk fix that is not there")
        return
    ids = wanted.get("dead_letters") or [wanted["source"]]
    if DeadLetter.objects.filter(pk__in=ids).count() < len(ids):
        name = "source" if "source" in wanted else "dead_letters"
        raise ParameterError(name, "names a record that is not there")


def _document(found: Rehearsal) -> dict[str, Any]:
    lost = found.done_at is None and timezone.now() - found.created_at > LOST
    return {
        "id": found.pk,
        "state": "done" if found.done_at else "lost" if lost else "waiting",
        "trouble": NOBODY if lost else found.trouble,
        "created_at": iso(found.created_at),
        "done_at": iso_or_none(found.done_at),
        "results": found.result,
    }

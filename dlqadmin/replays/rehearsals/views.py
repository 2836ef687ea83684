"""The API of rehearsals. Only the author of a rehearsal sees it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator, IsPayloadReader
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import PayloadReader, reader_of, release
from dlqadmin.deadletters.search.masked_rows import refuse_masked
from dlqadmin.replays.models import BulkFix, Fix, Rehearsal
from dlqadmin.replays.rehearsals import rehearsal_jobs
from dlqadmin.replays.rehearsals.documents import RehearsalDocument, RehearsedDocument
from dlqadmin.replays.rehearsals.requests import RehearsalBody
from dlqadmin.replays.rehearsals.tasks import enqueue
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.requests import actor
from dlqadmin.rest.times import iso, iso_or_none
from dlqadmin.teams.reach import current_reach

LOST = timedelta(seconds=90)
NOBODY = "No worker ran the rehearsal, or its worker stopped. Rehearse again."


class RehearsalList(APIView):
    """Rehearsals."""

    permission_classes = (IsOperator, IsPayloadReader)

    @extend_schema(operation_id="rehearsals_create", request=RehearsalBody, responses={202: RehearsalDocument})
    def post(self, request: Request) -> Response:
        """Run records, as they would be sent, through their connectors' stages without side effects."""
        form = RehearsalBody(data=request.data)
        form.is_valid(raise_exception=True)
        wanted = form.wanted()
        _check(wanted)
        refuse_masked(_rehearsed(wanted), reader_of(request.user), "rehearse them")
        made = rehearsal_jobs.create(actor(request), wanted, timezone.now())
        transaction.on_commit(lambda: enqueue(made.pk))
        return Response(_document(made, reader_of(request.user)), status=202)


class RehearsalRecord(APIView):
    """One rehearsal."""

    permission_classes = (IsOperator, IsPayloadReader)

    @extend_schema(operation_id="rehearsals_retrieve", responses=RehearsalDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Return a rehearsal to its author, with results if it is done."""
        found = Rehearsal.objects.filter(pk=pk, author=actor(request)).first() if pk <= MAX_ID else None
        if found is None or not _is_in_reach(found):
            raise Http404("You have no rehearsal with this id.")
        reader = reader_of(request.user)
        if found.done_at is not None:
            reader.note("rehearsal", str(found), {"what": "records after each stage"}, records=len(found.result))
        return Response(_document(found, reader))


def _is_in_reach(found: Rehearsal) -> bool:
    """Return whether its records are still in reach. A person may have lost a role since."""
    if not current_reach().is_limited:
        return True
    try:
        _check(found.wanted)
    except ParameterError:
        return False
    return True


def _check(wanted: dict[str, Any]) -> None:
    """Check that the named records exist. Raises ParameterError."""
    if "bulk" in wanted:
        if not BulkFix.objects.filter(pk=wanted["bulk"]).exists():
            raise ParameterError("bulk", "names a bulk fix that does not exist")
        return
    ids = wanted.get("dead_letters") or [wanted["source"]]
    if DeadLetter.objects.filter(pk__in=ids).count() < len(ids):
        name = "source" if "source" in wanted else "dead_letters"
        raise ParameterError(name, "names a record that does not exist")


def _rehearsed(wanted: dict[str, Any]) -> QuerySet[DeadLetter]:
    if "bulk" in wanted:
        return DeadLetter.objects.filter(pk__in=Fix.objects.filter(bulk=wanted["bulk"]).values("dead_letter"))
    return DeadLetter.objects.filter(pk__in=wanted.get("dead_letters") or [wanted["source"]])


def _document(found: Rehearsal, reader: PayloadReader) -> RehearsalDocument:
    lost = found.done_at is None and timezone.now() - found.created_at > LOST
    return RehearsalDocument(
        id=found.pk,
        state="done" if found.done_at else "lost" if lost else "waiting",
        trouble=NOBODY if lost else found.trouble,
        created_at=iso(found.created_at),
        done_at=iso_or_none(found.done_at),
        # As they were stored: those of older versions may lack fields.
        results=cast("list[RehearsedDocument]", _released(found.result, reader)),
    )


def _released(results: list[Any], reader: PayloadReader) -> list[Any]:
    """Return the results of the records that the reader may read now."""
    if reader.reads_everything:
        return results
    rows = DeadLetter.objects.in_bulk([one["dead_letter"]["id"] for one in results if "dead_letter" in one])
    of_rows = ((one, rows.get(one.get("dead_letter", {}).get("id"))) for one in results)
    return [one for one, row in of_rows if row is not None and release(one, reader.of(row)) is not None]

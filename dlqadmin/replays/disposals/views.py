"""The API to discard, park and restore dead letters. None of this changes Kafka."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import IntegrityError
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator
from dlqadmin.replays.disposals import disposal_jobs
from dlqadmin.replays.disposals.documents import DisposalActDocument, act_document
from dlqadmin.replays.disposals.requests import ASKED, DisposalBody, RestoreBody
from dlqadmin.replays.disposals.tasks import enqueue_disposal, run_now
from dlqadmin.replays.models import DisposalAct, Selection
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import IDEMPOTENCY, RequestKey, made_by, once
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.problems import ParameterError, StateConflict
from dlqadmin.rest.requests import actor, checked

ANSWERS = {200: DisposalActDocument, 201: DisposalActDocument, 202: DisposalActDocument}


class DisposalList(APIView):
    """Decisions not to replay records."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="disposals_create", parameters=[IDEMPOTENCY], request=DisposalBody, responses=ANSWERS)
    def post(self, request: Request) -> Response:
        """Discard or park the records of a selection, or mark them as handled elsewhere.

        No replay sends them until they are restored. Records with an earlier decision keep it. Status 202 means that a
        worker continues the work. The same Idempotency-Key returns the same act.
        """

        def dispose(body: dict[str, Any], chosen: Selection, asked: RequestKey) -> DisposalAct:
            _refuse_drifted(chosen)
            found, kind = frozen_selections.rows(chosen), ASKED[body["kind"]]
            return disposal_jobs.dispose(chosen, kind, body["reason"], actor(request), asked, timezone.now(), found)

        return _once(request, DisposalBody, dispose)


class DisposalRestore(APIView):
    """Withdrawal of decisions not to replay records."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="disposals_restore", parameters=[IDEMPOTENCY], request=RestoreBody, responses=ANSWERS)
    def post(self, request: Request) -> Response:
        """Restore the records of a selection, so that they can be replayed again.

        Decisions of all people are withdrawn. Status 202 means that a worker continues the work. The same
        Idempotency-Key returns the same act.
        """

        def restore(body: dict[str, Any], chosen: Selection, asked: RequestKey) -> DisposalAct:
            _refuse_drifted(chosen)
            return disposal_jobs.restore(chosen, body["reason"], actor(request), asked, timezone.now())

        return _once(request, RestoreBody, restore)


class DisposalRecord(APIView):
    """One decision."""

    @extend_schema(operation_id="disposals_retrieve", responses=DisposalActDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Return a decision and its progress."""
        return Response(act_document(_act(pk)))


class DisposalUndo(APIView):
    """Undo of one decision."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="disposals_undo", request=None, responses=ANSWERS)
    def post(self, request: Request, pk: int) -> Response:
        """Restore only the records that this act disposed of. Repeated calls return the same undo."""
        return _begun(disposal_jobs.undo(_act(pk), actor(request), timezone.now()))


def _once(
    request: Request,
    form: type[RestoreBody],
    act: Callable[[dict[str, Any], Selection, RequestKey], DisposalAct],
) -> Response:
    """Return the act of an earlier request with the same key, or act."""
    asked = once(request)
    if known := made_by(DisposalAct, asked):
        return Response(act_document(_act(known.pk)))
    body = checked(form, request)
    chosen = Selection.objects.filter(pk=body["selection"]).first()
    if chosen is None:
        raise ParameterError("selection", "does not exist")
    try:
        made = act(body, chosen, asked)
    except IntegrityError:
        if known := made_by(DisposalAct, asked):  # two equal requests at the same time
            return Response(act_document(_act(known.pk)))
        raise
    return _begun(made)


def _refuse_drifted(chosen: Selection) -> None:
    if frozen_selections.drifted(chosen):
        raise StateConflict("The selection no longer matches the records that were chosen. Choose them again.")


def _begun(act: DisposalAct) -> Response:
    """Apply the act at once, or let a worker apply it if it is large."""
    if act.selection.count > disposal_jobs.INLINE or run_now(act.pk, act.heartbeat):
        enqueue_disposal(act.pk)
    done = _act(act.pk)
    return Response(act_document(done), status=202 if done.done_at is None else 201)


def _act(pk: int) -> DisposalAct:
    found = DisposalAct.objects.select_related("selection", "actor").filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no disposal with this id.")
    return found

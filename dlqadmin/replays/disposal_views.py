"""Discarding, parking and restoring dead letters over REST; none of it touches Kafka."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import IntegrityError
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator
from dlqadmin.replays import tasks
from dlqadmin.replays.bodies import WhyBody, actor, checked
from dlqadmin.replays.disposing import acting
from dlqadmin.replays.disposing.documents import ASKED, DisposalActDocument, act_document
from dlqadmin.replays.models import DisposalAct, Selection
from dlqadmin.replays.planning import selecting
from dlqadmin.rest.idempotency import IDEMPOTENCY, Once, made_by, once
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.problems import Conflict, ParameterError

ANSWERS = {200: DisposalActDocument, 201: DisposalActDocument, 202: DisposalActDocument}


class RestoreBody(WhyBody):
    """Which selection, and why."""

    selection = serializers.IntegerField(min_value=1, max_value=MAX_ID)


class DisposalBody(RestoreBody):
    """Which selection, what was decided about it, and why."""

    kind = serializers.ChoiceField(list(ASKED))


class DisposalList(APIView):
    """Decisions that records are not replayed."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="disposals_create", parameters=[IDEMPOTENCY], request=DisposalBody, responses=ANSWERS)
    def post(self, request: Request) -> Response:
        """Discard or park the records of a selection, or say that they were handled elsewhere.

        No replay sends them until they are restored. Records that were decided about before stay as they are. 202: a
        worker goes on with it. The same Idempotency-Key answers the same act.
        """

        def dispose(body: dict[str, Any], chosen: Selection, asked: Once) -> DisposalAct:
            _refuse_drifted(chosen)
            found, kind = selecting.rows(chosen), ASKED[body["kind"]]
            return acting.dispose(chosen, kind, body["reason"], actor(request), asked, timezone.now(), found)

        return _once(request, DisposalBody, dispose)


class DisposalRestore(APIView):
    """Taking such decisions back."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="disposals_restore", parameters=[IDEMPOTENCY], request=RestoreBody, responses=ANSWERS)
    def post(self, request: Request) -> Response:
        """Restore the records of a selection, whoever decided about them: they can be replayed again.

        202: a worker goes on with it. The same Idempotency-Key answers the same act.
        """

        def restore(body: dict[str, Any], chosen: Selection, asked: Once) -> DisposalAct:
            _refuse_drifted(chosen)
            return acting.restore(chosen, body["reason"], actor(request), asked, timezone.now())

        return _once(request, RestoreBody, restore)


class DisposalRecord(APIView):
    """One decision."""

    @extend_schema(operation_id="disposals_retrieve", responses=DisposalActDocument)
    def get(self, request: Request, pk: int) -> Response:
        """What was decided, and how far it is carried out."""
        return Response(act_document(_act(pk)))


class DisposalUndo(APIView):
    """Undo of one decision."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="disposals_undo", request=None, responses=ANSWERS)
    def post(self, request: Request, pk: int) -> Response:
        """Restore what this act disposed of, and nothing else. Doing it twice does it once."""
        return _begun(acting.undo(_act(pk), actor(request), timezone.now()))


def _once(
    request: Request,
    form: type[RestoreBody],
    act: Callable[[dict[str, Any], Selection, Once], DisposalAct],
) -> Response:
    """Answer what an earlier request with the same key made, else act."""
    asked = once(request)
    if known := made_by(DisposalAct, asked):
        return Response(act_document(_act(known.pk)))
    body = checked(form, request)
    chosen = Selection.objects.filter(pk=body["selection"]).first()
    if chosen is None:
        raise ParameterError("selection", "is not there")
    try:
        made = act(body, chosen, asked)
    except IntegrityError:
        if known := made_by(DisposalAct, asked):  # the same request, twice at once
            return Response(act_document(_act(known.pk)))
        raise
    return _begun(made)


def _refuse_drifted(chosen: Selection) -> None:
    if selecting.drifted(chosen):
        raise Conflict("These are other records by now than when they were chosen; choose them again.")


def _begun(act: DisposalAct) -> Response:
    """Do it while the caller waits, or where it is much, let a worker do it."""
    if act.selection.count > acting.INLINE:
        tasks.enqueue_disposal(act.pk)
    else:
        acting.go_on(act.pk, selecting.rows, timezone.now)
    done = _act(act.pk)
    return Response(act_document(done), status=202 if done.done_at is None else 201)


def _act(pk: int) -> DisposalAct:
    found = DisposalAct.objects.select_related("selection", "actor").filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no disposal with this id.")
    return found

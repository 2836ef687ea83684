"""Fixes, selections and replays over REST."""

from __future__ import annotations

from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user
from django.db import IntegrityError, connection
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.authtoken.models import Token
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator, IsViewer, role_of
from dlqadmin.deadletters.views import PAGING, AnyFormat, find
from dlqadmin.replays import history, queries, streaming
from dlqadmin.replays.bodies import ReplayBody, SelectionBody, actor, checked, replay_of
from dlqadmin.replays.documents import selection_document
from dlqadmin.replays.item_serializers import ItemPage, WayDocument
from dlqadmin.replays.models import ItemState, Replay, ReplayStatus, Selection
from dlqadmin.replays.planning import plans, selecting, tasks
from dlqadmin.replays.serializers import (
    LogDocument,
    ReplayDocument,
    ReplayPage,
    SelectionDetail,
    SelectionDocument,
    SentAndSettled,
)
from dlqadmin.rest.idempotency import IDEMPOTENCY, made_by, once
from dlqadmin.rest.pagination import MAX_ID, parse_limit
from dlqadmin.rest.problems import ParameterError


class ReadOrOperate(APIView):
    """Viewers read; writes need an operator."""

    def get_permissions(self) -> list[Any]:
        return [IsViewer()] if self.request.method in ("GET", "HEAD", "OPTIONS") else [IsOperator()]


class SelectionList(APIView):
    """Frozen selections."""

    permission_classes = (IsOperator,)

    @extend_schema(
        operation_id="selections_create",
        parameters=[IDEMPOTENCY],
        request=SelectionBody,
        responses={200: SelectionDocument, 201: SelectionDocument},
    )
    def post(self, request: Request) -> Response:
        """Freeze ticked records, or all that a filter matches; the same Idempotency-Key answers the same selection."""
        asked, who, now = once(request), actor(request), timezone.now()
        if known := made_by(Selection, asked):
            return Response(selection_document(known))
        body = checked(SelectionBody, request)
        try:
            if "ids" in body:
                made = selecting.by_ids(body["ids"], who, asked, now)
            else:
                made = selecting.by_filter(body["filter"], who, asked, now)
        except IntegrityError:
            if known := made_by(Selection, asked):  # the same request, twice at once
                return Response(selection_document(known))
            raise
        return Response(selection_document(made), status=201)


class SelectionRecord(APIView):
    """One selection."""

    @extend_schema(operation_id="selections_retrieve", responses=SelectionDetail)
    def get(self, request: Request, pk: int) -> Response:
        """What was frozen, and whether its filter names other records by now."""
        found = _selection(pk)
        return Response({**selection_document(found), "drifted": selecting.drifted(found)})


class ReplayList(ReadOrOperate):
    """Replays."""

    @extend_schema(
        operation_id="replays_list",
        parameters=[*PAGING, OpenApiParameter("status", str, enum=list(ReplayStatus.values))],
        responses=ReplayPage,
    )
    def get(self, request: Request) -> Response:
        """Replays, newest first, without their plans."""
        params = request.query_params
        status = params.get("status")
        if status and status not in ReplayStatus.values:
            raise ParameterError("status", f"must be one of {', '.join(ReplayStatus.values)}")
        rows, following = queries.page(status, params.get("cursor"), parse_limit(params.get("limit"), default=50))
        return Response({"results": rows, "next": following})

    @extend_schema(
        operation_id="replays_create",
        parameters=[IDEMPOTENCY],
        request=ReplayBody,
        responses={200: ReplayDocument, 201: ReplayDocument},
    )
    def post(self, request: Request) -> Response:
        """Plan a replay; nothing is written to Kafka. The same Idempotency-Key answers the same replay.

        A large selection is planned by a task: the answer has the status `planning`.
        """
        asked, who, now = once(request), actor(request), timezone.now()
        if known := made_by(Replay, asked):
            return _answer(known)
        form = ReplayBody(data=request.data)
        form.is_valid(raise_exception=True)
        body = form.validated_data
        chosen = Selection.objects.filter(pk=body["selection"]).first()
        if chosen is None:
            raise ParameterError("selection", "is not there")
        try:
            made = plans.create(chosen, form.options(), body["title"], who, asked, now)
        except IntegrityError:
            if known := made_by(Replay, asked):  # the same request, twice at once
                return _answer(known)
            raise
        if made.status == ReplayStatus.PLANNING:
            tasks.enqueue(made.pk, who.pk)
        return _answer(made, status=201)


class ReplayRecord(APIView):
    """One replay."""

    @extend_schema(operation_id="replays_retrieve", responses=ReplayDocument)
    def get(self, request: Request, pk: int) -> Response:
        """The replay with its plan and its counts."""
        return _answer(replay_of(pk))


class ReplayItems(APIView):
    """A replay's items."""

    @extend_schema(
        operation_id="replays_items",
        parameters=[
            *PAGING,
            OpenApiParameter(
                "state", {"type": "array", "items": {"type": "string", "enum": ItemState.values}}, explode=True
            ),
            OpenApiParameter("order", str, enum=list(queries.ORDERS)),
        ],
        responses=ItemPage,
    )
    def get(self, request: Request, pk: int) -> Response:
        """Items: what needs a look first, the newest first, or as they are sent."""
        params = request.query_params
        states = [state for state in params.getlist("state") if state]
        order = params.get("order") or "ordinal"
        if set(states) - set(ItemState.values):
            raise ParameterError("state", f"must be one of {', '.join(ItemState.values)}")
        if order not in queries.ORDERS:
            raise ParameterError("order", f"must be one of {', '.join(queries.ORDERS)}")
        limit = parse_limit(params.get("limit"))
        rows, following, total = queries.items(replay_of(pk), states, order, params.get("cursor"), limit)
        return Response({"results": rows, "next": following, "total": total})


class ReplayLog(APIView):
    """A replay's log."""

    @extend_schema(operation_id="replays_log", responses=LogDocument)
    def get(self, request: Request, pk: int) -> Response:
        """What happened to the replay as a whole, newest first."""
        return Response({"results": queries.log(replay_of(pk))})


class ReplaySeries(APIView):
    """A replay over time."""

    @extend_schema(operation_id="replays_series", responses=SentAndSettled)
    def get(self, request: Request, pk: int) -> Response:
        """How many were sent and had settled by then, cumulative."""
        return Response(queries.series(replay_of(pk), timezone.now()))


class ReplayEvents(APIView):
    """A replay, live."""

    content_negotiation_class = AnyFormat

    @extend_schema(
        operation_id="replays_events",
        responses={(200, "text/event-stream"): OpenApiResponse(OpenApiTypes.STR, "Events named `replay`.")},
    )
    def get(self, request: Request, pk: int) -> StreamingHttpResponse:
        """The replay without its plan as server-sent events, whenever it changed."""
        replay_of(pk)
        _let_go()
        return StreamingHttpResponse(
            streaming.events(partial(sync_to_async(look, thread_sensitive=False), request, pk)),
            content_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )


class DeadLetterReplays(APIView):
    """What replays did with a dead letter."""

    @extend_schema(operation_id="dead_letters_replays", responses=WayDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Its items, and the timeline of the record it is of."""
        return Response(history.way(find(pk)))


def look(request: Request, pk: int) -> dict[str, Any] | None:
    """The replay for one who listens; None when there is none, or the person may not read any more.

    Keeps no connection until the next look.
    """
    try:
        return _shared(pk) if _may_still_read(request) else None
    finally:
        _let_go()


def _let_go() -> None:
    """Give the connection back: a stream lives for minutes, and a database has few."""
    if not connection.in_atomic_block:
        connection.close()


def _document(pk: int) -> dict[str, Any] | None:
    found = queries.find(pk)
    return None if found is None else queries.documents([found])[0]


_shared = streaming.Shared(_document)


def _may_still_read(request: Request) -> bool:
    """Is whoever asked still signed in, with a role? Asked anew, past what the request remembers."""
    if isinstance(request.auth, Token):
        kept = Token.objects.select_related("user").filter(pk=request.auth.pk).first()
        return kept is not None and role_of(kept.user) is not None
    again = HttpRequest()
    again.session = type(request.session)(request.session.session_key)
    return role_of(get_user(again)) is not None


def _answer(replay: Replay, status: int = 200) -> Response:
    return Response(queries.documents([replay_of(replay.pk)], plan=True)[0], status=status)


def _selection(pk: int) -> Selection:
    found = Selection.objects.select_related("created_by").filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no selection with this id.")
    return found

"""The API of replays: list, plan, items, log, chart and live events."""

from __future__ import annotations

from uuid import UUID

from django.db import IntegrityError
from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.accounts.event_responses import stream
from dlqadmin.audit.permissions import IsViewerOrWritingOperator
from dlqadmin.broker import clusters
from dlqadmin.deadletters.payloads import reader_of
from dlqadmin.deadletters.records.views import find, note_read
from dlqadmin.deadletters.search.list_views import PAGING
from dlqadmin.replays import lookup
from dlqadmin.replays.jobs import controls, history, queries
from dlqadmin.replays.jobs.documents import LogDocument, ReplayDocument, ReplayPage, ReplaySummary, SentAndSettled
from dlqadmin.replays.jobs.item_documents import ItemPage, WayDocument
from dlqadmin.replays.lookup import replay_of
from dlqadmin.replays.models import ItemState, Replay, ReplayStatus, Selection
from dlqadmin.replays.plans import planner, tasks
from dlqadmin.replays.plans.options import Options
from dlqadmin.replays.plans.requests import ReplayBody
from dlqadmin.replays.plans.target_reach import check_target
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.event_stream import SharedReads, StreamTimes
from dlqadmin.rest.idempotency import IDEMPOTENCY, made_by, once
from dlqadmin.rest.negotiation import AnyFormat
from dlqadmin.rest.pagination import parse_limit
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.requests import actor
from dlqadmin.teams.reach import Reach, current_reach

EVENT_TIMES = StreamTimes()


class ReplayList(APIView):
    """Replays."""

    permission_classes = (IsViewerOrWritingOperator,)

    @extend_schema(
        operation_id="replays_list",
        parameters=[
            *PAGING,
            OpenApiParameter("status", str, enum=list(queries.STATUSES)),
            OpenApiParameter("uuid", OpenApiTypes.UUID, description="The header `dlq.replay.id` of a replayed record."),
        ],
        responses=ReplayPage,
    )
    def get(self, request: Request) -> Response:
        """Return replays, newest first, without their plans.

        `waits_for_approval` selects the plans that a second person must approve, and that somebody asked for.
        """
        params = request.query_params
        status = params.get("status")
        if status and status not in queries.STATUSES:
            raise ParameterError("status", f"must be one of {', '.join(queries.STATUSES)}")
        limit = parse_limit(params.get("limit"), default=50)
        rows, following = queries.page(status, params.get("cursor"), limit, _uuid(params.get("uuid")))
        return Response(ReplayPage(results=rows, next=following))

    @extend_schema(
        operation_id="replays_create",
        parameters=[IDEMPOTENCY],
        request=ReplayBody,
        responses={200: ReplayDocument, 201: ReplayDocument},
    )
    def post(self, request: Request) -> Response:
        """Plan a replay. Nothing is written to Kafka.

        The same Idempotency-Key returns the same replay. A task plans a large selection. The response then has the
        status `planning`.
        """
        asked, who, now = once(request), actor(request), timezone.now()
        if known := made_by(Replay, asked):
            return _answer(known)
        form = ReplayBody(data=request.data)
        form.is_valid(raise_exception=True)
        body = form.validated_data
        chosen = Selection.objects.filter(pk=body["selection"]).first()
        if chosen is None:
            raise ParameterError("selection", "does not exist")
        source = clusters.key(frozen_selections.cluster_of(chosen))
        options = form.options(Options(source_cluster=source, target_cluster=source))
        check_target(chosen, options)
        try:
            made = planner.create(chosen, options, body["title"], who, asked, now)
        except IntegrityError:
            if known := made_by(Replay, asked):  # two equal requests at the same time
                return _answer(known)
            raise
        if made.status == ReplayStatus.PLANNING:
            tasks.enqueue(made.pk, who.pk)
        return _answer(made, status=201)


def _uuid(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        raise ParameterError("uuid", "must be a UUID, as the header dlq.replay.id has it") from None


class ReplayRecord(APIView):
    """One replay."""

    permission_classes = (IsViewerOrWritingOperator,)

    @extend_schema(operation_id="replays_retrieve", responses=ReplayDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Return the replay with its plan and its counts."""
        return _answer(replay_of(pk))

    @extend_schema(operation_id="replays_remove", responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Remove a replay that was never run, with its plan. Its selection stays."""
        controls.remove(replay_of(pk), actor(request))
        return Response(status=204)


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
        """Return items, ordered by attention, by newest, or as they are sent."""
        params = request.query_params
        states = [state for state in params.getlist("state") if state]
        order = params.get("order") or "ordinal"
        if set(states) - set(ItemState.values):
            raise ParameterError("state", f"must be one of {', '.join(ItemState.values)}")
        if order not in queries.ORDERS:
            raise ParameterError("order", f"must be one of {', '.join(queries.ORDERS)}")
        limit = parse_limit(params.get("limit"))
        replay, reader, cursor = replay_of(pk), reader_of(request.user), params.get("cursor")
        rows, following, total = queries.items(replay, states, order, cursor, limit, reader)
        reader.note("replay", str(replay), {"what": "keys of the replay's records", "order": order, "cursor": cursor})
        return Response(ItemPage(results=rows, next=following, total=total))


class ReplayLog(APIView):
    """A replay's log."""

    @extend_schema(operation_id="replays_log", responses=LogDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Return the replay's log, newest first."""
        return Response(LogDocument(results=queries.log(replay_of(pk))))


class ReplaySeries(APIView):
    """A replay over time."""

    @extend_schema(operation_id="replays_series", responses=SentAndSettled)
    def get(self, request: Request, pk: int) -> Response:
        """Return the cumulative numbers of sent and settled items."""
        return Response(queries.series(replay_of(pk), timezone.now()))


class ReplayEvents(APIView):
    """A replay's live events."""

    content_negotiation_class = AnyFormat

    @extend_schema(
        operation_id="replays_events",
        responses={(200, "text/event-stream"): OpenApiResponse(OpenApiTypes.STR, "Events named `replay`.")},
    )
    def get(self, request: Request, pk: int) -> StreamingHttpResponse:
        """Stream the replay without its plan as server-sent events, after every change."""
        # Raises Http404 before the stream starts.
        replay_of(pk)
        return stream(request, "replay", lambda: shared_summary((pk, current_reach())), EVENT_TIMES, queries.is_over)


class DeadLetterReplays(APIView):
    """The replays of a dead letter."""

    @extend_schema(operation_id="dead_letters_replays", responses=WayDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Return the dead letter's items, and the timeline of its lineage."""
        row, reader = find(pk), reader_of(request.user)
        note_read(reader.of(row), row, "replay's key and its replays")
        return Response(history.way(row, reader))


def _document(key: tuple[int, Reach]) -> ReplaySummary | None:
    found = lookup.find(key[0])
    return None if found is None else queries.documents([found])[0]


shared_summary = SharedReads(_document, EVENT_TIMES.read_every_s)


def _answer(replay: Replay, status: int = 200) -> Response:
    return Response(queries.document(replay_of(replay.pk)), status=status)

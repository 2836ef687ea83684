"""REST views of the overview and of health, and the metrics for Prometheus."""

from django.db import connection
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.accounts.event_responses import stream
from dlqadmin.audit.permissions import IsOperator
from dlqadmin.metrics.views import RANGE
from dlqadmin.overview import dismissals, facts, finding_queries, health, queries
from dlqadmin.overview.dismissals import dismissal_document
from dlqadmin.overview.documents import (
    AttentionItems,
    DismissalDocument,
    DismissalList,
    Health,
    Liveness,
    LiveState,
    Readiness,
    SummaryDocument,
    TeamFacts,
)
from dlqadmin.overview.live import live_state
from dlqadmin.overview.requests import DismissalBody
from dlqadmin.overview.team_facts import team_facts
from dlqadmin.rest import migrations_state
from dlqadmin.rest.event_stream import SharedReads, StreamTimes
from dlqadmin.rest.negotiation import AnyFormat
from dlqadmin.rest.problems import ParameterError, UpstreamUnavailable
from dlqadmin.rest.requests import actor, checked
from dlqadmin.rest.times import parse_range
from dlqadmin.teams.reach import Reach, current_reach

LIVE_TIMES = StreamTimes(read_every_s=5.0, lifetime_s=60.0)


class SummaryView(APIView):
    """The figures at the top of the overview."""

    @extend_schema(operation_id="metrics_summary", parameters=RANGE, responses=SummaryDocument)
    def get(self, request: Request) -> Response:
        """Return failing topics, unresolved groups, errors of the last 24 hours and of the range."""
        start, end = parse_range(request.query_params.get("from"), request.query_params.get("to"))
        return Response(queries.summary(start, end))


class AttentionView(APIView):
    """Findings that need attention."""

    @extend_schema(operation_id="metrics_attention", responses=AttentionItems)
    def get(self, request: Request) -> Response:
        """Return the findings, worst first, then newest, and the status strip.

        Dismissed findings are left out; the dismissals are beside them.
        """
        return Response(finding_queries.needs_attention(request.user))


class TeamFactsView(APIView):
    """Facts about the teams that come from the index."""

    @extend_schema(operation_id="teams_facts", responses=TeamFacts)
    def get(self, request: Request) -> Response:
        """Return the open dead letters of each team in reach, and for global viewers the topics without a team."""
        return Response(team_facts(request.user))


class DismissalsView(APIView):
    """All dismissals of findings."""

    @extend_schema(operation_id="dismissals_list", responses=DismissalList)
    def get(self, request: Request) -> Response:
        """Return the dismissals that hold, then those that ended in the last 30 days."""
        return Response(DismissalList(results=[dismissal_document(row) for row in dismissals.recent()]))


class DismissalView(APIView):
    """The dismissal of one finding."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="dismissals_create", request=DismissalBody, responses={201: DismissalDocument})
    def post(self, request: Request, finding: str) -> Response:
        """Leave the finding out of the list of all users, for at most 30 days or until it changes.

        The finding comes back early if it becomes worse.
        """
        body, now = checked(DismissalBody, request), timezone.now()
        until = body["until"]
        if until is not None and not now < until <= now + dismissals.LONGEST:
            raise ParameterError("until", f"must be within the next {dismissals.LONGEST.days} days")
        found = finding_queries.find(finding, request.user)
        if found is None:
            raise Http404("There is no finding with this id now.")
        made = dismissals.dismiss(found, actor(request), body["reason"], until, now)
        return Response(dismissal_document(made), status=201)

    @extend_schema(operation_id="dismissals_destroy", responses=DismissalDocument)
    def delete(self, request: Request, finding: str) -> Response:
        """List the finding again."""
        ended = dismissals.undo(finding, actor(request), timezone.now())
        if ended is None:
            raise Http404("This finding is not dismissed.")
        return Response(dismissal_document(ended))


class HealthView(APIView):
    """The health of the dashboard's parts."""

    @extend_schema(operation_id="health_retrieve", responses=Health)
    def get(self, request: Request) -> Response:
        """Return the health of every part, with the overall status and its reasons.

        An unavailable part is a result, not an error.
        """
        return Response(health.health(facts.gather(timezone.now())))


class LiveView(APIView):
    """The health and the version of the data, as live events."""

    content_negotiation_class = AnyFormat

    @extend_schema(
        operation_id="live_events",
        responses={(200, "text/event-stream"): OpenApiResponse(OpenApiTypes.STR, "Events named `state`.")},
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Stream the health and the version of the data as server-sent events, after every change.

        The stream ends after a minute, so that the client's session is checked again when it reconnects.
        """
        return stream(request, "state", lambda: shared_state(current_reach()), LIVE_TIMES)


class AliveView(APIView):
    """A liveness check for whatever restarts the web process."""

    permission_classes = (AllowAny,)
    authentication_classes = ()

    @extend_schema(operation_id="alive_retrieve", responses=Liveness)
    def get(self, request: Request) -> Response:
        """Return that the web process responds. Other parts are not checked."""
        return Response(Liveness(alive=True))


class ReadyView(APIView):
    """A readiness check for whatever sends requests to the web process."""

    permission_classes = (AllowAny,)
    authentication_classes = ()

    @extend_schema(operation_id="ready_retrieve", responses=Readiness)
    def get(self, request: Request) -> Response:
        """Return that the web process can answer: its database responds, and has the migrations of this version.

        The answer is 503 otherwise. Kafka, Redis and the engine are not checked, because the dashboard tells more
        about them than a missing page would; see `/health`.
        """
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        if (sentence := migrations_state.refusal()) is not None:
            raise UpstreamUnavailable(sentence)
        return Response(Readiness(ready=True))


class PrometheusView(APIView):
    """The metrics for a Prometheus server.

    The server sends an API token (`authorization: {credentials_file: …}`).
    """

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """Return every registered metric as text."""
        return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)


def _live_state(_reach: Reach) -> LiveState:
    return live_state()


shared_state = SharedReads(_live_state, LIVE_TIMES.read_every_s)

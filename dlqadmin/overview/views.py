"""REST views of the overview and of health, and the metrics for Prometheus."""

from django.http import HttpResponse, StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.accounts.event_responses import stream
from dlqadmin.connectors.queries import fetch_connectors
from dlqadmin.metrics.views import RANGE
from dlqadmin.overview import health, queries
from dlqadmin.overview.documents import AttentionItems, Health, Liveness, LiveState, SummaryDocument
from dlqadmin.overview.live import live_state
from dlqadmin.rest.event_stream import SharedReads, StreamTimes
from dlqadmin.rest.negotiation import AnyFormat
from dlqadmin.rest.times import parse_range

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
        """Return the findings, most severe first, and the healthy parts."""
        return Response(queries.needs_attention())


class HealthView(APIView):
    """The health of the dashboard's parts."""

    @extend_schema(operation_id="health_retrieve", responses=Health)
    def get(self, request: Request) -> Response:
        """Return the health of index, broker, engine, Redis and database.

        An unavailable part is a result, not an error.
        """
        now = timezone.now()
        return Response(health.health(now, fetch_connectors(now)))


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
        return stream(request, "state", lambda: shared_state(None), LIVE_TIMES)


class AliveView(APIView):
    """A liveness check for whatever restarts the web process."""

    permission_classes = (AllowAny,)
    authentication_classes = ()

    @extend_schema(operation_id="alive_retrieve", responses=Liveness)
    def get(self, request: Request) -> Response:
        """Return that the web process responds. Other parts are not checked."""
        return Response(Liveness(alive=True))


class PrometheusView(APIView):
    """The metrics for a Prometheus server.

    The server sends an API token (`authorization: {credentials_file: …}`).
    """

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """Return every registered metric as text."""
        return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)


def _live_state(_key: None) -> LiveState:
    return live_state()


shared_state = SharedReads(_live_state, LIVE_TIMES.read_every_s)

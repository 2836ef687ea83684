"""REST views of the overview and of health, and the metrics for Prometheus."""

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.connectors.queries import fetch_connectors
from dlqadmin.metrics.views import RANGE
from dlqadmin.overview import health, queries
from dlqadmin.overview.documents import AttentionItems, Health, Liveness, SummaryDocument
from dlqadmin.rest.times import parse_range


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

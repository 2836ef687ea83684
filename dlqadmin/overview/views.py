"""The overview over REST, health, and Prometheus' text."""

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.connectors.queries import ask
from dlqadmin.metrics.views import RANGE
from dlqadmin.overview import health, queries
from dlqadmin.overview.serializers import Alive, Attention, Health, SummaryDocument
from dlqadmin.rest.times import parse_range


class SummaryView(APIView):
    """The figures that head the overview."""

    @extend_schema(operation_id="metrics_summary", parameters=RANGE, responses=SummaryDocument)
    def get(self, request: Request) -> Response:
        """Failing topics, unresolved groups, errors of the last 24 hours, errors of the range."""
        start, end = parse_range(request.query_params.get("from"), request.query_params.get("to"))
        return Response(queries.summary(start, end))


class AttentionView(APIView):
    """What to do first."""

    @extend_schema(operation_id="metrics_attention", responses=Attention)
    def get(self, request: Request) -> Response:
        """What needs attention, the gravest first; and what is well."""
        return Response(queries.needs_attention())


class HealthView(APIView):
    """How the parts are."""

    @extend_schema(operation_id="health_retrieve", responses=Health)
    def get(self, request: Request) -> Response:
        """Index, broker, engine, Redis and database; a part that is away is an answer, not an error."""
        now = timezone.now()
        return Response(health.health(now, ask(now)))


class AliveView(APIView):
    """For whatever restarts the web process."""

    permission_classes = (AllowAny,)
    authentication_classes = ()

    @extend_schema(operation_id="alive_retrieve", responses=Alive)
    def get(self, request: Request) -> Response:
        """The web process answers; it says nothing of other parts."""
        return Response({"alive": True})


class PrometheusView(APIView):
    """The figures for a Prometheus server, which signs in with a token (`authorization: {type: Token}`)."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """Every registered figure as text."""
        return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)

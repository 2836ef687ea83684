"""REST views of the metrics."""

from typing import TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.deadletters.search.number_ranges import read_numbers
from dlqadmin.metrics import connector_history, errors, heatmap, open_work, queries, trends
from dlqadmin.metrics.documents import (
    Balance,
    ConnectorHistory,
    ConnectorPipeline,
    ErrorsOverTime,
    Heatmap,
    OpenWork,
    Trends,
)
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import parse_range

MAX_NAME = 249  # characters of a topic's name in Kafka
Value = TypeVar("Value", bound=str)

RANGE = [
    OpenApiParameter("from", OpenApiTypes.STR, description="`now-7d` or ISO 8601; default `now-7d`"),
    OpenApiParameter("to", OpenApiTypes.STR, description="`now` or ISO 8601; default `now`"),
]


class BalanceView(APIView):
    """The balance of records, which shows that none was lost or duplicated."""

    @extend_schema(operation_id="metrics_balance", responses=Balance)
    def get(self, request: Request) -> Response:
        """Return the counts of consumed records by bucket, in total and by connector."""
        return Response(queries.balance())


class ErrorsView(APIView):
    """Errors over time."""

    @extend_schema(
        operation_id="metrics_errors",
        parameters=[*RANGE, OpenApiParameter("by", OpenApiTypes.STR, enum=list(errors.SERIES))],
        responses=ErrorsOverTime,
    )
    def get(self, request: Request) -> Response:
        """Return columns of errors, stacked by group, exception, stage or topic."""
        start, end = parse_range(request.query_params.get("from"), request.query_params.get("to"))
        by = request.query_params.get("by") or "group"
        if by not in errors.SERIES:
            raise ParameterError("by", f"must be one of {', '.join(errors.SERIES)}")
        return Response(errors.series(start, end, by))


class HeatView(APIView):
    """Errors by topic and time."""

    @extend_schema(operation_id="metrics_heat", parameters=RANGE, responses=Heatmap)
    def get(self, request: Request) -> Response:
        """Return errors by topic and hour; columns are longer if the range exceeds two days."""
        start, end = parse_range(request.query_params.get("from"), request.query_params.get("to"))
        return Response(heatmap.heat(start, end))


class TrendsView(APIView):
    """Errors, throughput and lag over months."""

    @extend_schema(
        operation_id="metrics_trends",
        parameters=[
            *RANGE,
            OpenApiParameter("measure", OpenApiTypes.STR, enum=list(trends.MEASURES), description="default `errors`"),
            OpenApiParameter(
                "by",
                OpenApiTypes.STR,
                enum=list(trends.SPLITS),
                description="default `none`. Throughput and lag are split by `connector` only.",
            ),
            OpenApiParameter("topic", OpenApiTypes.STR, description="Count errors of this dead letter topic only"),
            OpenApiParameter("connector", OpenApiTypes.STR, description="Count this connector only"),
            OpenApiParameter("group", OpenApiTypes.INT64, description="Count errors of this group only"),
            OpenApiParameter("stage", OpenApiTypes.STR, description="Count errors of this stage only"),
            OpenApiParameter("compare", OpenApiTypes.STR, enum=["week"], description="Add the week before"),
        ],
        responses=Trends,
    )
    def get(self, request: Request) -> Response:
        """Return one measure by column: hours up to 8 days, six hours up to 45 days, then days, then weeks."""
        return Response(trends.trends(_trend_request(request)))


class OpenWorkView(APIView):
    """The work on dead letters over time."""

    @extend_schema(
        operation_id="metrics_open_work",
        parameters=[*RANGE, OpenApiParameter("by", OpenApiTypes.STR, enum=list(open_work.SERIES))],
        responses=OpenWork,
    )
    def get(self, request: Request) -> Response:
        """Return open, replaying, passed and set-aside dead letters by column, and the new ones by stage."""
        start, end = parse_range(request.query_params.get("from"), request.query_params.get("to"))
        by = request.query_params.get("by") or "state"
        if by not in open_work.SERIES:
            raise ParameterError("by", f"must be one of {', '.join(open_work.SERIES)}")
        return Response(open_work.open_work(start, end, by))


class ConnectorHistoryView(APIView):
    """The figures of one connector over time."""

    @extend_schema(
        operation_id="metrics_connector",
        parameters=[*RANGE, OpenApiParameter("connector", OpenApiTypes.STR, required=True)],
        responses=ConnectorHistory,
    )
    def get(self, request: Request) -> Response:
        """Return records, failures by stage, retries and lag by column; zeros if the connector never reported."""
        start, end = parse_range(request.query_params.get("from"), request.query_params.get("to"))
        return Response(connector_history.history(_connector(request), start, end))


class StagesView(APIView):
    """Records and failures by stage."""

    @extend_schema(
        operation_id="metrics_stages",
        parameters=[OpenApiParameter("connector", OpenApiTypes.STR, required=True)],
        responses=ConnectorPipeline,
    )
    def get(self, request: Request) -> Response:
        """Return the stages of one connector; empty if it never reported."""
        return Response(queries.stages(_connector(request)))


def _connector(request: Request) -> str:
    """Return the connector that the request names. Raises ParameterError."""
    connector = request.query_params.get("connector")
    if not connector or "\0" in connector:
        raise ParameterError("connector", "must name a connector")
    return connector


def _trend_request(request: Request) -> trends.TrendRequest:
    """Parse the parameters of trends. Raises ParameterError."""
    params = request.query_params
    start, end = parse_range(params.get("from"), params.get("to"))
    if end - start > trends.LONGEST:
        raise ParameterError("from", f"must be at most {trends.LONGEST.days} days before `to`")
    measure = _one_of("measure", params.get("measure") or "errors", trends.MEASURES)
    by = _one_of("by", params.get("by") or "none", trends.SPLITS if measure == "errors" else trends.TASK_SPLITS)
    topic, connector, stage = (_short_name(name, params.get(name) or "") for name in ("topic", "connector", "stage"))
    group = _group(params.get("group") or "")
    for name, value in (("topic", topic), ("group", group), ("stage", stage)):
        if value and measure != "errors":
            raise ParameterError(name, f"needs the measure errors, because tasks do not report figures by {name}")
    compare = _one_of("compare", params.get("compare") or "", ("", "week"))
    return trends.TrendRequest(
        measure, by, start, end, topic, connector, group=group, stage=stage, compares=compare == "week"
    )


def _one_of(parameter: str, value: str, allowed: tuple[Value, ...]) -> Value:
    """Return the value if it is allowed. Raises ParameterError."""
    for one in allowed:
        if one == value:
            return one
    raise ParameterError(parameter, f"must be one of {', '.join(filter(None, allowed))}")


def _short_name(parameter: str, value: str) -> str:
    """Return the name of a topic, connector or stage. Raises ParameterError."""
    if len(value) > MAX_NAME or "\0" in value:
        raise ParameterError(parameter, f"must be a name of at most {MAX_NAME} characters")
    return value


def _group(value: str) -> str:
    """Return the number of a group, or an empty text. Raises ParameterError."""
    if value and not (value.isdigit() and read_numbers(value)):
        raise ParameterError("group", "must be the number of a group")
    return value

"""REST views of incident reports."""

from __future__ import annotations

import msgspec
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from dlqadmin.audit.entries import record
from dlqadmin.audit.permissions import OPERATE, READ_PAYLOADS, reach_of
from dlqadmin.deadletters.groups import views
from dlqadmin.deadletters.payloads import reader_of
from dlqadmin.deadletters.search.filters import parse_filters
from dlqadmin.deadletters.search.list_views import TIME
from dlqadmin.replays.lookup import replay_of
from dlqadmin.reports import incidents
from dlqadmin.reports.documents import GroupReport, ReplayReport
from dlqadmin.reports.incidents import ReportRequest
from dlqadmin.reports.markdown_report import markdown
from dlqadmin.rest.negotiation import AnyFormat
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.requests import actor

FORMATS = {"md": "text/markdown; charset=utf-8", "json": "application/json"}
FORMAT = OpenApiParameter("format", str, enum=list(FORMATS))
MARKDOWN = OpenApiResponse(
    OpenApiTypes.STR, "The same report as a page. Content of records is in code spans and blocks."
)


class GroupReportFile(APIView):
    """A group's incident report."""

    content_negotiation_class = AnyFormat

    @extend_schema(
        operation_id="groups_report",
        parameters=[*TIME, FORMAT],
        responses={(200, "application/json"): GroupReport, (200, "text/markdown"): MARKDOWN},
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Return what failed, when, how often and why, and the actions taken.

        Keys and values are included only if the reader may export.
        """
        form, group = _format(request), views.find_group(pk)
        filters = parse_filters(request.query_params, reader_of(request.user))
        return _file(
            request, incidents.of_group(group, filters, _report_request(request)), form, "group", str(group.pk)
        )


class ReplayReportFile(APIView):
    """A replay's incident report."""

    content_negotiation_class = AnyFormat

    @extend_schema(
        operation_id="replays_report",
        parameters=[FORMAT],
        responses={(200, "application/json"): ReplayReport, (200, "text/markdown"): MARKDOWN},
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Return what was sent, by whom, why, and with which outcomes.

        Keys and values are included only if the reader may export.
        """
        form, replay = _format(request), replay_of(pk)
        return _file(request, incidents.of_replay(replay, _report_request(request)), form, "replay", str(replay))


def _format(request: Request) -> str:
    name = request.query_params.get("format") or "md"
    if name not in FORMATS:
        raise ParameterError("format", f"must be one of {', '.join(FORMATS)}")
    return name


def _report_request(request: Request) -> ReportRequest:
    return ReportRequest(actor(request), timezone.now(), reach_of(request.user, OPERATE, READ_PAYLOADS))


def _file(request: Request, report: GroupReport | ReplayReport, form: str, kind: str, name: str) -> HttpResponse:
    """Return the report as a download, and audit the download."""
    record(request.user, "report", kind, name, {"format": form, "values": report.values})
    body = markdown(report).encode("utf-8", "replace") if form == "md" else msgspec.json.encode(report)
    file = f"incident-{kind}-{name}.{form}"
    return HttpResponse(
        body,
        content_type=FORMATS[form],
        headers={"Content-Disposition": f'attachment; filename="{file}"', "X-Content-Type-Options": "nosniff"},
    )

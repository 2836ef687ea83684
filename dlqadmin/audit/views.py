"""REST views of the audit trail."""

from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit import entry_lines, queries
from dlqadmin.audit.documents import AuditOptions, AuditPage
from dlqadmin.audit.entries import record
from dlqadmin.audit.entry_filters import PARAMETERS, parse_filter
from dlqadmin.audit.models import AuditEntry
from dlqadmin.audit.permissions import READ_PAYLOADS, IsExporter, reach_of
from dlqadmin.audit.sentences import OUTCOMES
from dlqadmin.masking.rules import rules_for
from dlqadmin.rest.negotiation import AnyFormat
from dlqadmin.rest.pagination import parse_limit
from dlqadmin.rest.problems import ParameterError
from dlqadmin.teams.reach import current_reach

FILTERS = [
    OpenApiParameter("actor", str, description="The name of the user or process."),
    OpenApiParameter("action", str, description="The exact action, such as `approve`."),
    OpenApiParameter("type", str, description="The type of the object, such as `replay`."),
    OpenApiParameter("object", str, description="The object's name in the entry, such as `R-12`."),
    OpenApiParameter("outcome", str, enum=list(OUTCOMES)),
    OpenApiParameter("text", str, description="A text in the actor, the sentence or the reason. Case is ignored."),
    OpenApiParameter("reads", bool, description="`false` leaves out entries about reads of payloads."),
    OpenApiParameter("from", str, description="The earliest time: ISO 8601, or relative such as `now-7d`."),
    OpenApiParameter("to", str, description="The end of the time range, which is not in it."),
]


class AuditView(APIView):
    """The audit trail."""

    @extend_schema(
        operation_id="audit_list",
        parameters=[*FILTERS, OpenApiParameter("cursor", str), OpenApiParameter("limit", int)],
        responses=AuditPage,
    )
    def get(self, request: Request) -> Response:
        """Return a page of actions, newest first."""
        params = request.query_params
        wanted = parse_filter(params, timezone.now())
        limit = parse_limit(params.get("limit"))
        reach, is_masked = reach_of(request.user, READ_PAYLOADS), bool(rules_for(request.user))

        def shows_content(entry: AuditEntry) -> bool:
            # An entry may cite records of any team. Readers of limited reach get the details of their own,
            # and people with masked fields none.
            own = bool(reach.teams) and entry.user_id == request.user.pk
            return not is_masked and (not reach.is_limited or own)

        return Response(queries.page(wanted, params.get("cursor"), limit, shows_content, is_masked=is_masked))


class AuditOptionsView(APIView):
    """The values that the filters of the audit trail can have."""

    @extend_schema(operation_id="audit_options", responses=AuditOptions)
    def get(self, request: Request) -> Response:
        """Return up to 500 actors, actions and types of objects each."""
        return Response(queries.options())


class AuditExport(APIView):
    """The audit trail as a file."""

    content_negotiation_class = AnyFormat
    permission_classes = (IsExporter,)  # seals cover details as a whole, and details may cite records

    @extend_schema(
        operation_id="audit_export",
        parameters=[*FILTERS, OpenApiParameter("format", str, enum=list(entry_lines.FORMATS))],
        responses={
            (200, "application/x-ndjson"): OpenApiResponse(OpenApiTypes.BYTE, "One entry per line."),
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "One entry per row, with its sentence."),
        },
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Stream all entries, or those that match the filter, in the order of the chain.

        Unsealed entries come last.
        """
        if current_reach().is_limited:
            raise PermissionDenied("The export is of the whole audit trail, so it needs roles for all teams.")
        if rules_for(request.user):
            raise PermissionDenied("Fields of records are masked for you, and the audit trail may cite them.")
        params, now = request.query_params, timezone.now()
        wanted = parse_filter(params, now)
        form: entry_lines.LineFormat = "csv" if params.get("format") == "csv" else "ndjson"
        if params.get("format") not in (None, "", *entry_lines.FORMATS):
            raise ParameterError("format", f"must be one of {', '.join(entry_lines.FORMATS)}")
        # A searched text may be content of a record. "query" is withheld from those who may not read content.
        asked = {"query" if name == "text" else name: params[name] for name in PARAMETERS if params.get(name)}
        record(request.user, "export", "audit", "", {**asked, "format": form})
        name = f"audit-{now:%Y%m%dT%H%M%SZ}.{form}"
        content = entry_lines.stream_pages(entry_lines.iterate_pages(wanted, form))
        return StreamingHttpResponse(
            content,
            content_type=entry_lines.CONTENT_TYPES[form],
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

"""REST views for signing in and out, and for the audit trail."""

from typing import Any

from django.conf import settings
from django.contrib.auth import authenticate, login, logout
from django.db import transaction
from django.http import StreamingHttpResponse
from django.middleware.csrf import get_token
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit import entry_lines, queries
from dlqadmin.audit.documents import AuditOptions, AuditPage, SessionDocument, SessionTeam
from dlqadmin.audit.entries import record
from dlqadmin.audit.entry_filters import PARAMETERS, parse_filter
from dlqadmin.audit.permissions import (
    APPROVE,
    READ_PAYLOADS,
    IsExporter,
    global_rights_of,
    has_permission,
    is_administrator,
    rights_of,
    role_of,
)
from dlqadmin.audit.requests import SignInBody
from dlqadmin.audit.sentences import OUTCOMES
from dlqadmin.broker.availability import describe_cluster
from dlqadmin.rest.negotiation import AnyFormat
from dlqadmin.rest.pagination import parse_limit
from dlqadmin.rest.problems import ParameterError
from dlqadmin.teams.models import Team, TeamRoleName
from dlqadmin.teams.reach import held_roles

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


class SessionView(APIView):
    """The browser's session. Reading it sets the CSRF cookie that writes need."""

    permission_classes = (AllowAny,)

    @extend_schema(operation_id="session_retrieve", responses=SessionDocument)
    def get(self, request: Request) -> Response:
        """Return the signed-in user, the role and the cluster."""
        return _session(request)

    @extend_schema(operation_id="session_create", request=SignInBody, responses=SessionDocument)
    @method_decorator(csrf_protect)
    def post(self, request: Request) -> Response:
        """Sign in. After too many tries the response is 429 with Retry-After."""
        form = SignInBody(data=request.data)
        form.is_valid(raise_exception=True)
        user = authenticate(request, **form.validated_data)
        if user is None:
            raise AuthenticationFailed("The name or the password is wrong.")
        with transaction.atomic():  # with its audit entry
            login(request, user)
        return _session(request)

    @extend_schema(operation_id="session_destroy", request=None, responses=SessionDocument)
    @method_decorator(csrf_protect)
    def delete(self, request: Request) -> Response:
        """Sign out."""
        logout(request)
        return _session(request)


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
        reads = has_permission(request.user, READ_PAYLOADS)
        return Response(queries.page(wanted, params.get("cursor"), limit, payload_reader=reads))


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


def _session(request: Request) -> Response:
    get_token(request)
    user: Any = request.user
    known = user.is_authenticated
    ended = getattr(request, "session_ended", None)
    return Response(
        SessionDocument(
            authenticated=known,
            username=user.get_username() if known else None,
            role=role_of(user),
            approver=has_permission(user, APPROVE),
            administrator=is_administrator(user),
            rights=rights_of(user),
            global_rights=global_rights_of(user),
            teams=_session_teams(user) if known else [],
            ended=None if known or ended is None else str(ended.detail),
            payload_reader=has_permission(user, READ_PAYLOADS),
            environment=settings.ENVIRONMENT,
            cluster=settings.CLUSTER,
            read_only=settings.READ_ONLY,
            kafka=describe_cluster() if known else None,
        )
    )


def _session_teams(user: Any) -> list[SessionTeam]:
    """Return the user's teams by name; for an API token of one team, that team alone."""
    only: int | None = getattr(user, "token_team", None)
    held = [(team, role) for team, role in held_roles(user) if only in (None, team)]
    teams = Team.objects.filter(pk__in={team for team, _ in held}) if held else ()
    return [
        SessionTeam(
            id=team.pk,
            name=team.name,
            roles=[role for role in TeamRoleName.values if (team.pk, role) in held],
            topics=team.topics,
            connectors=team.connectors,
        )
        for team in teams
    ]

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
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit import entry_lines, queries
from dlqadmin.audit.documents import AuditPage, SessionDocument, audit_document
from dlqadmin.audit.entries import record
from dlqadmin.audit.permissions import APPROVE, READ_PAYLOADS, IsExporter, has_permission, rights_of, role_of
from dlqadmin.audit.requests import SignInBody
from dlqadmin.broker.availability import describe_cluster
from dlqadmin.rest.pagination import encode_cursor, parse_limit
from dlqadmin.rest.renderers import JsonRenderer
from dlqadmin.rest.times import parse_time


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
        parameters=[OpenApiParameter("cursor", str), OpenApiParameter("limit", int)],
        responses=AuditPage,
    )
    def get(self, request: Request) -> Response:
        """Return a page of actions, newest first."""
        limit = parse_limit(request.query_params.get("limit"))
        entries, more = queries.page(request.query_params.get("cursor"), limit)
        following = encode_cursor([entries[-1].pk]) if more else None
        reads = has_permission(request.user, READ_PAYLOADS)
        rows = [audit_document(entry, payload_reader=reads) for entry in entries]
        return Response(AuditPage(results=rows, next=following))


class NdjsonRenderer(BaseRenderer):
    """A renderer that lets clients request the export's media type. The view streams the content."""

    media_type, format = "application/x-ndjson", "ndjson"


class AuditExport(APIView):
    """The audit trail as a file."""

    permission_classes = (IsExporter,)  # seals cover details as a whole, and details may cite records
    renderer_classes = (JsonRenderer, NdjsonRenderer)

    @extend_schema(
        operation_id="audit_export",
        parameters=[OpenApiParameter("from", str), OpenApiParameter("to", str)],
        responses={(200, "application/x-ndjson"): OpenApiResponse(OpenApiTypes.BYTE, "One entry per line.")},
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Stream all entries, or those of a time range, in the order of the chain.

        Unsealed entries come last.
        """
        params, now = request.query_params, timezone.now()
        start, end = (parse_time(name, params[name], now) if params.get(name) else None for name in ("from", "to"))
        record(request.user, "export", "audit", "", {name: params[name] for name in ("from", "to") if name in params})
        headers = {"Content-Disposition": f'attachment; filename="audit-{now:%Y%m%dT%H%M%SZ}.ndjson"'}
        content = entry_lines.stream_pages(entry_lines.iterate_pages(start, end))
        return StreamingHttpResponse(content, content_type="application/x-ndjson", headers=headers)


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
            rights=rights_of(user),
            ended=None if known or ended is None else str(ended.detail),
            payload_reader=has_permission(user, READ_PAYLOADS),
            environment=settings.ENVIRONMENT,
            cluster=settings.CLUSTER,
            read_only=settings.READ_ONLY,
            kafka=describe_cluster() if known else None,
        )
    )

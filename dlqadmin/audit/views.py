"""Signing in and out, and reading the audit trail."""

from typing import Any

from django.conf import settings
from django.contrib.auth import authenticate, login, logout
from django.db import transaction
from django.middleware.csrf import get_token
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle, ScopedRateThrottle
from rest_framework.views import APIView

from dlqadmin.audit import queries
from dlqadmin.audit.permissions import may_approve, role_of
from dlqadmin.audit.recording import record
from dlqadmin.audit.serializers import AuditPage, SessionDocument, SignIn, audit_document
from dlqadmin.broker.presence import describe_cluster
from dlqadmin.rest.pagination import encode_cursor, parse_limit


class SessionView(APIView):
    """The browser's session; reading it sets the CSRF cookie that writes need."""

    permission_classes = (AllowAny,)
    throttle_scope = "sign-in"

    def get_throttles(self) -> list[BaseThrottle]:
        return [ScopedRateThrottle()] if self.request.method == "POST" else []

    @extend_schema(operation_id="session_retrieve", responses=SessionDocument)
    def get(self, request: Request) -> Response:
        """Who is signed in, with which role, on which cluster."""
        return _session(request)

    @extend_schema(operation_id="session_create", request=SignIn, responses=SessionDocument)
    @method_decorator(csrf_protect)
    def post(self, request: Request) -> Response:
        """Sign in."""
        form = SignIn(data=request.data)
        form.is_valid(raise_exception=True)
        user = authenticate(request, **form.validated_data)
        if user is None:
            raise AuthenticationFailed("The name or the password is wrong.")
        with transaction.atomic():
            login(request, user)
            record(user, "signed in", "session", user.get_username())
        return _session(request)

    @extend_schema(operation_id="session_destroy", request=None, responses=SessionDocument)
    @method_decorator(csrf_protect)
    def delete(self, request: Request) -> Response:
        """Sign out."""
        if request.user.is_authenticated:
            record(request.user, "signed out", "session", request.user.get_username())
        logout(request)
        return _session(request)


class AuditView(APIView):
    """Who did what."""

    @extend_schema(
        operation_id="audit_list",
        parameters=[OpenApiParameter("cursor", str), OpenApiParameter("limit", int)],
        responses=AuditPage,
    )
    def get(self, request: Request) -> Response:
        """A page of acts, newest first."""
        limit = parse_limit(request.query_params.get("limit"))
        entries, more = queries.page(request.query_params.get("cursor"), limit)
        following = encode_cursor([entries[-1].pk]) if more else None
        return Response({"results": [audit_document(entry) for entry in entries], "next": following})


def _session(request: Request) -> Response:
    get_token(request)
    user: Any = request.user
    known = user.is_authenticated
    return Response(
        {
            "authenticated": known,
            "username": user.get_username() if known else None,
            "role": role_of(user),
            "approver": may_approve(user),
            "environment": settings.ENVIRONMENT,
            "cluster": settings.CLUSTER,
            "read_only": settings.READ_ONLY,
            "kafka": describe_cluster() if known else None,
        }
    )

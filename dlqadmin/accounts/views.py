"""REST views of a user's password and API tokens."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.accounts import passwords, tokens
from dlqadmin.accounts.documents import CreatedToken, TokenDocument, TokenListDocument, token_document
from dlqadmin.accounts.models import ApiToken
from dlqadmin.accounts.requests import PasswordBody, TokenBody
from dlqadmin.audit.permissions import is_administrator
from dlqadmin.rest.documents import extend
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.requests import checked

SHOWN = 200  # tokens, ended ones included
NO_STORE = {"Cache-Control": "no-store"}


class IsSession(BasePermission):
    """Permission to manage an account, for users who signed in with a password.

    A stolen API token must not create tokens or change a password.
    """

    message = "API tokens can't do this. Sign in with a password."

    def has_permission(self, request: Request, view: Any) -> bool:
        return request.user.is_authenticated and request.auth is None


class PasswordView(APIView):
    """The user's own password."""

    permission_classes = (IsSession,)

    @extend_schema(operation_id="account_password", request=PasswordBody, responses={204: None})
    def post(self, request: Request) -> Response:
        """Change the password. This session continues; other sessions and all API tokens end."""
        body = checked(PasswordBody, request)
        passwords.change(request, body["current"], body["new"])
        return Response(status=204)


class TokenList(APIView):
    """The user's own API tokens."""

    permission_classes = (IsSession,)

    @extend_schema(
        operation_id="tokens_list",
        parameters=[OpenApiParameter("everybody", bool, description="`true` is for administrators: all tokens.")],
        responses=TokenListDocument,
    )
    def get(self, request: Request) -> Response:
        """Return the tokens, newest first, including ended ones."""
        now = timezone.now()
        found = ApiToken.objects.select_related("owner", "team").order_by("-id")
        if request.query_params.get("everybody") != "true":
            found = found.filter(owner=request.user.pk)
        elif not is_administrator(request.user):
            raise PermissionDenied("Only administrators see the tokens of all users.")
        rows = found[:SHOWN]
        return Response(
            TokenListDocument(
                results=[token_document(row, now) for row in rows],
                default_days=min(settings.API_TOKEN_DAYS, settings.API_TOKEN_MAX_DAYS),
                max_days=settings.API_TOKEN_MAX_DAYS,
            )
        )

    @extend_schema(operation_id="tokens_create", request=TokenBody, responses={201: CreatedToken})
    def post(self, request: Request) -> Response:
        """Create a token with some of the user's own rights. Only this response contains its secret."""
        body, now = checked(TokenBody, request), timezone.now()
        owner: Any = request.user
        days = body.get("days", min(settings.API_TOKEN_DAYS, settings.API_TOKEN_MAX_DAYS))
        token, secret = tokens.create(owner, owner, body["name"], body["scopes"], days, now, body["team"])
        return Response(extend(CreatedToken, token_document(token, now), secret=secret), status=201, headers=NO_STORE)


class TokenRecord(APIView):
    """One API token."""

    permission_classes = (IsSession,)

    @extend_schema(operation_id="tokens_destroy", responses=TokenDocument)
    def delete(self, request: Request, pk: int) -> Response:
        """Revoke the token permanently. A superuser may revoke the tokens of all users."""
        found = ApiToken.objects.select_related("owner", "team").filter(pk=pk).first() if pk <= MAX_ID else None
        if found is None or not (found.owner_id == request.user.pk or request.user.is_superuser):
            raise Http404("You have no API token with this id.")
        now = timezone.now()
        tokens.revoke(found, request.user, now)
        found.refresh_from_db()
        return Response(token_document(found, now))

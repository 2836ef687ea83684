"""Authenticate requests by API token, and check long-running requests again while they run."""

from __future__ import annotations

import time
from typing import Any

from django.contrib.auth import get_user
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import TokenAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from dlqadmin.accounts import session_limits, tokens
from dlqadmin.accounts.models import ApiToken

KEYWORDS = (b"bearer", b"token")  # clients of earlier versions send "Token"


class ApiTokenAuthentication(TokenAuthentication):
    """Authentication by `Authorization: Bearer dlq_…`.

    The user object carries the token's scopes, which limit every permission check.
    """

    keyword = "Bearer"

    def authenticate(self, request: Request) -> tuple[User, Any] | None:
        words = get_authorization_header(request).split()
        if not words or words[0].lower() not in KEYWORDS:
            return None
        if len(words) != 2 or not words[1].isascii():
            raise AuthenticationFailed("The Authorization header must contain `Bearer` and one API token.")
        token, refusal = tokens.check(words[1].decode(), timezone.now())
        if token is None:
            raise AuthenticationFailed(refusal)
        return _owner(token), token


def current_user(request: Request) -> Any:
    """Return the present user of a long-running request.

    Returns None once its session or token has ended.
    """
    if isinstance(request.auth, ApiToken):
        token = ApiToken.objects.select_related("owner").filter(pk=request.auth.pk).first()
        return None if token is None or tokens.end_reason(token, timezone.now()) else _owner(token)
    again = HttpRequest()
    again.session = type(request.session)(request.session.session_key)
    return None if session_limits.exceeded_limit(again.session, time.time()) else get_user(again)


def _owner(token: ApiToken) -> User:
    token.owner.token_scopes = frozenset(token.scopes)  # type: ignore[attr-defined]  # read by audit.permissions
    token.owner.token_team = token.team_id  # type: ignore[attr-defined]  # as above
    return token.owner

"""REST views for signing in and out."""

from typing import Any

from django.conf import settings
from django.contrib.auth import authenticate, login
from django.db import transaction
from django.middleware.csrf import get_token
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.accounts import provider_views, providers
from dlqadmin.accounts.documents import SessionCluster, SessionDocument, SessionTeam, SignInOptions, SignInProvider
from dlqadmin.accounts.requests import SignInBody
from dlqadmin.audit.permissions import (
    APPROVE,
    READ_PAYLOADS,
    global_rights_of,
    has_permission,
    is_administrator,
    rights_of,
    role_of,
)
from dlqadmin.broker import cluster_settings
from dlqadmin.broker.availability import describe_cluster
from dlqadmin.rest.requests import checked
from dlqadmin.teams.models import Team, TeamRoleName
from dlqadmin.teams.reach import held_roles


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
        """Sign in. After too many tries the response is 429 with Retry-After.

        An account with two-factor sign-in needs a code. Without one the response is 401 with the problem's code
        `code_required`; then send name, password and code.
        """
        user = authenticate(request, **checked(SignInBody, request))
        if user is None:
            raise AuthenticationFailed("The name or the password is wrong.")
        with transaction.atomic():  # with its audit entry
            login(request, user)
        return _session(request)

    @extend_schema(operation_id="session_destroy", request=None, responses=SessionDocument)
    @method_decorator(csrf_protect)
    def delete(self, request: Request) -> Response:
        """Sign out."""
        return _session(request, provider_views.sign_out(request))


class SignInOptionsView(APIView):
    """The ways to sign in."""

    permission_classes = (AllowAny,)

    @extend_schema(operation_id="sign_in_options", responses=SignInOptions)
    def get(self, request: Request) -> Response:
        """Return the providers, and why this browser's last sign-in with one was refused. It says so once."""
        found = [providers.get(name) for name in providers.names()]
        listed = [
            SignInProvider(name=one.name, title=one.title, path=reverse("sign-in", args=[one.name]))
            for one in found
            if one is not None
        ]
        has_refusal = provider_views.REFUSAL in request.session
        refusal = request.session.pop(provider_views.REFUSAL) if has_refusal else None
        return Response(SignInOptions(providers=listed, local=settings.LOCAL_SIGN_IN, refusal=refusal))


def _session(request: Request, sign_out_path: str | None = None) -> Response:
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
            clusters=_session_clusters() if known else [],
            kafka=describe_cluster() if known else None,
            has_password=known and user.has_usable_password(),
            sign_out_path=sign_out_path,
        )
    )


def _session_clusters() -> list[SessionCluster]:
    """Return the enabled clusters, the own one first."""
    found = (cluster_settings.own(), *cluster_settings.others().values())
    return [
        SessionCluster(
            name=one.name,
            environment=one.environment,
            colour=one.colour,
            is_read_only=one.is_read_only,
            is_indexed=bool(one.dead_letter_topics),
        )
        for one in found
        if one.is_enabled
    ]


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

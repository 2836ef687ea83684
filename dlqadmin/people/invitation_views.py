"""REST views of invitations and password links."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.accounts.backend import needs_password_alone
from dlqadmin.accounts.views import NO_STORE
from dlqadmin.audit.permissions import IsAdministrator
from dlqadmin.people import invitations
from dlqadmin.people.authority import IsTeamAdmin, administered_teams
from dlqadmin.people.documents import CreatedInvitation, InvitationDocument, InvitationList, OfferDocument
from dlqadmin.people.models import Invitation
from dlqadmin.people.people_list import invitation_document
from dlqadmin.people.requests import AcceptBody, InvitationBody, OfferBody
from dlqadmin.people.views import team_of
from dlqadmin.rest.current_request import client_address
from dlqadmin.rest.documents import extend
from dlqadmin.rest.links import page_link
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.requests import checked
from dlqadmin.rest.times import iso

SHOWN = 200  # invitations, ended ones included
PASSWORD_LINK_DAYS = 1


class InvitationsView(APIView):
    """Invitations into the teams whose people the reader may change."""

    permission_classes = (IsTeamAdmin,)

    @extend_schema(operation_id="invitations_list", responses=InvitationList)
    def get(self, request: Request) -> Response:
        """Return the invitations, newest first, including ended ones."""
        now = timezone.now()
        rows = _manageable(request.user).order_by("-pk")[:SHOWN]
        return Response(InvitationList(results=[invitation_document(row, now) for row in rows]))

    @extend_schema(operation_id="invitations_create", request=InvitationBody, responses={201: CreatedInvitation})
    def post(self, request: Request) -> Response:
        """Invite a person into a team, or for all teams. Only this response contains the link."""
        body, now = checked(InvitationBody, request), timezone.now()
        inviter: Any = request.user
        made, secret = invitations.invite(inviter, body["name"], team_of(body), body["roles"], body["days"], now)
        return _created(request, made, secret)


class InvitationView(APIView):
    """One invitation."""

    permission_classes = (IsTeamAdmin,)

    @extend_schema(operation_id="invitations_revoke", request=None, responses=InvitationDocument)
    def delete(self, request: Request, pk: int) -> Response:
        """Revoke the invitation, so that its link is refused."""
        found = _manageable(request.user).filter(pk=pk).first() if pk <= MAX_ID else None
        if found is None:
            raise Http404("There is no invitation with this id.")
        actor: Any = request.user
        now = timezone.now()
        invitations.revoke(actor, found, now)
        found.refresh_from_db()
        return Response(invitation_document(found, now))


class PasswordLinkView(APIView):
    """A link by which a person sets a new password."""

    permission_classes = (IsAdministrator,)

    @extend_schema(operation_id="people_password_link", request=None, responses={201: CreatedInvitation})
    def post(self, request: Request, pk: int) -> Response:
        """Create a link that works once, for a day. The password stays until the link is used."""
        account = User.objects.filter(pk=pk, is_active=True).first() if pk <= MAX_ID else None
        if account is None:
            raise Http404("There is no active person with this id.")
        inviter: Any = request.user
        made, secret = invitations.password_link(inviter, account, PASSWORD_LINK_DAYS, timezone.now())
        return _created(request, made, secret)


class OfferView(APIView):
    """The offer of an invitation."""

    permission_classes = (AllowAny,)

    @extend_schema(operation_id="invitations_offer", request=OfferBody, responses=OfferDocument)
    @method_decorator(csrf_protect)
    def post(self, request: Request) -> Response:
        """Return the team and the roles of the invitation with this secret. It is not used up."""
        found = invitations.offered(checked(OfferBody, request)["token"], timezone.now())
        return Response(
            OfferDocument(
                name=found.name,
                team=found.team.name if found.team else None,
                roles=found.roles,
                inviter=found.inviter.get_username() if found.inviter else "",
                username=found.account.get_username() if found.account else None,
                expires_at=iso(found.expires_at),
            ),
            headers=NO_STORE,
        )


class AcceptView(APIView):
    """The use of an invitation."""

    permission_classes = (AllowAny,)

    @extend_schema(operation_id="invitations_accept", request=AcceptBody, responses={204: None})
    @method_decorator(csrf_protect)
    def post(self, request: Request) -> Response:
        """Create the account, or set its password, and sign in. After too many tries the response is 429.

        An account that needs more than its password, such as a code, is not signed in.
        """
        body = checked(AcceptBody, request)
        user = invitations.accept(
            body["token"], body["username"], body["password"], client_address(request), timezone.now()
        )
        if needs_password_alone(user):
            with transaction.atomic():  # with its audit entry
                login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
        return Response(status=204)


def _manageable(user: Any) -> Any:
    teams = administered_teams(user)
    rows = Invitation.objects.select_related("team", "inviter")
    return rows if teams is None else rows.filter(team__in=teams)


def _created(request: Request, made: Invitation, secret: str) -> Response:
    link = page_link(request, f"/invitation/{secret}")
    shown = invitation_document(made, timezone.now())
    return Response(extend(CreatedInvitation, shown, link=link), status=201, headers=NO_STORE)

"""REST views of teams, people and sign-in groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.db.models import Model, QuerySet
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import SCOPES, IsAdministrator, IsViewer, IsViewerOrAdministrator
from dlqadmin.people.authority import IsTeamAdmin, require_change
from dlqadmin.people.documents import HolderDocument, HolderList, TeamDocument, TeamList
from dlqadmin.people.people_list import (
    active_people_named,
    groups_in_reach,
    holders,
    people_in_reach,
    team_documents,
    team_version,
    teams_in_reach,
)
from dlqadmin.people.requests import AddedPersonBody, PersonBody, RolesBody, SignInGroupBody, TeamBody
from dlqadmin.people.role_changes import LAST_ADMINISTRATOR, Holder, change_roles, other_administrators, roles_of
from dlqadmin.rest.pagination import MAX_ID, parse_id
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.requests import checked
from dlqadmin.teams.models import Team

MOST_TEAMS = 500
NOT_ONE_PERSON = (
    "There is no active account, or more than one, with exactly this user name or e-mail address. "
    "Invite the person by link."
)
Row = TypeVar("Row", bound=Model)


class TeamListView(APIView):
    """The teams."""

    permission_classes = (IsViewerOrAdministrator,)

    @extend_schema(operation_id="teams_list", responses=TeamList)
    def get(self, request: Request) -> Response:
        """Return the teams in reach by name."""
        return Response(TeamList(results=team_documents(request.user, teams_in_reach())))

    @extend_schema(operation_id="teams_create", request=TeamBody, responses={201: TeamDocument})
    def post(self, request: Request) -> Response:
        """Create a team."""
        body = checked(TeamBody, request)
        if Team.objects.count() >= MOST_TEAMS:
            raise StateConflict(f"There are {MOST_TEAMS} teams, the maximum.")
        team = Team(name=body["name"], created_at=timezone.now())
        _save_team(team, body)
        return Response(team_documents(request.user, [team])[0], status=201)


class TeamView(APIView):
    """One team."""

    permission_classes = (IsAdministrator,)

    @extend_schema(operation_id="teams_change", request=TeamBody, responses=TeamDocument)
    def put(self, request: Request, pk: int) -> Response:
        """Change the name of a team, and what it owns. It is effective with the next request of each person."""
        body = checked(TeamBody, request)
        with transaction.atomic():
            team = _find(Team.objects.select_for_update(), pk, "team")
            if body["version"] != team_version(team):
                raise StateConflict("Somebody else changed this team meanwhile. Load it again, then change it.")
            team.name = body["name"]
            _save_team(team, body)
        return Response(team_documents(request.user, [team])[0])

    @extend_schema(operation_id="teams_delete", request=None, responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a team, with its roles, invitations and the API tokens that are limited to it."""
        with transaction.atomic():
            _find(Team.objects.select_for_update(), pk, "team").delete()
        return Response(status=204)


class TeamPeopleView(APIView):
    """The people of one team."""

    permission_classes = (IsTeamAdmin,)

    @extend_schema(operation_id="teams_people_add", request=AddedPersonBody, responses={201: HolderDocument})
    def post(self, request: Request, pk: int) -> Response:
        """Give a person who is not in the team roles in it. The name or the e-mail address must be exact."""
        body = checked(AddedPersonBody, request)
        team = _find(teams_in_reach(), pk, "team")
        require_change(request.user, team)
        found = active_people_named(body["name"])
        if len(found) != 1:
            raise Http404(NOT_ONE_PERSON)
        if roles_of(found[0], team):
            raise StateConflict(f"{found[0]} is in {team.name} already. Change the roles in the list.")
        change_roles(request.user, found[0], team, body["roles"], ())
        return _changed(request, found[0], team, 201)


class PeopleView(APIView):
    """People and sign-in groups."""

    permission_classes = (IsViewer,)

    @extend_schema(
        operation_id="people_list",
        parameters=[OpenApiParameter("team", int, description="The id of a team. Without it, everybody in reach.")],
        responses=HolderList,
    )
    def get(self, request: Request) -> Response:
        """Return the people and groups of a team with their roles in it, or everybody in reach."""
        asked = request.query_params.get("team", "")
        if not asked:
            return Response(holders(request.user, None))
        return Response(holders(request.user, _find(teams_in_reach(), parse_id("team", asked), "team")))


class PersonView(APIView):
    """One person's account."""

    permission_classes = (IsAdministrator,)

    @extend_schema(operation_id="people_change", request=PersonBody, responses={204: None})
    def patch(self, request: Request, pk: int) -> Response:
        """Deactivate an account, which ends its sessions and API tokens, or activate it again."""
        active = checked(PersonBody, request)["active"]
        with transaction.atomic():
            user = _find(User.objects.select_for_update(), pk, "person")
            if user.is_superuser and user.is_active and not active and not other_administrators(user):
                raise StateConflict(LAST_ADMINISTRATOR)
            if user.is_active != active:
                user.is_active = active
                user.save(update_fields=["is_active"])
        return Response(status=204)


class PersonRolesView(APIView):
    """The roles of one person."""

    permission_classes = (IsTeamAdmin,)

    @extend_schema(operation_id="people_roles_change", request=RolesBody, responses=HolderDocument)
    def put(self, request: Request, pk: int) -> Response:
        """Give a person these roles, and no others, in a team or for all teams.

        It is effective with the person's next request. The response is 409 if the roles changed meanwhile. The admin
        of a team reaches the people of the team by id.
        """
        return _change_roles(request, people_in_reach, pk)


class SignInGroupsView(APIView):
    """Groups of people who have roles together."""

    permission_classes = (IsAdministrator,)

    @extend_schema(operation_id="sign_in_groups_create", request=SignInGroupBody, responses={204: None})
    def post(self, request: Request) -> Response:
        """Create a group of these people."""
        body = checked(SignInGroupBody, request)
        with transaction.atomic():
            group = Group(name=body["name"])
            _save_named(group)
            group.user_set.set(_members(body["members"]))
        return Response(status=204)


class SignInGroupView(APIView):
    """One group of people who have roles together."""

    permission_classes = (IsAdministrator,)

    @extend_schema(operation_id="sign_in_groups_change", request=SignInGroupBody, responses={204: None})
    def put(self, request: Request, pk: int) -> Response:
        """Change the name of a group and its people. The response is 409 if its people changed meanwhile."""
        body = checked(SignInGroupBody, request)
        with transaction.atomic():
            group = _find(Group.objects.select_for_update().exclude(name__in=SCOPES), pk, "sign-in group")
            if set(body["opened"]) != set(group.user_set.values_list("username", flat=True)):
                raise StateConflict("Somebody else changed this group meanwhile. Load it again, then change it.")
            group.name = body["name"]
            _save_named(group)
            group.user_set.set(_members(body["members"]))
        return Response(status=204)

    @extend_schema(operation_id="sign_in_groups_delete", request=None, responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a group. Its people lose the roles of the group."""
        with transaction.atomic():
            _find(Group.objects.exclude(name__in=SCOPES), pk, "sign-in group").delete()
        return Response(status=204)


class SignInGroupRolesView(APIView):
    """The roles of one group."""

    permission_classes = (IsTeamAdmin,)

    @extend_schema(operation_id="sign_in_groups_roles_change", request=RolesBody, responses=HolderDocument)
    def put(self, request: Request, pk: int) -> Response:
        """Give the people of a group these roles, and no others, in a team or for all teams.

        The admin of a team reaches the groups of the team.
        """
        return _change_roles(request, groups_in_reach, pk)


def team_of(body: dict[str, Any]) -> Team | None:
    """Return the team of a body, or None for all teams. Raises Http404 for a team that is out of reach."""
    return None if body["team"] is None else _find(teams_in_reach(), body["team"], "team")


def _change_roles(request: Request, in_reach: Callable[[], QuerySet[Any]], pk: int) -> Response:
    body = checked(RolesBody, request)
    team = team_of(body)
    require_change(request.user, team)
    # The answer shows the holder, so an id that is out of reach must not work.
    holder: Holder = _find(in_reach(), pk, "person or group")
    change_roles(request.user, holder, team, body["roles"], body["opened"])
    return _changed(request, holder, team, 200)


def _changed(request: Request, holder: Holder, team: Team | None, status: int) -> Response:
    shown = holders(request.user, team).results
    kind = "user" if isinstance(holder, User) else "group"
    found = next((one for one in shown if (one.kind, one.id) == (kind, holder.pk)), None)
    return Response(found, status=status if found else 204)


def _find(rows: QuerySet[Row], pk: int, noun: str) -> Row:
    found = rows.filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404(f"There is no {noun} with this id.")
    return found


def _save_team(team: Team, body: dict[str, Any]) -> None:
    team.topics, team.connectors = (list(dict.fromkeys(body[name])) for name in ("topics", "connectors"))
    _save_named(team)


def _save_named(row: Team | Group) -> None:
    """Save a row with a unique name. Raises ValidationError if the name is taken."""
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise ValidationError({"name": [f"{row} exists already. Choose another name."]}) from error


def _members(names: list[str]) -> list[User]:
    """Return the people with these names. Raises ValidationError."""
    found = list(User.objects.filter(username__in=names))
    if unknown := set(names) - {user.get_username() for user in found}:
        raise ValidationError({"members": [f"There is no person named {min(unknown)}."]})
    return found

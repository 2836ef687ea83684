"""REST views for people's actions on groups."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import User
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator
from dlqadmin.deadletters.groups import details, merge_and_split, triage
from dlqadmin.deadletters.groups.documents import ChangedGroups, GroupDetail, RegroupingDocument
from dlqadmin.deadletters.groups.requests import (
    AssignmentBody,
    GroupsAssignmentBody,
    GroupsMergeBody,
    GroupsMuteBody,
    GroupSplitBody,
    GroupsReasonBody,
    NoteBody,
    ReasonBody,
)
from dlqadmin.deadletters.groups.views import find_group, group_response
from dlqadmin.deadletters.models import Group, Regrouping, RegroupingMove
from dlqadmin.deadletters.models.reach import has_whole_groups
from dlqadmin.rest.links import page_link
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.requests import actor, checked
from dlqadmin.teams.models import Team
from dlqadmin.teams.reach import current_reach

NOT_WHOLE = "A group has dead letters that your teams do not own. It needs somebody who may act on all of them."


class GroupActionView(APIView):
    """Base class of the actions on groups. Only operators may run them."""

    permission_classes = (IsOperator,)


class GroupResolve(GroupActionView):
    """Resolve a group: its cause is fixed."""

    @extend_schema(operation_id="groups_resolve", request=ReasonBody, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Resolve the group. If it fails again, it returns as regressed."""
        _check_exists(pk)
        _check_whole([pk])
        triage.resolve([pk], actor(request), checked(ReasonBody, request)["reason"], timezone.now())
        return group_response(request, find_group(pk))


class GroupReopen(GroupActionView):
    """Undo a resolution or a mute."""

    @extend_schema(operation_id="groups_reopen", request=ReasonBody, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Open the group again."""
        _check_exists(pk)
        _check_whole([pk])
        triage.reopen([pk], actor(request), checked(ReasonBody, request)["reason"], timezone.now())
        return group_response(request, find_group(pk))


class GroupAssign(GroupActionView):
    """Assign a group."""

    @extend_schema(operation_id="groups_assign", request=AssignmentBody, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Assign the group to a user or a team, or to nobody."""
        _check_exists(pk)
        _check_whole([pk])
        owner = _find_owner(checked(AssignmentBody, request))
        triage.assign([pk], actor(request), owner, timezone.now())
        return group_response(request, find_group(pk))


class GroupNotes(GroupActionView):
    """Notes on a group."""

    @extend_schema(operation_id="groups_note", request=NoteBody, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Add a note."""
        _check_exists(pk)
        link = page_link(request, f"/groups/{pk}")
        triage.add_note(pk, actor(request), checked(NoteBody, request)["text"], timezone.now(), link)
        return group_response(request, find_group(pk))


class GroupSplit(GroupActionView):
    """Split fingerprints off a group."""

    @extend_schema(operation_id="groups_split", request=GroupSplitBody, responses=RegroupingDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Move the chosen fingerprints to a new group, the target in the response."""
        _check_exists(pk)
        _check_whole([pk])
        body = checked(GroupSplitBody, request)
        done = merge_and_split.split(pk, body["fingerprints"], actor(request), body["reason"], timezone.now())
        return Response(details.regrouping(done))


class GroupsResolve(GroupActionView):
    """Resolve several groups."""

    @extend_schema(operation_id="groups_resolve_many", request=GroupsReasonBody, responses=ChangedGroups)
    def post(self, request: Request) -> Response:
        """Resolve the groups that are not resolved yet."""
        body = checked(GroupsReasonBody, request)
        _check_whole(body["groups"])
        changed = triage.resolve(body["groups"], actor(request), body["reason"], timezone.now())
        return Response(ChangedGroups(changed=changed))


class GroupsReopen(GroupActionView):
    """Undo the resolution or mute of several groups."""

    @extend_schema(operation_id="groups_reopen_many", request=GroupsReasonBody, responses=ChangedGroups)
    def post(self, request: Request) -> Response:
        """Open the groups that are resolved or muted."""
        body = checked(GroupsReasonBody, request)
        _check_whole(body["groups"])
        changed = triage.reopen(body["groups"], actor(request), body["reason"], timezone.now())
        return Response(ChangedGroups(changed=changed))


class GroupsMute(GroupActionView):
    """Mute several groups for some time."""

    @extend_schema(operation_id="groups_mute", request=GroupsMuteBody, responses=ChangedGroups)
    def post(self, request: Request) -> Response:
        """Mute the groups that are not resolved."""
        body = checked(GroupsMuteBody, request)
        wanted = triage.MuteConditions(body["until"], body["events"], body["rate"])
        _check_whole(body["groups"])
        changed = triage.mute(body["groups"], wanted, actor(request), body["reason"], timezone.now())
        return Response(ChangedGroups(changed=changed))


class GroupsAssign(GroupActionView):
    """Assign several groups."""

    @extend_schema(operation_id="groups_assign_many", request=GroupsAssignmentBody, responses=ChangedGroups)
    def post(self, request: Request) -> Response:
        """Assign the groups to a user or a team, or to nobody."""
        body = checked(GroupsAssignmentBody, request)
        _check_whole(body["groups"])
        changed = triage.assign(body["groups"], actor(request), _find_owner(body), timezone.now())
        return Response(ChangedGroups(changed=changed))


class GroupsMerge(GroupActionView):
    """Merge several groups."""

    @extend_schema(operation_id="groups_merge", request=GroupsMergeBody, responses=RegroupingDocument)
    def post(self, request: Request) -> Response:
        """Merge the groups into one of them, the target in the response. The merge can be undone."""
        body = checked(GroupsMergeBody, request)
        _check_whole([*body["groups"], *([body["into"]] if body["into"] else [])])
        into = body["into"] or merge_and_split.first_seen(body["groups"])
        done = merge_and_split.merge(into, body["groups"], actor(request), body["reason"], timezone.now())
        return Response(details.regrouping(done))


class RegroupingUndo(GroupActionView):
    """Undo a merge or a split."""

    @extend_schema(operation_id="regroupings_undo", request=None, responses=RegroupingDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Move every fingerprint back to its former group."""
        if pk > MAX_ID or not Regrouping.objects.filter(pk=pk).exists():
            raise Http404("There is no merge or split with this id.")
        moves = RegroupingMove._base_manager.filter(regrouping=pk)  # also those out of reach
        if not has_whole_groups(group for pair in moves.values_list("from_group", "to_group") for group in pair):
            raise PermissionDenied(NOT_WHOLE)
        return Response(details.regrouping(merge_and_split.undo(pk, actor(request), timezone.now())))


def _check_exists(pk: int) -> None:
    """Raise Http404 if the group does not exist. A merged group exists; the action then refuses it."""
    if pk > MAX_ID or not Group.objects.filter(pk=pk).exists():
        raise Http404("There is no group with this id.")


def _check_whole(groups: Collection[int]) -> None:
    """Check that the request reaches all dead letters of these groups, because the action changes whole groups.

    Raises ParameterError for a group of which it reaches none.
    """
    if not current_reach().is_limited:
        return
    there = set(Group.objects.filter(pk__in=groups).values_list("pk", flat=True))
    if missing := sorted(set(groups) - there):
        raise ParameterError("groups", f"group {missing[0]} does not exist")
    if not has_whole_groups(groups):
        raise PermissionDenied(NOT_WHOLE)


def _find_owner(body: dict[str, Any]) -> User | Team | None:
    if name := body["username"]:
        if owner := User.objects.filter(username=name, is_active=True).first():
            return owner
        raise serializers.ValidationError({"username": ["This user does not exist."]})
    if name := body["team"]:
        if team := Team.objects.filter(name=name).first():
            return team
        raise serializers.ValidationError({"team": ["This team does not exist."]})
    return None

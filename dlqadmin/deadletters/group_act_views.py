"""What people do to groups, over REST."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator
from dlqadmin.deadletters import group_details, regrouping, triaging
from dlqadmin.deadletters.group_serializers import (
    Assignment,
    AssignmentOfGroups,
    Changed,
    GroupDetail,
    MergeOfGroups,
    MuteForGroups,
    Note,
    Reason,
    ReasonForGroups,
    RegroupingDocument,
    SplitOfGroup,
)
from dlqadmin.deadletters.group_views import answer, find
from dlqadmin.deadletters.models import Group, Regrouping
from dlqadmin.rest.pagination import MAX_ID


class Act(APIView):
    """Something a person does."""

    permission_classes = (IsOperator,)

    def body(self, request: Request, form: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """The checked body of the request."""
        body = form(data=request.data)
        body.is_valid(raise_exception=True)
        checked: dict[str, Any] = body.validated_data
        return checked


class GroupResolve(Act):
    """Say that the cause is gone."""

    @extend_schema(operation_id="groups_resolve", request=Reason, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Resolve the group; it comes back as regressed if it fails again."""
        _there(pk)
        triaging.resolve([pk], _actor(request), self.body(request, Reason)["reason"], timezone.now())
        return answer(request, find(pk))


class GroupReopen(Act):
    """Take back a resolution or a mute."""

    @extend_schema(operation_id="groups_reopen", request=Reason, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Open the group again."""
        _there(pk)
        triaging.reopen([pk], _actor(request), self.body(request, Reason)["reason"], timezone.now())
        return answer(request, find(pk))


class GroupAssign(Act):
    """Say who looks after a group."""

    @extend_schema(operation_id="groups_assign", request=Assignment, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Assign the group to a user, or with null to nobody."""
        _there(pk)
        owner = _owner(self.body(request, Assignment)["username"])
        triaging.assign([pk], _actor(request), owner, timezone.now())
        return answer(request, find(pk))


class GroupNotes(Act):
    """Notes on a group."""

    @extend_schema(operation_id="groups_note", request=Note, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Add a note."""
        _there(pk)
        triaging.add_note(pk, _actor(request), self.body(request, Note)["text"], timezone.now())
        return answer(request, find(pk))


class GroupSplit(Act):
    """Say that a part of a group is another one."""

    @extend_schema(operation_id="groups_split", request=SplitOfGroup, responses=RegroupingDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Make the chosen fingerprints a new group, the target of the answer."""
        _there(pk)
        body = self.body(request, SplitOfGroup)
        done = regrouping.split(pk, body["fingerprints"], _actor(request), body["reason"], timezone.now())
        return Response(group_details.regrouping(done))


class GroupsResolve(Act):
    """Say of several groups that the cause is gone."""

    @extend_schema(operation_id="groups_resolve_many", request=ReasonForGroups, responses=Changed)
    def post(self, request: Request) -> Response:
        """Resolve those that are not resolved yet."""
        body = self.body(request, ReasonForGroups)
        changed = triaging.resolve(body["groups"], _actor(request), body["reason"], timezone.now())
        return Response({"changed": changed})


class GroupsReopen(Act):
    """Take back what closed several groups."""

    @extend_schema(operation_id="groups_reopen_many", request=ReasonForGroups, responses=Changed)
    def post(self, request: Request) -> Response:
        """Open those that are resolved or muted."""
        body = self.body(request, ReasonForGroups)
        changed = triaging.reopen(body["groups"], _actor(request), body["reason"], timezone.now())
        return Response({"changed": changed})


class GroupsMute(Act):
    """Take groups out of sight for a while."""

    @extend_schema(operation_id="groups_mute", request=MuteForGroups, responses=Changed)
    def post(self, request: Request) -> Response:
        """Mute those that are not resolved."""
        body = self.body(request, MuteForGroups)
        wanted = triaging.Mute(body["until"], body["events"], body["rate"])
        changed = triaging.mute(body["groups"], wanted, _actor(request), body["reason"], timezone.now())
        return Response({"changed": changed})


class GroupsAssign(Act):
    """Say who looks after several groups."""

    @extend_schema(operation_id="groups_assign_many", request=AssignmentOfGroups, responses=Changed)
    def post(self, request: Request) -> Response:
        """Assign the groups to a user, or with null to nobody."""
        body = self.body(request, AssignmentOfGroups)
        changed = triaging.assign(body["groups"], _actor(request), _owner(body["username"]), timezone.now())
        return Response({"changed": changed})


class GroupsMerge(Act):
    """Say that several groups are one."""

    @extend_schema(operation_id="groups_merge", request=MergeOfGroups, responses=RegroupingDocument)
    def post(self, request: Request) -> Response:
        """Merge them into one of them, the target of the answer; taken back by its undo."""
        body = self.body(request, MergeOfGroups)
        into = body["into"] or regrouping.first_seen(body["groups"])
        done = regrouping.merge(into, body["groups"], _actor(request), body["reason"], timezone.now())
        return Response(group_details.regrouping(done))


class RegroupingUndo(Act):
    """Take back a merge or a split."""

    @extend_schema(operation_id="regroupings_undo", request=None, responses=RegroupingDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Move every fingerprint back to the group it was in."""
        if pk > MAX_ID or not Regrouping.objects.filter(pk=pk).exists():
            raise Http404("There is no merge or split with this id.")
        return Response(group_details.regrouping(regrouping.undo(pk, _actor(request), timezone.now())))


def _there(pk: int) -> None:
    """Raises Http404 when there is no such group; one that was merged is there, and refuses."""
    if pk > MAX_ID or not Group.objects.filter(pk=pk).exists():
        raise Http404("There is no group with this id.")


def _owner(name: str | None) -> User | None:
    owner = User.objects.filter(username=name, is_active=True).first() if name else None
    if name and owner is None:
        raise serializers.ValidationError({"username": ["There is no such user."]})
    return owner


def _actor(request: Request) -> User:
    user: Any = request.user
    assert isinstance(user, User)
    return user

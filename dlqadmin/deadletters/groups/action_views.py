"""REST views for people's actions on groups."""

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
from dlqadmin.deadletters.groups import details, merge_and_split, triage
from dlqadmin.deadletters.groups.serializers import (
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
from dlqadmin.deadletters.groups.views import answer, find
from dlqadmin.deadletters.models import Group, Regrouping
from dlqadmin.rest.pagination import MAX_ID


class Act(APIView):
    """Base class of the actions on groups. Only operators may run them."""

    permission_classes = (IsOperator,)

    def body(self, request: Request, form: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """Return the validated body of the request."""
        body = form(data=request.data)
        body.is_valid(raise_exception=True)
        checked: dict[str, Any] = body.validated_data
        return checked


class GroupResolve(Act):
    """Resolve a group: its cause is fixed."""

    @extend_schema(operation_id="groups_resolve", request=Reason, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Resolve the group. If it fails again, it returns as regressed."""
        _there(pk)
        triage.resolve([pk], _actor(request), self.body(request, Reason)["reason"], timezone.now())
        return answer(request, find(pk))


class GroupReopen(Act):
    """Undo a resolution or a mute."""

    @extend_schema(operation_id="groups_reopen", request=Reason, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Open the group again."""
        _there(pk)
        triage.reopen([pk], _actor(request), self.body(request, Reason)["reason"], timezone.now())
        return answer(request, find(pk))


class GroupAssign(Act):
    """Assign a group."""

    @extend_schema(operation_id="groups_assign", request=Assignment, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Assign the group to a user, or with null to nobody."""
        _there(pk)
        owner = _owner(self.body(request, Assignment)["username"])
        triage.assign([pk], _actor(request), owner, timezone.now())
        return answer(request, find(pk))


class GroupNotes(Act):
    """Notes on a group."""

    @extend_schema(operation_id="groups_note", request=Note, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Add a note."""
        _there(pk)
        triage.add_note(pk, _actor(request), self.body(request, Note)["text"], timezone.now())
        return answer(request, find(pk))


class GroupSplit(Act):
    """Split fingerprints off a group."""

    @extend_schema(operation_id="groups_split", request=SplitOfGroup, responses=RegroupingDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Move the chosen fingerprints to a new group, the target in the response."""
        _there(pk)
        body = self.body(request, SplitOfGroup)
        done = merge_and_split.split(pk, body["fingerprints"], _actor(request), body["reason"], timezone.now())
        return Response(details.regrouping(done))


class GroupsResolve(Act):
    """Resolve several groups."""

    @extend_schema(operation_id="groups_resolve_many", request=ReasonForGroups, responses=Changed)
    def post(self, request: Request) -> Response:
        """Resolve the groups that are not resolved yet."""
        body = self.body(request, ReasonForGroups)
        changed = triage.resolve(body["groups"], _actor(request), body["reason"], timezone.now())
        return Response({"changed": changed})


class GroupsReopen(Act):
    """Undo the resolution or mute of several groups."""

    @extend_schema(operation_id="groups_reopen_many", request=ReasonForGroups, responses=Changed)
    def post(self, request: Request) -> Response:
        """Open the groups that are resolved or muted."""
        body = self.body(request, ReasonForGroups)
        changed = triage.reopen(body["groups"], _actor(request), body["reason"], timezone.now())
        return Response({"changed": changed})


class GroupsMute(Act):
    """Mute several groups for some time."""

    @extend_schema(operation_id="groups_mute", request=MuteForGroups, responses=Changed)
    def post(self, request: Request) -> Response:
        """Mute the groups that are not resolved."""
        body = self.body(request, MuteForGroups)
        wanted = triage.Mute(body["until"], body["events"], body["rate"])
        changed = triage.mute(body["groups"], wanted, _actor(request), body["reason"], timezone.now())
        return Response({"changed": changed})


class GroupsAssign(Act):
    """Assign several groups."""

    @extend_schema(operation_id="groups_assign_many", request=AssignmentOfGroups, responses=Changed)
    def post(self, request: Request) -> Response:
        """Assign the groups to a user, or with null to nobody."""
        body = self.body(request, AssignmentOfGroups)
        changed = triage.assign(body["groups"], _actor(request), _owner(body["username"]), timezone.now())
        return Response({"changed": changed})


class GroupsMerge(Act):
    """Merge several groups."""

    @extend_schema(operation_id="groups_merge", request=MergeOfGroups, responses=RegroupingDocument)
    def post(self, request: Request) -> Response:
        """Merge the groups into one of them, the target in the response. The merge can be undone."""
        body = self.body(request, MergeOfGroups)
        into = body["into"] or merge_and_split.first_seen(body["groups"])
        done = merge_and_split.merge(into, body["groups"], _actor(request), body["reason"], timezone.now())
        return Response(details.regrouping(done))


class RegroupingUndo(Act):
    """Undo a merge or a split."""

    @extend_schema(operation_id="regroupings_undo", request=None, responses=RegroupingDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Move every fingerprint back to its former group."""
        if pk > MAX_ID or not Regrouping.objects.filter(pk=pk).exists():
            raise Http404("There is no merge or split with this id.")
        return Response(details.regrouping(merge_and_split.undo(pk, _actor(request), timezone.now())))


def _there(pk: int) -> None:
    """Raise Http404 if the group does not exist. A merged group exists; the action then refuses it."""
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

"""Groups over REST: list, detail, and what people do to them."""

from __future__ import annotations

import time
from typing import Any

from django.contrib.auth.models import User
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator
from dlqadmin.deadletters import groups, triaging
from dlqadmin.deadletters.filters import COUNTED, parse_filters
from dlqadmin.deadletters.models import Group
from dlqadmin.deadletters.serializers import Assignment, GroupDetail, GroupPage, Note, Reason
from dlqadmin.deadletters.states import TABS
from dlqadmin.deadletters.views import FILTERS, PAGING, TIME, took_ms
from dlqadmin.rest.pagination import MAX_ID, decode_cursor, encode_cursor, parse_limit
from dlqadmin.rest.problems import ParameterError

COUNTED_FILTERS = [row for row in FILTERS if row.name.removeprefix("not_") in ("from", "to", *COUNTED)]


class GroupList(APIView):
    """The list of groups."""

    @extend_schema(
        operation_id="groups_list",
        parameters=[
            *COUNTED_FILTERS,
            OpenApiParameter("status", str, enum=list(TABS), description="A tab; all groups without it."),
            OpenApiParameter("sort", str, enum=list(groups.SORTS)),
            *PAGING,
        ],
        responses=GroupPage,
    )
    def get(self, request: Request) -> Response:
        """Groups with events in the time range, counted exactly."""
        started, now, params = time.perf_counter(), timezone.now(), request.query_params
        filters = parse_filters(params)
        if not filters.counted:
            beyond = sorted((filters.include.keys() | filters.exclude.keys()) - set(COUNTED))
            raise ParameterError(beyond[0], "is not a filter of groups")
        tab, sort = params.get("status"), params.get("sort") or "last_seen"
        if tab and tab not in TABS:
            raise ParameterError("status", f"must be one of {', '.join(TABS)}")
        if sort not in groups.SORTS:
            raise ParameterError("sort", f"must be one of {', '.join(groups.SORTS)}")
        place = decode_cursor(params.get("cursor"), int)
        first, limit = max(0, int(place[0])) if place else 0, parse_limit(params.get("limit"), default=50)
        every = groups.summaries(filters, now)
        rows = groups.ordered([row for row in every if not tab or row.state in TABS[tab]], sort)
        shown = rows[first : first + limit]
        return Response(
            {
                "results": groups.documents(shown, filters, now),
                "next": encode_cursor([first + limit]) if first + limit < len(rows) else None,
                "counts": groups.tab_counts(every),
                "total_records": sum(row.events for row in rows),
                "took_ms": took_ms(started),
                "exact": True,
            }
        )


class GroupRecord(APIView):
    """One group."""

    @extend_schema(operation_id="groups_retrieve", parameters=TIME, responses=GroupDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Why its dead letters are one group, what they share, what was done."""
        return _answer(request, _find(pk))


class GroupAct(APIView):
    """Something a person does to a group."""

    permission_classes = (IsOperator,)

    def act(self, request: Request, pk: int, form: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """The checked body of the request, for a group that exists."""
        _find(pk)
        body = form(data=request.data)
        body.is_valid(raise_exception=True)
        checked: dict[str, Any] = body.validated_data
        return checked


class GroupResolve(GroupAct):
    """Say that the cause is gone."""

    @extend_schema(operation_id="groups_resolve", request=Reason, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Resolve the group; it comes back as regressed if it fails again."""
        body = self.act(request, pk, Reason)
        triaging.resolve(pk, _actor(request), body["reason"], timezone.now())
        return _answer(request, _find(pk))


class GroupReopen(GroupAct):
    """Take back a resolution."""

    @extend_schema(operation_id="groups_reopen", request=Reason, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Open the group again."""
        body = self.act(request, pk, Reason)
        triaging.reopen(pk, _actor(request), body["reason"], timezone.now())
        return _answer(request, _find(pk))


class GroupAssign(GroupAct):
    """Say who looks after a group."""

    @extend_schema(operation_id="groups_assign", request=Assignment, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Assign the group to a user, or with null to nobody."""
        name = self.act(request, pk, Assignment)["username"]
        owner = User.objects.filter(username=name, is_active=True).first() if name else None
        if name and owner is None:
            raise serializers.ValidationError({"username": ["There is no such user."]})
        triaging.assign(pk, _actor(request), owner, timezone.now())
        return _answer(request, _find(pk))


class GroupNotes(GroupAct):
    """Notes on a group."""

    @extend_schema(operation_id="groups_note", request=Note, responses=GroupDetail)
    def post(self, request: Request, pk: int) -> Response:
        """Add a note."""
        triaging.add_note(pk, _actor(request), self.act(request, pk, Note)["text"], timezone.now())
        return _answer(request, _find(pk))


def _answer(request: Request, group: Group) -> Response:
    filters = parse_filters(request.query_params)
    return Response({**groups.document(group, filters, timezone.now()), **groups.detail(group)})


def _find(pk: int) -> Group:
    group = Group.objects.select_related("owner").filter(pk=pk).first() if pk <= MAX_ID else None
    if group is None:
        raise Http404("There is no group with this id.")
    return group


def _actor(request: Request) -> User:
    user: Any = request.user
    assert isinstance(user, User)
    return user

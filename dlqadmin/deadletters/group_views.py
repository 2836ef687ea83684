"""Groups over REST: the list, one group, and what its records have in common."""

from __future__ import annotations

import time

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.deadletters import common, group_details, groups
from dlqadmin.deadletters.arrows import current
from dlqadmin.deadletters.filters import COUNTED, parse_filters
from dlqadmin.deadletters.group_serializers import CommonDocument, GroupDetail, GroupPage
from dlqadmin.deadletters.models import Group
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
        """Why its dead letters are one group, and what was done; one that was merged answers as the other."""
        return answer(request, find(pk))


class GroupCommon(APIView):
    """What the records of a group have in common."""

    @extend_schema(operation_id="groups_common", parameters=TIME, responses=CommonDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Values that are markedly more frequent in the group's newest 2 000 than in those of all others."""
        filters = parse_filters(request.query_params)
        own = find(pk).fingerprints.values_list("pk", flat=True)
        return Response(group_details.traits(common.common(own, filters.start, filters.end)))


def answer(request: Request, group: Group) -> Response:
    """The group as it is now."""
    filters = parse_filters(request.query_params)
    return Response({**groups.document(group, filters, timezone.now()), **group_details.detail(group, filters)})


def find(pk: int) -> Group:
    """The group with this id, or the one it was merged into. Raises Http404."""
    found = Group.objects.select_related("owner").filter(pk=current([pk])[pk]).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no group with this id.")
    return found

"""REST views of groups: the list, one group, and the values that its records share."""

from __future__ import annotations

import time

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.deadletters.group_states import TABS
from dlqadmin.deadletters.groups import common_values, details, summaries
from dlqadmin.deadletters.groups.documents import CommonDocument, GroupDetail, GroupPage
from dlqadmin.deadletters.index.group_links import current_groups
from dlqadmin.deadletters.models import Group
from dlqadmin.deadletters.payloads import reader_of
from dlqadmin.deadletters.search.filters import parse_filters
from dlqadmin.deadletters.search.list_views import (
    FILTERS,
    PAGING,
    QUERY_ID,
    TIME,
    audit_search,
    cancellable_query,
    took_ms,
)
from dlqadmin.rest.pagination import MAX_ID, decode_cursor, encode_cursor, parse_limit
from dlqadmin.rest.problems import ParameterError


class GroupList(APIView):
    """The list of groups."""

    @extend_schema(
        operation_id="groups_list",
        parameters=[
            *FILTERS,
            OpenApiParameter("status", str, enum=list(TABS), description="The tab. Without it, all groups are listed."),
            OpenApiParameter("owner", str, description="`me`, `none`, a user, or `team:` and a team's name."),
            OpenApiParameter("sort", str, enum=list(summaries.SORTS)),
            *PAGING,
            QUERY_ID,
        ],
        responses=GroupPage,
    )
    def get(self, request: Request) -> Response:
        """Return the groups with matching dead letters in the time range.

        Counters count filters by topic, connector, stage, exception and group exactly. For other filters,
        `events` counts the newest 10 000 matching dead letters, and the other counts are those of the whole
        group.
        """
        started, now, params = time.perf_counter(), timezone.now(), request.query_params
        reader = reader_of(request.user)
        filters = parse_filters(params, reader, probing=True)
        tab, sort = params.get("status"), params.get("sort") or "last_seen"
        if tab and tab not in TABS:
            raise ParameterError("status", f"must be one of {', '.join(TABS)}")
        if sort not in summaries.SORTS:
            raise ParameterError("sort", f"must be one of {', '.join(summaries.SORTS)}")
        place = decode_cursor(params.get("cursor"), int)
        first, limit = max(0, int(place[0])) if place else 0, parse_limit(params.get("limit"), default=50)
        audit_search(reader, request, filters, "groups")
        with cancellable_query(request):
            found = summaries.matching_cells(filters)
        every = summaries.owned_by(params.get("owner", ""), request.user, summaries.summarise(found.cells, now))
        rows = summaries.sort_summaries([row for row in every if not tab or row.state in TABS[tab]], sort)
        shown = rows[first : first + limit]
        return Response(
            GroupPage(
                results=summaries.documents(shown, summaries.counted_only(filters), now),
                next=encode_cursor([first + limit]) if first + limit < len(rows) else None,
                counts=summaries.tab_counts(every),
                total_records=sum(row.events for row in rows),
                took_ms=took_ms(started),
                exact=found.exact,
                of=found.of,
                partial=found.partial,
            )
        )


class GroupRecord(APIView):
    """One group."""

    @extend_schema(operation_id="groups_retrieve", parameters=TIME, responses=GroupDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Return the group's fingerprints and history. A merged group returns the group it was merged into."""
        return group_response(request, find_group(pk))


class GroupCommon(APIView):
    """The values that the records of a group share."""

    @extend_schema(operation_id="groups_common", parameters=TIME, responses=CommonDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Return values that are markedly more frequent in the group than in other dead letters.

        The newest 2 000 of the group and of the others are compared.
        """
        reader, group = reader_of(request.user), find_group(pk)
        filters = parse_filters(request.query_params, reader)
        own = group.fingerprints.values_list("pk", flat=True)
        found = common_values.common(own, filters.start, filters.end, reader)
        reader.note("group", str(group.pk), {"what": "values that its records have in common"}, records=found.here)
        return Response(details.traits(found, withheld=not reader.reads_any))


def group_response(request: Request, group: Group) -> Response:
    """Return the response for a group in its present state."""
    filters = parse_filters(request.query_params, reader_of(request.user))
    return Response(details.detail(group, summaries.document(group, filters, timezone.now()), filters))


def find_group(pk: int) -> Group:
    """Return the group with this id, or the one it was merged into. Raises Http404."""
    found = (
        Group.objects.select_related("owner", "team").filter(pk=current_groups([pk])[pk]).first()
        if pk <= MAX_ID
        else None
    )
    if found is None:
        raise Http404("There is no group with this id.")
    return found

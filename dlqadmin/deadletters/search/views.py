"""REST views of the query bar: completions, cancelling, and saved searches."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.entries import record
from dlqadmin.audit.permissions import IsViewerOrWritingOperator
from dlqadmin.deadletters.models import SavedSearch
from dlqadmin.deadletters.payloads import reader_of
from dlqadmin.deadletters.search import time_limits
from dlqadmin.deadletters.search.completions import complete
from dlqadmin.deadletters.search.documents import QueryCompletion, SavedSearchDocument, SavedSearchList, saved_document
from dlqadmin.deadletters.search.filters import check_query, query_has_content_filter
from dlqadmin.deadletters.search.query_parser import MAX_LENGTH
from dlqadmin.deadletters.search.requests import SavedSearchBody
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.problems import ParameterError, StateConflict
from dlqadmin.rest.requests import actor, checked

MOST_SAVED = 200  # of one user


class Completions(APIView):
    """Completions while a query is typed."""

    @extend_schema(
        operation_id="dead_letters_complete",
        parameters=[
            OpenApiParameter("q", str, description="The query typed so far."),
            OpenApiParameter("at", int, description="The cursor position in characters. Default: the end."),
        ],
        responses=QueryCompletion,
    )
    def get(self, request: Request) -> Response:
        """Return at most 30 fields or values that fit at the cursor.

        After `value.`, readers of payloads get the members of the newest 50 values.
        """
        text = request.query_params.get("q", "")[:MAX_LENGTH].replace("\0", "")
        at = request.query_params.get("at") or str(len(text))
        if not (at.isascii() and at.isdigit() and len(at) < 6):
            raise ParameterError("at", "must be a whole number")
        return Response(complete(text, min(int(at), len(text)), reader_of(request.user)))


class RunningQuery(APIView):
    """A running query."""

    @extend_schema(
        operation_id="queries_cancel",
        request=None,
        parameters=[OpenApiParameter("query_id", {"type": "string", "pattern": "^[0-9A-Za-z-]{8,36}$"}, "path")],
        responses={204: None},
    )
    def delete(self, request: Request, query_id: str) -> Response:
        """Cancel the user's own query of this name, if it runs."""
        if not time_limits.NAME.fullmatch(query_id):
            raise ParameterError("query_id", "must be 8 to 36 letters, digits and hyphens")
        time_limits.cancel(request.user.pk or 0, query_id)
        return Response(status=204)


class SavedSearches(APIView):
    """Saved searches."""

    permission_classes = (IsViewerOrWritingOperator,)

    @extend_schema(operation_id="saved_searches_list", responses=SavedSearchList)
    def get(self, request: Request) -> Response:
        """Return the user's own searches and shared ones, by name."""
        rows = SavedSearch.objects.select_related("owner").filter(Q(owner=request.user.pk) | Q(shared=True))
        found = [saved_document(row, request.user.pk) for row in rows.order_by("name", "id")[:500]]
        if not reader_of(
            request.user
        ).reads_everything:  # the queries of others may contain keys and values of any record
            found = [one for one in found if one.mine or not query_has_content_filter(one.query)]
        return Response(SavedSearchList(results=found))

    @extend_schema(operation_id="saved_searches_create", request=SavedSearchBody, responses={201: SavedSearchDocument})
    def post(self, request: Request) -> Response:
        """Save a search under a name. The name must be unique among the user's own searches."""
        form = _validated_body(request)
        if SavedSearch.objects.filter(owner=request.user.pk).count() >= MOST_SAVED:
            raise StateConflict(f"You have {MOST_SAVED} saved searches, the maximum. Delete one first.")
        row = SavedSearch(owner=actor(request), created_at=timezone.now())
        return Response(_save(request, row, form, "saved"), status=201)


class OneSavedSearch(APIView):
    """One of the user's own saved searches."""

    permission_classes = (IsViewerOrWritingOperator,)

    @extend_schema(operation_id="saved_searches_update", request=SavedSearchBody, responses=SavedSearchDocument)
    def put(self, request: Request, pk: int) -> Response:
        """Change its name, its query, or whether it is shared."""
        return Response(_save(request, _own_search(request, pk), _validated_body(request), "changed"))

    @extend_schema(operation_id="saved_searches_delete", request=None, responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete the saved search."""
        row = _own_search(request, pk)
        with transaction.atomic():
            record(request.user, "deleted", "saved search", row.name, {"query": row.query, "shared": row.shared})
            row.delete()
        return Response(status=204)


def _validated_body(request: Request) -> dict[str, Any]:
    """Return the validated body. Raises ParameterError if the query is invalid."""
    body = checked(SavedSearchBody, request)
    check_query(body["query"])
    return body


def _save(request: Request, row: SavedSearch, form: dict[str, Any], act: str) -> SavedSearchDocument:
    row.name, row.query, row.shared = form["name"], form["query"], form["shared"]
    try:
        with transaction.atomic():
            row.save()
            record(request.user, act, "saved search", row.name, {"query": row.query, "shared": row.shared})
    except IntegrityError:
        raise StateConflict("You already have a saved search with this name.") from None
    return saved_document(row, request.user.pk)


def _own_search(request: Request, pk: int) -> SavedSearch:
    rows = SavedSearch.objects.select_related("owner").filter(owner=request.user.pk)
    row = rows.filter(pk=pk).first() if pk <= MAX_ID else None
    if row is None:
        raise Http404("You have no saved search with this id.")
    return row

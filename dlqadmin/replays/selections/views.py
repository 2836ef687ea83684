"""The API of selections."""

from __future__ import annotations

from django.db import IntegrityError
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator
from dlqadmin.replays.models import Selection
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.replays.selections.documents import SelectionDetail, SelectionDocument, selection_document
from dlqadmin.replays.selections.requests import SelectionBody
from dlqadmin.rest.documents import extend
from dlqadmin.rest.idempotency import IDEMPOTENCY, made_by, once
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.requests import actor, checked


class SelectionList(APIView):
    """Frozen selections."""

    permission_classes = (IsOperator,)

    @extend_schema(
        operation_id="selections_create",
        parameters=[IDEMPOTENCY],
        request=SelectionBody,
        responses={200: SelectionDocument, 201: SelectionDocument},
    )
    def post(self, request: Request) -> Response:
        """Freeze ticked records, or all records that a filter matches.

        The same Idempotency-Key returns the same selection.
        """
        asked, who, now = once(request), actor(request), timezone.now()
        if known := made_by(Selection, asked):
            return Response(selection_document(known))
        body = checked(SelectionBody, request)
        try:
            if "ids" in body:
                made = frozen_selections.by_ids(body["ids"], who, asked, now)
            else:
                made = frozen_selections.by_filter(body["filter"], who, asked, now)
        except IntegrityError:
            if known := made_by(Selection, asked):  # two equal requests at the same time
                return Response(selection_document(known))
            raise
        return Response(selection_document(made), status=201)


class SelectionRecord(APIView):
    """One selection."""

    @extend_schema(operation_id="selections_retrieve", responses=SelectionDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Return a selection, and whether its filter names other records by now."""
        found = _selection(pk)
        drifted = frozen_selections.drifted(found)
        return Response(extend(SelectionDetail, selection_document(found), drifted=drifted))


def _selection(pk: int) -> Selection:
    found = Selection.objects.select_related("created_by").filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no selection with this id.")
    return found

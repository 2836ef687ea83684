"""Lookup of a dead letter by coordinates that a person pasted."""

from __future__ import annotations

from typing import Literal

from django.conf import settings
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.deadletters.index.column_values import MAX_INT, MAX_LONG
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.rest.documents import Document


class DeadLetterMatch(Document):
    """A dead letter's id. `by` tells whether the coordinates are its own or those of its origin record."""

    id: int
    by: Literal["dead_letter", "origin"]


class DeadLetterAt(APIView):
    """The dead letter with given coordinates."""

    @extend_schema(operation_id="dead_letters_at", responses=DeadLetterMatch)
    def get(self, request: Request, topic: str, partition: int, offset: int) -> Response:
        """Return the dead letter at these coordinates, else the newest one with this origin."""
        if partition > MAX_INT or offset > MAX_LONG or "\0" in topic:
            raise Http404("These coordinates are not valid. Use topic/partition/offset.")
        rows = DeadLetter.objects.order_by("-failed_at", "-pk")
        own = rows.filter(cluster=settings.CLUSTER, topic=topic, partition=partition, offset=offset).first()
        if own:
            return Response(DeadLetterMatch(id=own.pk, by="dead_letter"))
        origin = rows.filter(origin_topic=topic, origin_partition=partition, origin_offset=offset).first()
        if origin is None:
            raise Http404("No dead letter with these coordinates is indexed.")
        return Response(DeadLetterMatch(id=origin.pk, by="origin"))

"""Lookup of a dead letter by coordinates that a person pasted."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.deadletters.index.column_values import MAX_INT, MAX_LONG
from dlqadmin.deadletters.models import DeadLetter


class Found(serializers.Serializer[Any]):
    """A dead letter's id. `by` tells whether the coordinates are its own or those of its origin record."""

    id = serializers.IntegerField()
    by = serializers.ChoiceField(choices=["dead_letter", "origin"])


class DeadLetterAt(APIView):
    """The dead letter with given coordinates."""

    @extend_schema(operation_id="dead_letters_at", responses=Found)
    def get(self, request: Request, topic: str, partition: int, offset: int) -> Response:
        """Return the dead letter at these coordinates, else the newest one with this origin."""
        if partition > MAX_INT or offset > MAX_LONG or "\0" in topic:
            raise Http404("There are no such coordinates.")
        rows = DeadLetter.objects.order_by("-failed_at", "-pk")
        own = rows.filter(cluster=settings.CLUSTER, topic=topic, partition=partition, offset=offset).first()
        if own:
            return Response({"id": own.pk, "by": "dead_letter"})
        origin = rows.filter(origin_topic=topic, origin_partition=partition, origin_offset=offset).first()
        if origin is None:
            raise Http404("No dead letter with these coordinates is indexed.")
        return Response({"id": origin.pk, "by": "origin"})

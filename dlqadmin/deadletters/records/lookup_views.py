"""Lookup of a dead letter by coordinates that a person pasted."""

from __future__ import annotations

from typing import Literal

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from dlqadmin.broker import clusters
from dlqadmin.broker.cluster_parameter import CLUSTER, NAME, OneClusterView
from dlqadmin.deadletters.index.column_values import MAX_INT, MAX_LONG
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.rest.documents import Document


class DeadLetterMatch(Document):
    """A dead letter's id. `by` tells whether the coordinates are its own or those of its origin record."""

    id: int
    by: Literal["dead_letter", "origin"]


class DeadLetterAt(OneClusterView):
    """The dead letter with given coordinates."""

    @extend_schema(operation_id="dead_letters_at", parameters=[CLUSTER], responses=DeadLetterMatch)
    def get(self, request: Request, topic: str, partition: int, offset: int) -> Response:
        """Return the dead letter at these coordinates, else the newest one with this origin.

        Without `cluster`, the own cluster comes first.
        """
        if partition > MAX_INT or offset > MAX_LONG or "\0" in topic:
            raise Http404("These coordinates are not valid. Use topic/partition/offset.")
        known = (clusters.current(),) if NAME in request.query_params else clusters.indexed()
        for cluster in known:
            rows = DeadLetter.objects.filter(cluster=cluster).order_by("-failed_at", "-pk")
            if own := rows.filter(topic=topic, partition=partition, offset=offset).first():
                return Response(DeadLetterMatch(id=own.pk, by="dead_letter"))
            if origin := rows.filter(origin_topic=topic, origin_partition=partition, origin_offset=offset).first():
                return Response(DeadLetterMatch(id=origin.pk, by="origin"))
        raise Http404("No dead letter with these coordinates is indexed.")

"""What outcomes allow: groups of which all that was replayed passed."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsViewer
from dlqadmin.deadletters.serializers import Document
from dlqadmin.replays.bodies import replay_of
from dlqadmin.replays.outcome import resolving


class ResolvableGroup(Document):
    """A group, and how many of its records passed in the replay."""

    id = serializers.IntegerField()
    title = serializers.CharField()
    count = serializers.IntegerField()


class ResolvableDocument(Document):
    """All of them."""

    results = ResolvableGroup(many=True)


class ReplayResolvable(APIView):
    """Groups that a replay's outcomes would let a person resolve."""

    permission_classes = (IsViewer,)

    @extend_schema(operation_id="replays_resolvable", responses=ResolvableDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Unresolved groups of which every record that was sent passed, and in which nothing failed since it began."""
        return Response({"results": resolving.resolvable(replay_of(pk))})

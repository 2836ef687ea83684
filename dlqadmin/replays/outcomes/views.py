"""The API for groups that can be resolved after a replay."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsViewer
from dlqadmin.replays.lookup import replay_of
from dlqadmin.replays.outcomes import group_resolution
from dlqadmin.replays.outcomes.documents import ResolvableDocument


class ReplayResolvable(APIView):
    """Groups that a person can resolve after a replay."""

    permission_classes = (IsViewer,)

    @extend_schema(operation_id="replays_resolvable", responses=ResolvableDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Return unresolved groups whose sent records all passed.

        Groups with a new dead letter since the replay began are left out.
        """
        return Response(ResolvableDocument(results=group_resolution.resolvable(replay_of(pk))))

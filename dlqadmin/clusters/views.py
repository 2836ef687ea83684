"""Clusters over REST, and a connection on trial."""

from typing import Any

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import ScopedRateThrottle
from rest_framework.views import APIView

from dlqadmin.audit.permissions import role_of
from dlqadmin.broker import clusters
from dlqadmin.clusters import documents, testing
from dlqadmin.clusters.serializers import ClusterList, TestAnswer


class MayTest(BasePermission):
    """May connect on trial: operators, on a read-only cluster too, since nothing is written."""

    message = "This needs the role operator."

    def has_permission(self, request: Request, view: Any) -> bool:
        return role_of(request.user) == "operator"


class ClustersView(APIView):
    """Which clusters there are."""

    @extend_schema(operation_id="clusters_list", responses=ClusterList)
    def get(self, request: Request) -> Response:
        """Every cluster and how clients connect to it, without secrets; how far the index is."""
        return Response(documents.overview(timezone.now()))


class ClusterTestView(APIView):
    """A connection on trial."""

    permission_classes = (MayTest,)
    throttle_classes = (ScopedRateThrottle,)
    throttle_scope = "test-connection"

    @extend_schema(operation_id="clusters_test", request=None, responses=TestAnswer)
    def post(self, request: Request, name: str) -> Response:
        """Connect anew, and find out what is allowed; nothing is changed there. It takes up to some ten seconds."""
        if name != settings.CLUSTER and name not in clusters.names():
            raise NotFound(f"There is no cluster {name}.")
        return Response(testing.test("" if name == settings.CLUSTER else name))

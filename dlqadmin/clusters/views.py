"""REST views of clusters and connection tests."""

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
from dlqadmin.clusters import connection_tests, documents
from dlqadmin.clusters.serializers import ClusterList, TestAnswer


class MayTest(BasePermission):
    """Permission of operators to test a connection.

    It also applies to a read-only cluster, because a test writes nothing.
    """

    message = "This needs the role operator."

    def has_permission(self, request: Request, view: Any) -> bool:
        return role_of(request.user) == "operator"


class ClustersView(APIView):
    """The configured clusters."""

    @extend_schema(operation_id="clusters_list", responses=ClusterList)
    def get(self, request: Request) -> Response:
        """Return every cluster with its connection settings, and the progress of the index.

        Secrets are left out.
        """
        return Response(documents.overview(timezone.now()))


class ClusterTestView(APIView):
    """A connection test."""

    permission_classes = (MayTest,)
    throttle_classes = (ScopedRateThrottle,)
    throttle_scope = "test-connection"

    @extend_schema(operation_id="clusters_test", request=None, responses=TestAnswer)
    def post(self, request: Request, name: str) -> Response:
        """Connect a new client and check its permissions without changing anything. It takes up to ten seconds."""
        if name != settings.CLUSTER and name not in clusters.names():
            raise NotFound(f"There is no cluster {name}.")
        return Response(connection_tests.test("" if name == settings.CLUSTER else name))

"""REST views of clusters and connection tests."""

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import ScopedRateThrottle
from rest_framework.views import APIView

from dlqadmin.audit.permissions import OPERATE, requires
from dlqadmin.broker import clusters
from dlqadmin.clusters import connection_tests, descriptions
from dlqadmin.clusters.documents import ClusterList, ConnectionTestAnswer


class ClustersView(APIView):
    """The configured clusters."""

    @extend_schema(operation_id="clusters_list", responses=ClusterList)
    def get(self, request: Request) -> Response:
        """Return every cluster with its connection settings, and the progress of the index.

        Secrets are left out.
        """
        return Response(descriptions.overview(timezone.now()))


class ClusterTestView(APIView):
    """A connection test."""

    permission_classes = (requires(OPERATE),)  # on a read-only cluster too: a test writes nothing
    throttle_classes = (ScopedRateThrottle,)
    throttle_scope = "test-connection"

    @extend_schema(operation_id="clusters_test", request=None, responses=ConnectionTestAnswer)
    def post(self, request: Request, name: str) -> Response:
        """Connect a new client and check its permissions without changing anything. It takes up to ten seconds."""
        if name != settings.CLUSTER and name not in clusters.names():
            raise NotFound(f"There is no cluster {name}.")
        return Response(connection_tests.test("" if name == settings.CLUSTER else name))

"""REST views of clusters, connection tests and the topics of the index."""

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import ScopedRateThrottle
from rest_framework.views import APIView

from dlqadmin.audit.permissions import OPERATE, IsAdministrator, requires
from dlqadmin.broker import clusters
from dlqadmin.broker.cluster_parameter import CLUSTER, ClusterView
from dlqadmin.clusters import connection_tests, descriptions, topic_rules
from dlqadmin.clusters.documents import ClusterList, ConnectionTestAnswer, IndexProgress
from dlqadmin.clusters.requests import TopicRuleBody
from dlqadmin.rest.requests import checked


class ClustersView(ClusterView):
    """The configured clusters."""

    @extend_schema(operation_id="clusters_list", parameters=[CLUSTER], responses=ClusterList)
    def get(self, request: Request) -> Response:
        """Return every cluster with its connection settings, and the progress of the index of one.

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


class TopicRuleView(ClusterView):
    """The decision to index a topic, or to exclude it."""

    permission_classes = (IsAdministrator,)  # on a read-only cluster too: the index only reads

    @extend_schema(
        operation_id="index_topics_change", parameters=[CLUSTER], request=TopicRuleBody, responses=IndexProgress
    )
    def put(self, request: Request, topic: str) -> Response:
        """Add a dead letter topic to the index, exclude it, or leave it to the settings of the cluster again.

        The indexer follows within seconds. Indexed records stay. A topic that is indexed again continues where it
        stopped.
        """
        body = checked(TopicRuleBody, request)
        topic_rules.change(request.user, topic, body["rule"], body["reason"])
        return Response(descriptions.index(timezone.now()))

"""REST views of clusters, connection tests and the topics of the index."""

from django.conf import settings
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import ScopedRateThrottle
from rest_framework.views import APIView

from dlqadmin.audit.permissions import OPERATE, IsAdministrator, is_administrator, requires
from dlqadmin.broker import cluster_settings
from dlqadmin.broker.cluster_parameter import CLUSTER, OneClusterView
from dlqadmin.clusters import configured_clusters, connection_tests, descriptions, topic_rules
from dlqadmin.clusters.configured_clusters import wanted_settings
from dlqadmin.clusters.documents import ClusterList, ConnectionTestAnswer, IndexProgress
from dlqadmin.clusters.requests import ClusterBody, TopicRuleBody
from dlqadmin.rest.requests import checked


class ClustersView(OneClusterView):
    """The Kafka clusters."""

    @extend_schema(operation_id="clusters_list", parameters=[CLUSTER], responses=ClusterList)
    def get(self, request: Request) -> Response:
        """Return every cluster with its connection settings, and the progress of the index of one.

        Secrets are left out.
        """
        return Response(descriptions.overview(timezone.now()))


class ConfiguredClusterView(APIView):
    """A cluster that administrators configure."""

    permission_classes = (IsAdministrator,)  # on a read-only cluster too: nothing is written to Kafka

    @extend_schema(operation_id="clusters_change", request=ClusterBody, responses=ClusterList)
    def put(self, request: Request, name: str) -> Response:
        """Add a cluster, or replace its settings. Its indexer begins within seconds.

        It can't be disabled while replays use it.
        """
        configured_clusters.change(request.user, name, checked(ClusterBody, request))
        return Response(descriptions.overview(timezone.now()))

    @extend_schema(operation_id="clusters_remove", request=None, responses={204: None})
    def delete(self, request: Request, name: str) -> HttpResponse:
        """Remove the settings of a cluster. Its dead letters stay in the index.

        It can't be removed while replays use it.
        """
        if not configured_clusters.remove(request.user, name):
            raise NotFound(f"There is no cluster {name}.")
        return Response(status=204)


class ClusterTestView(APIView):
    """A connection test."""

    permission_classes = (requires(OPERATE),)  # on a read-only cluster too: a test writes nothing
    throttle_classes = (ScopedRateThrottle,)
    throttle_scope = "test-connection"

    @extend_schema(operation_id="clusters_test", request=ClusterBody, responses=ConnectionTestAnswer)
    def post(self, request: Request, name: str) -> Response:
        """Connect a new client and check its permissions without changing anything. It takes up to ten seconds.

        A body has settings that are not saved yet. Only administrators may send one: it chooses where to connect.
        """
        if request.data:
            if not is_administrator(request.user):
                raise PermissionDenied(IsAdministrator.message)
            return Response(connection_tests.test(wanted_settings(name, checked(ClusterBody, request))))
        saved = cluster_settings.own() if name == settings.CLUSTER else cluster_settings.others().get(name)
        if saved is None:
            raise NotFound(f"There is no cluster {name}.")
        return Response(connection_tests.test(saved))


class TopicRuleView(OneClusterView):
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

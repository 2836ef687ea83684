"""REST views of connectors. Reads pass through to the clusters; operators control and configure connectors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, cast

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsConnectorEditor, IsOperator, IsViewerOrConnectorEditor
from dlqadmin.connectors import configurations, connect_clusters, controls, queries, spark_queries, validation
from dlqadmin.connectors.client import EngineMisconfigured, EngineRefused
from dlqadmin.connectors.cluster_responses import clusters_with
from dlqadmin.connectors.connect_clusters import ConnectCluster, ConnectorKey
from dlqadmin.connectors.controls import Action
from dlqadmin.connectors.documents import (
    ConfigValidation,
    ConnectorAnswer,
    ConnectorConfiguration,
    ConnectorList,
    ConnectorPluginList,
    ControlAnswer,
)
from dlqadmin.connectors.requests import (
    ConfigBody,
    ControlBody,
    DeletionBody,
    NewConnectorBody,
    RestartBody,
    ValidationBody,
)
from dlqadmin.metrics.reporter_names import SPARK
from dlqadmin.rest.problems import ParameterError, StateConflict, UpstreamUnavailable
from dlqadmin.rest.requests import checked

_OF_CONNECTOR = OpenApiParameter(
    "cluster", OpenApiTypes.STR, description="The Connect cluster. Required if several have a connector of this name."
)
_OF_CLUSTER = OpenApiParameter(
    "cluster", OpenApiTypes.STR, description="The Connect cluster. The default is the first."
)


class ConnectorsView(APIView):
    """All connectors."""

    permission_classes = (IsViewerOrConnectorEditor,)

    @extend_schema(operation_id="connectors_list", responses=ConnectorList)
    def get(self, request: Request) -> Response:
        """Return every connector of every Connect cluster, with its tasks and figures.

        Those of an unreachable cluster are its last known ones.
        """
        return Response(queries.connectors())

    @extend_schema(
        operation_id="connectors_create",
        parameters=[_OF_CLUSTER],
        request=NewConnectorBody,
        responses={201: ConnectorConfiguration},
    )
    def post(self, request: Request) -> Response:
        """Create a connector. An existing one is never changed: the response is 409."""
        body = checked(NewConnectorBody, request)
        with _refusals():
            made = configurations.create(request.user, _cluster(request), body["name"], body["config"], body["reason"])
        return Response(made, status=201)


class ConnectorPluginsView(APIView):
    """The connector classes of a Connect cluster."""

    @extend_schema(operation_id="connector_plugins_list", parameters=[_OF_CLUSTER], responses=ConnectorPluginList)
    def get(self, request: Request) -> Response:
        """Return the connector classes that the cluster has."""
        with _refusals():
            return Response(validation.plugins(_cluster(request)))


class ConfigValidationView(APIView):
    """The validation of a configuration."""

    permission_classes = (IsConnectorEditor,)

    @extend_schema(
        operation_id="connector_plugins_validate",
        parameters=[_OF_CLUSTER],
        request=ValidationBody,
        responses=ConfigValidation,
    )
    def post(self, request: Request, plugin: str) -> Response:
        """Validate a configuration by the plugin's own definitions. Nothing is written.

        Unchanged masked values are checked when the configuration is written.
        """
        body = checked(ValidationBody, request)
        with _refusals():
            connector = body.get("connector")
            cluster = _cluster(request, connector) if connector else _cluster(request)
            return Response(validation.validate(cluster, plugin, body["config"], connector))


class ConnectorConfigView(APIView):
    """The configuration of a connector."""

    permission_classes = (IsViewerOrConnectorEditor,)

    @extend_schema(
        operation_id="connectors_config_retrieve", parameters=[_OF_CONNECTOR], responses=ConnectorConfiguration
    )
    def get(self, request: Request, name: str) -> Response:
        """Return the configuration with masked secrets, as the cluster has it now."""
        with _refusals():
            return Response(configurations.opened(_cluster(request, name), name))

    @extend_schema(
        operation_id="connectors_config_replace",
        parameters=[_OF_CONNECTOR],
        request=ConfigBody,
        responses=ConnectorConfiguration,
    )
    def put(self, request: Request, name: str) -> Response:
        """Replace the configuration, if the connector still has the one that was opened.

        Otherwise the response is 409, and its errors say which options differ.
        """
        body = checked(ConfigBody, request)
        with _refusals():
            cluster = _cluster(request, name)
            return Response(
                configurations.change(request.user, cluster, name, body["config"], body["opened"], body["reason"])
            )


class ConnectorDeletionView(APIView):
    """The deletion of a connector."""

    permission_classes = (IsOperator,)

    @extend_schema(
        operation_id="connectors_delete",
        parameters=[_OF_CONNECTOR],
        request=DeletionBody,
        responses={202: ControlAnswer},
    )
    def post(self, request: Request, name: str) -> Response:
        """Delete a connector. Its committed offsets stay: a new connector with this name continues there."""
        body, cluster = checked(DeletionBody, request), _cluster(request, name)
        with _refusals():
            configurations.delete(request.user, cluster, name, body["reason"])
        return _accepted(cluster, name, "delete")


class ConnectorView(APIView):
    """One connector."""

    @extend_schema(operation_id="connectors_retrieve", parameters=[_OF_CONNECTOR], responses=ConnectorAnswer)
    def get(self, request: Request, name: str) -> Response:
        """Return one connector or Spark query with its tasks and figures. Queries are in the cluster `spark`."""
        found = queries.connector(_known_key(request, name))
        if found is None:
            raise NotFound(f"There is no connector {name}.")
        return Response(found)


class ControlView(APIView):
    """Request an action on a connector; its state changes within seconds.

    Each action has its own subclass, whose schema shows this text.
    """

    permission_classes = (IsOperator,)
    action: ClassVar[Action]

    def post(self, request: Request, name: str) -> Response:
        """Ask the connector's cluster for the action; the state changes within seconds."""
        form = RestartBody if self.action == "restart" else ControlBody
        body, cluster = checked(form, request), _cluster(request, name)
        with _refusals():
            controls.control(
                request.user,
                cluster,
                name,
                self.action,
                str(body.get("reason", "")),
                only_failed=bool(body.get("only_failed")),
            )
        return _accepted(cluster, name, self.action)


def control_view(action: str) -> type[ControlView]:
    """Create the view of one action. Each view has its own name in the API schema."""
    view = type(f"{action.title()}View", (ControlView,), {"action": cast("Action", action)})
    schema = extend_schema(
        operation_id=f"connectors_{action}",
        parameters=[_OF_CONNECTOR],
        request=RestartBody if action == "restart" else ControlBody,
        responses={202: ControlAnswer},
    )
    return extend_schema_view(post=schema)(view)


class TaskRestartView(APIView):
    """The restart of one task."""

    permission_classes = (IsOperator,)

    @extend_schema(
        operation_id="connectors_task_restart",
        parameters=[_OF_CONNECTOR],
        request=ControlBody,
        responses={202: ControlAnswer},
    )
    def post(self, request: Request, name: str, task: int) -> Response:
        """Restart one task; its tolerance counters start at zero."""
        body, cluster = checked(ControlBody, request), _cluster(request, name)
        with _refusals():
            controls.restart_task(request.user, cluster, name, task, str(body.get("reason", "")))
        return _accepted(cluster, name, "restart", task)


def _cluster(request: Request, connector: str | None = None) -> ConnectCluster:
    """Return the cluster that the request names, or else the only one that has the connector.

    A connector that no cluster is known to have is looked for in the first one. Raises NotFound for an unknown
    cluster or a connector out of reach, ParameterError if several clusters have the connector.
    """
    if connector is not None and not connect_clusters.is_in_reach(connector):
        raise NotFound(f"There is no connector {connector}.")
    if name := request.query_params.get("cluster"):
        if name == SPARK:
            raise NotFound("Spark queries can't be controlled here. Use the program or the cluster that runs them.")
        found = connect_clusters.named(name)
        if found is None:
            raise NotFound(f"There is no Connect cluster {name}.")
        return found
    known = clusters_with(connector) if connector is not None else []
    if len(known) > 1:
        listed = ", ".join(cluster.name for cluster in known)
        raise ParameterError("cluster", f"is required: several clusters have a connector {connector}: {listed}")
    if clusters := known or connect_clusters.configured():
        return clusters[0]
    raise NotFound("No Connect cluster is configured. Set ENGINE_URL or CONNECT_CLUSTERS.")


def _known_key(request: Request, name: str) -> ConnectorKey:
    """Return the connector or Spark query that the request names. Raises errors as `_cluster` does."""
    asked = request.query_params.get("cluster")
    if asked == SPARK:
        return ConnectorKey(SPARK, name)
    if asked is None and spark_queries.is_known(name):
        if others := clusters_with(name):
            listed = ", ".join((*(cluster.name for cluster in others), SPARK))
            raise ParameterError("cluster", f"is required: several clusters have a connector {name}: {listed}")
        return ConnectorKey(SPARK, name)
    return ConnectorKey(_cluster(request, name).name, name)


def _accepted(cluster: ConnectCluster, name: str, action: str, task: int | None = None) -> Response:
    return Response(ControlAnswer(cluster=cluster.name, connector=name, task=task, action=action), status=202)


@contextmanager
def _refusals() -> Iterator[None]:
    """Convert refusals of a cluster in the block to API errors."""
    try:
        yield
    except EngineRefused as error:
        raise _refusal(error) from error


def _refusal(error: EngineRefused) -> NotFound | StateConflict | UpstreamUnavailable:
    """Convert a refusal of a cluster to an API error."""
    if error.status == 404:
        return NotFound(error.message)
    if error.status == 409:
        return StateConflict(error.message)
    if isinstance(error, EngineMisconfigured):
        return UpstreamUnavailable(error.message)
    return UpstreamUnavailable(f"The cluster refused with status {error.status}: {error.message}")

"""REST views of connectors. Reads pass through to the engine; operators control and configure connectors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, cast

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsConnectorEditor, IsOperator, IsViewerOrConnectorEditor
from dlqadmin.connectors import configurations, controls, queries, validation
from dlqadmin.connectors.client import EngineMisconfigured, EngineRefused
from dlqadmin.connectors.controls import Action
from dlqadmin.connectors.documents import (
    ConfigValidation,
    ConnectorAnswer,
    ConnectorConfiguration,
    ConnectorList,
    ConnectorPluginList,
    ControlAnswer,
)
from dlqadmin.connectors.requests import ConfigBody, ControlBody, DeletionBody, NewConnectorBody, ValidationBody
from dlqadmin.rest.documents import Form
from dlqadmin.rest.problems import StateConflict, UpstreamUnavailable


class ConnectorsView(APIView):
    """All connectors."""

    permission_classes = (IsViewerOrConnectorEditor,)

    @extend_schema(operation_id="connectors_list", responses=ConnectorList)
    def get(self, request: Request) -> Response:
        """Return every connector with its tasks and figures.

        If the engine is unreachable, they are its last known ones.
        """
        return Response(queries.connectors())

    @extend_schema(operation_id="connectors_create", request=NewConnectorBody, responses={201: ConnectorConfiguration})
    def post(self, request: Request) -> Response:
        """Create a connector. An existing one is never changed: the response is 409."""
        body = _checked(NewConnectorBody, request)
        with _refusals():
            made = configurations.create(request.user, body["name"], body["config"], body["reason"])
        return Response(made, status=201)


class ConnectorPluginsView(APIView):
    """The connector classes of the engine."""

    @extend_schema(operation_id="connector_plugins_list", responses=ConnectorPluginList)
    def get(self, request: Request) -> Response:
        """Return the connector classes that the engine has."""
        with _refusals():
            return Response(validation.plugins())


class ConfigValidationView(APIView):
    """The validation of a configuration."""

    permission_classes = (IsConnectorEditor,)

    @extend_schema(operation_id="connector_plugins_validate", request=ValidationBody, responses=ConfigValidation)
    def post(self, request: Request, plugin: str) -> Response:
        """Validate a configuration by the engine's table of options. Nothing is written.

        Unchanged masked values are checked when the configuration is written.
        """
        body = _checked(ValidationBody, request)
        with _refusals():
            return Response(validation.validate(plugin, body["config"], body.get("connector")))


class ConnectorConfigView(APIView):
    """The configuration of a connector."""

    permission_classes = (IsViewerOrConnectorEditor,)

    @extend_schema(operation_id="connectors_config_retrieve", responses=ConnectorConfiguration)
    def get(self, request: Request, name: str) -> Response:
        """Return the configuration with masked secrets, as the engine has it now."""
        with _refusals():
            return Response(configurations.opened(name))

    @extend_schema(operation_id="connectors_config_replace", request=ConfigBody, responses=ConnectorConfiguration)
    def put(self, request: Request, name: str) -> Response:
        """Replace the configuration, if the connector still has the one that was opened.

        Otherwise the response is 409, and its errors say which options differ.
        """
        body = _checked(ConfigBody, request)
        with _refusals():
            return Response(configurations.change(request.user, name, body["config"], body["opened"], body["reason"]))


class ConnectorDeletionView(APIView):
    """The deletion of a connector."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="connectors_delete", request=DeletionBody, responses={202: ControlAnswer})
    def post(self, request: Request, name: str) -> Response:
        """Delete a connector. Its committed offsets stay: a new connector with this name continues there."""
        body = _checked(DeletionBody, request)
        with _refusals():
            configurations.delete(request.user, name, body["reason"])
        return Response(ControlAnswer(connector=name, task=None, action="delete"), status=202)


class ConnectorView(APIView):
    """One connector."""

    @extend_schema(operation_id="connectors_retrieve", responses=ConnectorAnswer)
    def get(self, request: Request, name: str) -> Response:
        """Return one connector with its tasks and figures."""
        found = queries.connector(name)
        if found is None:
            raise NotFound(f"There is no connector {name}.")
        return Response(found)


class ControlView(APIView):
    """Request an action on a connector; its state changes within seconds.

    Each action has its own subclass, whose schema shows this text.
    """

    permission_classes = (IsOperator,)
    action: ClassVar[Action]

    @extend_schema(request=ControlBody, responses={202: ControlAnswer})
    def post(self, request: Request, name: str) -> Response:
        """Ask the engine for the action; the state changes within seconds."""
        reason = _reason(request)
        with _refusals():
            controls.control(request.user, name, self.action, reason)
        return Response(ControlAnswer(connector=name, task=None, action=self.action), status=202)


def control_view(action: str) -> type[ControlView]:
    """Create the view of one action. Each view has its own name in the API schema."""
    view = type(f"{action.title()}View", (ControlView,), {"action": cast("Action", action)})
    return extend_schema_view(post=extend_schema(operation_id=f"connectors_{action}"))(view)


class TaskRestartView(APIView):
    """The restart of one task."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="connectors_task_restart", request=ControlBody, responses={202: ControlAnswer})
    def post(self, request: Request, name: str, task: int) -> Response:
        """Restart one task; its tolerance counters start at zero."""
        reason = _reason(request)
        with _refusals():
            controls.restart_task(request.user, name, task, reason)
        return Response(ControlAnswer(connector=name, task=task, action="restart"), status=202)


def _reason(request: Request) -> str:
    return str(_checked(ControlBody, request).get("reason", ""))


def _checked(form: type[Form], request: Request) -> dict[str, Any]:
    body = form(data=request.data)
    body.is_valid(raise_exception=True)
    return cast("dict[str, Any]", body.validated_data)


@contextmanager
def _refusals() -> Iterator[None]:
    """Convert refusals of the engine in the block to API errors."""
    try:
        yield
    except EngineRefused as error:
        raise _refusal(error) from error


def _refusal(error: EngineRefused) -> NotFound | StateConflict | UpstreamUnavailable:
    """Convert a refusal of the engine to an API error."""
    if error.status == 404:
        return NotFound(error.message)
    if error.status == 409:
        return StateConflict(error.message)
    if isinstance(error, EngineMisconfigured):
        return UpstreamUnavailable(error.message)
    return UpstreamUnavailable(f"The engine refused with status {error.status}: {error.message}")

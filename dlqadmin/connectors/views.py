"""REST views of connectors. Reads pass through to the engine; operators control connectors."""

from typing import ClassVar, cast

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator
from dlqadmin.connectors import controls, queries
from dlqadmin.connectors.client import EngineMisconfigured, EngineRefused
from dlqadmin.connectors.controls import Action
from dlqadmin.connectors.documents import ConnectorAnswer, ConnectorList, ControlAnswer
from dlqadmin.connectors.requests import ControlBody
from dlqadmin.rest.problems import StateConflict, UpstreamUnavailable


class ConnectorsView(APIView):
    """All connectors."""

    @extend_schema(operation_id="connectors_list", responses=ConnectorList)
    def get(self, request: Request) -> Response:
        """Return every connector with its tasks and figures.

        If the engine is unreachable, they are its last known ones.
        """
        return Response(queries.connectors())


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
        try:
            controls.control(request.user, name, self.action, reason)
        except EngineRefused as error:
            raise _refusal(error) from error
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
        try:
            controls.restart_task(request.user, name, task, reason)
        except EngineRefused as error:
            raise _refusal(error) from error
        return Response(ControlAnswer(connector=name, task=task, action="restart"), status=202)


def _reason(request: Request) -> str:
    form = ControlBody(data=request.data)
    form.is_valid(raise_exception=True)
    return str(form.validated_data.get("reason", ""))


def _refusal(error: EngineRefused) -> NotFound | StateConflict | UpstreamUnavailable:
    """Convert a refusal of the engine to an API error."""
    if error.status == 404:
        return NotFound(error.message)
    if error.status == 409:
        return StateConflict(error.message)
    if isinstance(error, EngineMisconfigured):
        return UpstreamUnavailable(error.message)
    return UpstreamUnavailable(f"The engine refused with status {error.status}: {error.message}")

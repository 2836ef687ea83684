"""Connectors over REST: read through to the engine, controlled by operators."""

from typing import ClassVar, cast

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator
from dlqadmin.connectors import controlling, queries
from dlqadmin.connectors.client import EngineRefused
from dlqadmin.connectors.controlling import Action
from dlqadmin.connectors.serializers import ConnectorAnswer, ConnectorList, ControlAnswer, ControlRequest
from dlqadmin.rest.problems import Conflict, UpstreamUnavailable


class ConnectorsView(APIView):
    """All connectors."""

    @extend_schema(operation_id="connectors_list", responses=ConnectorList)
    def get(self, request: Request) -> Response:
        """Every connector with its tasks and figures; as last seen when the engine is away."""
        return Response(queries.connectors())


class ConnectorView(APIView):
    """One connector."""

    @extend_schema(operation_id="connectors_retrieve", responses=ConnectorAnswer)
    def get(self, request: Request, name: str) -> Response:
        """One connector with its tasks and figures."""
        found = queries.connector(name)
        if found is None:
            raise NotFound(f"There is no connector {name}.")
        return Response(found)


class ControlView(APIView):
    """One action on a connector; a subclass for each."""

    permission_classes = (IsOperator,)
    action: ClassVar[Action]

    @extend_schema(request=ControlRequest, responses={202: ControlAnswer})
    def post(self, request: Request, name: str) -> Response:
        """Ask the engine for it; the state follows within seconds."""
        reason = _reason(request)
        try:
            controlling.control(request.user, name, self.action, reason)
        except EngineRefused as error:
            raise _refusal(error) from error
        return Response({"connector": name, "task": None, "action": self.action}, status=202)


def control_view(action: str) -> type[ControlView]:
    """The view of one action; each has a name of its own in the API's description."""
    view = type(f"{action.title()}View", (ControlView,), {"action": cast("Action", action)})
    return extend_schema_view(post=extend_schema(operation_id=f"connectors_{action}"))(view)


class TaskRestartView(APIView):
    """One task's restart."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="connectors_task_restart", request=ControlRequest, responses={202: ControlAnswer})
    def post(self, request: Request, name: str, task: int) -> Response:
        """Restart one task; its tolerance counters begin anew."""
        reason = _reason(request)
        try:
            controlling.restart_task(request.user, name, task, reason)
        except EngineRefused as error:
            raise _refusal(error) from error
        return Response({"connector": name, "task": task, "action": "restart"}, status=202)


def _reason(request: Request) -> str:
    form = ControlRequest(data=request.data)
    form.is_valid(raise_exception=True)
    return str(form.validated_data.get("reason", ""))


def _refusal(error: EngineRefused) -> NotFound | Conflict | UpstreamUnavailable:
    """The engine's no, as ours."""
    if error.status == 404:
        return NotFound(error.message)
    if error.status == 409:
        return Conflict(error.message)
    return UpstreamUnavailable(f"The engine refused with status {error.status}: {error.message}")

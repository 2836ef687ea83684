"""The endpoints of loggers (KIP-495), with levels for the whole cluster (KIP-976)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from engine.errors import BadRequest, NotFound
from engine.reporting.log_levels import LogLevels, is_level
from engine.rest.endpoint_ports import HerderPort, answer_of
from engine.rest.json_response import JsonResponse
from engine.rest.request_bodies import json_object, patch_of


class LoggerEndpoints:
    """The endpoints. A level of the scope `worker` is this driver's only."""

    def __init__(self, herder: HerderPort, levels: LogLevels) -> None:
        self._herder, self._levels = herder, levels

    async def list(self, _request: Request) -> Response:
        return JsonResponse(self._levels.all())

    async def show(self, request: Request) -> Response:
        name = request.path_params["logger"]
        level = self._levels.get(name)
        if level is None:
            raise NotFound(f"Logger {name} not found.")
        return JsonResponse(level)

    async def set(self, request: Request) -> Response:
        name, level = request.path_params["logger"], patch_of(await json_object(request)).get("level")
        if level is None:
            raise BadRequest("Desired 'level' parameter was not specified in request.")
        if not is_level(level):
            raise NotFound(f"invalid log level '{level}'.")
        if request.query_params.get("scope", "worker").lower() == "cluster":
            await answer_of(self._herder.set_cluster_log_level(name, level))
            return Response(status_code=204)
        return JsonResponse(self._levels.set(name, level))

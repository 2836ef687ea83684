"""The endpoints of plugins: their list, their options, and the validation of a configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from engine.assembly.connector_classes import find_class
from engine.assembly.plugin_list import connector_options, connector_plugins
from engine.config.options import Problem
from engine.config.plugin_versions import VERSION
from engine.config.worker import WorkerConfig
from engine.errors import BadRequest, ConfigError, NotFound
from engine.rest import bodies
from engine.rest.definitions import definitions, validation
from engine.rest.endpoint_ports import Examine
from engine.rest.json_response import JsonResponse
from engine.rest.option_rows import connector_rows, plugin_rows
from engine.rest.request_bodies import json_object, patch_of
from engine.steps.secrets import given_secrets

# A version, or ranges in the notation of Maven, such as [1.0,2.0).
_EXACT, _RANGES = re.compile(r"[\w.+-]+"), re.compile(r"[\[(][\w.,+-]*[\])](,[\[(][\w.,+-]*[\])])*")


class PluginEndpoints:
    """The endpoints. `worker` says which classes may be imported; None allows the built-in ones."""

    def __init__(self, examine: Examine, worker: WorkerConfig | None) -> None:
        self._examine, self._worker = examine, worker
        self._allow = worker.permissions.classes if worker else ()

    async def list(self, request: Request) -> Response:
        connectors_only = request.query_params.get("connectorsOnly", "true").lower() == "true"
        return JsonResponse(bodies.plugins(connector_plugins(connectors_only=connectors_only)))

    async def options(self, request: Request) -> Response:
        plugin, version = request.path_params["plugin"], request.query_params.get("version", "latest")
        if not _EXACT.fullmatch(version) and not _RANGES.fullmatch(version):
            raise BadRequest(f"Invalid version specification: {version}")
        rows = await run_in_threadpool(plugin_rows, plugin, self._allow)
        if _EXACT.fullmatch(version) and version not in ("latest", VERSION):
            raise NotFound(f"Plugin {plugin} has no version {version}. Its only version is {VERSION}.")
        return JsonResponse(definitions(rows))

    async def validate(self, request: Request) -> Response:
        plugin, properties = request.path_params["plugin"], patch_of(await json_object(request))
        return JsonResponse(await run_in_threadpool(self._validation, plugin, properties))

    def _validation(self, plugin: str, body: Mapping[str, str | None]) -> dict[str, Any]:
        properties = {name: value for name, value in body.items() if value is not None}
        options = connector_options(plugin, self._allow)
        given = properties.get("connector.class", plugin)
        known = find_class(plugin, self._allow)[0]
        assert known is not None  # or it would have no options
        if given != plugin and find_class(given, self._allow)[0] != known:
            raise HTTPException(
                400, f"connector.class is {given}, but the URL of the request has {plugin}; use the same class"
            )
        problems: tuple[Problem, ...] = ()
        warnings: tuple[Problem, ...] = ()
        complete = {"connector.class": plugin, **properties}
        try:
            warnings = self._examine(complete).warnings
        except ConfigError as error:
            problems = error.problems
        nulls = [name for name, value in body.items() if value is None]
        problems += tuple((name, None, "must not be null") for name in nulls)
        secrets = given_secrets(properties, options, known.kind, self._worker)
        rows = connector_rows(plugin, complete, self._worker)
        answer = validation(given, rows, complete, problems, warnings, secrets)
        for row in answer["configs"]:
            if row["value"]["name"] in nulls:
                row["value"]["value"] = None  # not the default, because null was given
        return answer

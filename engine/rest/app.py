"""Kafka Connect's REST API over a herder: paths, bodies and status codes. Independent of Spark."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine.assembly.connector_classes import find_class
from engine.assembly.plugin_list import connector_options, connector_plugins
from engine.config.options import Problem
from engine.config.topic import TargetState
from engine.config.worker import WorkerConfig
from engine.errors import BadRequest, ConfigError, EngineError, NotFound, NotLeading, RequestConflict, RetriableError
from engine.herder.offset_changes import OffsetRow
from engine.herder.snapshot import ConnectorFacts, HerderSnapshot
from engine.leases import ConnectorKind
from engine.rest import bodies, prometheus
from engine.rest.put_rehearsals import PutRehearsals
from engine.steps.secrets import given_secrets

Endpoint = Callable[[Request], Awaitable[Response]]
Examine = Callable[[Mapping[str, str]], ConnectorFacts]

ANSWER_TIMEOUT_S = 60
SIGNED_IN = "engine.signed_in"  # the key in a request's scope that RequestChecks sets for authenticated clients
T = TypeVar("T")


class HerderPort(Protocol):
    """The herder's interface that this API needs."""

    def view(self) -> HerderSnapshot: ...
    def put(self, name: str, properties: Mapping[str, str], *, create: bool = False) -> Future[bool]: ...
    def delete(self, name: str) -> Future[None]: ...
    def set_target(self, name: str, target: TargetState) -> Future[None]: ...
    def restart(self, name: str, *, tasks: bool = False, only_failed: bool = False) -> Future[None]: ...
    def restart_task(self, name: str, task: int) -> Future[None]: ...
    def offsets(self, name: str) -> Sequence[OffsetRow]: ...
    def change_offsets(self, name: str, rows: Sequence[OffsetRow] | None) -> Future[Future[None]]: ...


class PutRehearsalsPort(Protocol):
    """The rehearsals of puts that this API needs."""

    def run(self, name: str, properties: Mapping[str, str], body: Mapping[str, Any]) -> dict[str, Any]: ...


class JsonResponse(Response):
    """A JSON response."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content)


def build_app(
    herder: HerderPort,
    examine: Examine,
    cluster: str = "",
    worker: WorkerConfig | None = None,
    puts: PutRehearsalsPort | None = None,
) -> Starlette:
    """Return the routes, to be served behind RequestChecks.

    `examine` raises ConfigError for unusable properties. `worker` says which classes may be imported, and has the
    config providers for rehearsed puts.
    """
    return Starlette(
        routes=_routes(_Api(herder, examine, cluster, worker, puts or PutRehearsals(worker))),
        exception_handlers={
            HTTPException: _http_problem,
            ConfigError: _problem(400),
            NotFound: _problem(404),
            BadRequest: _problem(400),
            NotLeading: _redirect_to_leader,
            RequestConflict: _problem(409),
            RetriableError: _problem(503),
            **dict.fromkeys((EngineError, TimeoutError, Exception), _problem(500)),
        },
    )


def _routes(api: _Api) -> list[Route]:
    one = "/connectors/{name}"
    rows: list[tuple[str, str, Endpoint]] = [
        ("GET", "/", api.root),
        ("GET", "/health", api.health),
        ("GET", "/metrics", api.prometheus),
        ("GET", "/connectors", api.list),
        ("POST", "/connectors", api.create),
        ("GET", "/connector-plugins", api.plugins),
        ("GET", "/connector-plugins/{plugin}/config", api.plugin_options),
        ("PUT", "/connector-plugins/{plugin}/config/validate", api.validate),
        ("GET", one, api.show(bodies.info)),
        ("DELETE", one, api.delete),
        ("GET", f"{one}/config", api.show(bodies.config)),
        ("PUT", f"{one}/config", api.configure),
        ("GET", f"{one}/status", api.show(bodies.status)),
        ("GET", f"{one}/tasks", api.show(bodies.tasks)),
        ("GET", f"{one}/tasks/{{task:int}}/status", api.task_status),
        ("GET", f"{one}/topics", api.show(bodies.topics)),
        ("GET", f"{one}/metrics", api.show(bodies.metrics)),
        ("PUT", f"{one}/pause", api.target(TargetState.PAUSED, 202)),
        ("PUT", f"{one}/resume", api.target(TargetState.STARTED, 202)),
        ("PUT", f"{one}/stop", api.target(TargetState.STOPPED, 204)),
        ("POST", f"{one}/restart", api.restart),
        ("POST", f"{one}/tasks/{{task:int}}/restart", api.restart_task),
        ("POST", f"{one}/put-rehearsal", api.rehearse_put),
        ("GET", f"{one}/offsets", api.offsets),
        ("PATCH", f"{one}/offsets", api.alter_offsets),
        ("DELETE", f"{one}/offsets", api.reset_offsets),
    ]
    return [
        Route(path, api.only_leader(endpoint) if path.startswith("/connectors") else endpoint, methods=[method])
        for method, path, endpoint in rows
    ]


class _Api:
    def __init__(
        self, herder: HerderPort, examine: Examine, cluster: str, worker: WorkerConfig | None, puts: PutRehearsalsPort
    ) -> None:
        self._worker = worker
        self._puts = puts
        self._allow = worker.permissions.classes if worker else ()
        self._herder = herder
        self._examine = examine
        self._cluster = cluster

    async def root(self, _request: Request) -> Response:
        return JsonResponse(bodies.root(self._cluster))

    async def health(self, request: Request) -> Response:
        """Return the full health to clients with credentials, and only the status to others."""
        body = bodies.health(self._herder.view())
        return JsonResponse(body if request.scope.get(SIGNED_IN) else {"status": body["status"]})

    async def prometheus(self, _request: Request) -> Response:
        return Response(
            prometheus.render(self._herder.view(), time.time_ns() // 1_000_000), media_type="text/plain; version=0.0.4"
        )

    async def plugins(self, request: Request) -> Response:
        connectors_only = request.query_params.get("connectorsOnly", "true").lower() != "false"
        return JsonResponse(bodies.plugins(connector_plugins(connectors_only=connectors_only)))

    async def plugin_options(self, request: Request) -> Response:
        options = await run_in_threadpool(connector_options, request.path_params["plugin"], self._allow)
        return JsonResponse(bodies.definitions(options))

    async def list(self, request: Request) -> Response:
        return JsonResponse(bodies.connectors(self._herder.view(), request.query_params.getlist("expand")))

    async def create(self, request: Request) -> Response:
        body = await _body(request)
        name, properties = body.get("name"), body.get("config")
        if not isinstance(name, str) or not name:
            raise ConfigError((("name", None, "is required"),))
        await _answer(self._herder.put(name, _properties(properties), create=True))
        return JsonResponse(bodies.info(self._herder.view(), name), 201)

    async def configure(self, request: Request) -> Response:
        name = request.path_params["name"]
        created = await _answer(self._herder.put(name, _properties(await _body(request))))
        return JsonResponse(bodies.info(self._herder.view(), name), 201 if created else 200)

    async def delete(self, request: Request) -> Response:
        await _answer(self._herder.delete(self._known(request)))
        return Response(status_code=204)

    async def restart(self, request: Request) -> Response:
        name = self._known(request)
        tasks, only_failed = _flag(request, "includeTasks"), _flag(request, "onlyFailed")
        await _answer(self._herder.restart(name, tasks=tasks, only_failed=only_failed))
        if not tasks and not only_failed:
            return Response(status_code=204)
        return JsonResponse(bodies.status(self._herder.view(), name), 202)

    async def restart_task(self, request: Request) -> Response:
        await _answer(self._herder.restart_task(self._known(request), request.path_params["task"]))
        return Response(status_code=204)

    async def rehearse_put(self, request: Request) -> Response:
        """Let the connector's sink write records, roll back, and return a result for each.

        This is an extension of Kafka Connect's API.
        """
        name = self._known(request)
        entry = self._herder.view().connector(name)
        properties = (entry.properties if entry else None) or {}
        return JsonResponse(await run_in_threadpool(self._puts.run, name, properties, await _body(request)))

    async def offsets(self, request: Request) -> Response:
        return JsonResponse(bodies.offsets(await run_in_threadpool(self._herder.offsets, self._known(request))))

    async def alter_offsets(self, request: Request) -> Response:
        rows = bodies.offset_rows(await _body(request))
        await self._change_offsets(request, rows)
        return JsonResponse({"message": "The offsets for this connector have been altered successfully"})

    async def reset_offsets(self, request: Request) -> Response:
        await self._change_offsets(request, None)
        return JsonResponse({"message": "The offsets for this connector have been reset successfully"})

    async def _change_offsets(self, request: Request, rows: Sequence[OffsetRow] | None) -> None:
        await _answer(await _answer(self._herder.change_offsets(self._known(request), rows)))

    async def task_status(self, request: Request) -> Response:
        body = bodies.status(self._herder.view(), self._known(request))
        number = request.path_params["task"]
        rows = [row for row in body["tasks"] if row["id"] == number]
        if not rows:
            raise NotFound(f"Task {body['name']}-{number} not found")
        return JsonResponse(rows[0])

    async def validate(self, request: Request) -> Response:
        plugin, properties = request.path_params["plugin"], _properties(await _body(request))
        return JsonResponse(await run_in_threadpool(self._validation, plugin, properties))

    def _validation(self, plugin: str, properties: dict[str, str]) -> dict[str, Any]:
        options = connector_options(plugin, self._allow)
        given = properties.get("connector.class", plugin)
        known = find_class(plugin, self._allow)[0]
        if given != plugin and find_class(given, self._allow)[0] != known:
            raise HTTPException(
                400, f"connector.class is {given}, but the URL of the request has {plugin}; use the same class"
            )
        problems: tuple[Problem, ...] = ()
        warnings: tuple[Problem, ...] = ()
        try:
            warnings = self._examine({"connector.class": plugin, **properties}).warnings
        except ConfigError as error:
            problems = error.problems
        secrets = given_secrets(properties, options, ConnectorKind.SINK if known is None else known.kind, self._worker)
        return bodies.validation(plugin, properties, problems, warnings, options, secrets)

    def only_leader(self, endpoint: Endpoint) -> Endpoint:
        """Wrap an endpoint so that only the leader runs it. A standby driver redirects to the leader.

        While there is no leader, clients can read the last known state.
        """

        async def led(request: Request) -> Response:
            view = self._herder.view()
            # A former leader still knows the state. Old data are better than none while nobody leads.
            if view.standby and not (request.method == "GET" and view.is_seen):
                raise NotLeading(view.leader_url)
            return await endpoint(request)

        return led

    def show(self, body: Callable[[HerderSnapshot, str], object]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            return JsonResponse(body(self._herder.view(), self._known(request)))

        return endpoint

    def target(self, target: TargetState, code: int) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            await _answer(self._herder.set_target(self._known(request), target))
            return Response(status_code=code)

        return endpoint

    def _known(self, request: Request) -> str:
        name: str = request.path_params["name"]
        if self._herder.view().connector(name) is None:
            raise NotFound(f"Connector {name} not found")
        return name


async def _answer(future: Future[T]) -> T:
    async with asyncio.timeout(ANSWER_TIMEOUT_S):
        return await asyncio.wrap_future(future)


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = orjson.loads(await request.body())
    except orjson.JSONDecodeError as error:
        raise HTTPException(400, f"the request body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise HTTPException(400, "the request body must be a JSON object")
    return body


def _properties(body: object) -> dict[str, str]:
    """Return option values as strings. Numbers and booleans are formatted as by Kafka Connect's clients."""
    if not isinstance(body, dict):
        raise HTTPException(400, "config must be a JSON object")
    if invalid := [name for name, value in body.items() if isinstance(value, (dict, list))]:
        raise ConfigError(tuple((name, None, "must be a string") for name in invalid))
    return {name: _text(value) for name, value in body.items() if value is not None}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _flag(request: Request, name: str) -> bool:
    return request.query_params.get(name, "false").lower() == "true"


async def _http_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JsonResponse({"error_code": error.status_code, "message": error.detail}, error.status_code)


async def _redirect_to_leader(request: Request, error: Exception) -> Response:
    """Redirect to the leader with the same method and body. Answer 503 while the leader is unknown."""
    assert isinstance(error, NotLeading)
    if not error.url:
        return JsonResponse({"error_code": 503, "message": str(error)}, 503)
    url = request.url
    address = error.url + quote(url.path) + (f"?{url.query}" if url.query else "")
    return JsonResponse({"error_code": 307, "message": str(error)}, 307, headers={"location": address})


def _problem(code: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handler(_request: Request, error: Exception) -> Response:
        return JsonResponse({"error_code": code, "message": _message(error)}, code)

    return handler


def _message(error: Exception) -> str:
    if not isinstance(error, ConfigError):
        return str(error) or type(error).__name__
    rows = [f"{option}: {message}" for option, _, message in error.problems]
    return "\n".join([f"Connector configuration is invalid and contains the following {len(rows)} error(s):", *rows])

"""Kafka Connect's REST API over a herder: paths, methods and status codes. Independent of Spark."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.config.topic import TargetState
from engine.config.worker import WorkerConfig
from engine.errors import (
    BadRequest,
    ConfigError,
    EngineError,
    NotFound,
    NotLeading,
    RequestConflict,
    RetriableError,
)
from engine.reporting.log_levels import LogLevels
from engine.rest.connector_endpoints import ConnectorEndpoints
from engine.rest.endpoint_ports import Examine, HerderPort, PutRehearsalsPort
from engine.rest.forwarding import LeaderForwarder
from engine.rest.json_response import JsonResponse
from engine.rest.logger_endpoints import LoggerEndpoints
from engine.rest.plugin_endpoints import PluginEndpoints
from engine.rest.put_rehearsals import PutRehearsals
from engine.rest.worker_endpoints import WorkerEndpoints

Endpoint = Callable[[Request], Awaitable[Response]]
JSON = "application/json"
CONSUMING = ("/connectors", "/connector-plugins", "/admin/")  # the paths that take JSON and nothing else
VALIDATION = "/connector-plugins/{connectorType}/config/validate"


def build_app(
    herder: HerderPort,
    examine: Examine,
    cluster: Callable[[], str] = str,
    worker: WorkerConfig | None = None,
    puts: PutRehearsalsPort | None = None,
    levels: LogLevels | None = None,
    forwarder: LeaderForwarder | None = None,
) -> Starlette:
    """Return the routes, to be served behind RequestChecks.

    `examine` raises ConfigError for unusable properties. `cluster` returns the id of the Kafka cluster. `worker` says
    which classes may be imported, and has the config providers for rehearsed puts.
    """
    connectors = ConnectorEndpoints(herder, puts or PutRehearsals(worker), worker)
    plugins, loggers = PluginEndpoints(examine, worker), LoggerEndpoints(herder, levels or LogLevels())
    routes = _routes(herder, WorkerEndpoints(herder, cluster), connectors, plugins, loggers)
    return Starlette(
        routes=[*routes, *_option_routes(routes)],
        middleware=[Middleware(_TrimmedPaths)],
        exception_handlers={
            HTTPException: _http_problem,
            ConfigError: _problem(400),
            NotFound: _problem(404),
            BadRequest: _problem(400),
            NotLeading: partial(_not_leading, forwarder or LeaderForwarder()),
            RequestConflict: _problem(409),
            RetriableError: _problem(503),
            **dict.fromkeys((EngineError, TimeoutError, Exception), _problem(500)),
        },
    )


def _routes(
    herder: HerderPort,
    worker: WorkerEndpoints,
    connectors: ConnectorEndpoints,
    plugins: PluginEndpoints,
    loggers: LoggerEndpoints,
) -> list[Route]:
    one, task = "/connectors/{name}", "/connectors/{name}/tasks/{task}"
    plugin, logger = "/connector-plugins/{plugin}/config", "/admin/loggers/{logger}"
    rows: list[tuple[str, str, Endpoint]] = [
        ("GET", "/", worker.root),
        ("GET", "/health", worker.health),
        ("GET", "/health/details", worker.details),
        ("GET", "/metrics", worker.prometheus),
        ("GET", "/connectors", connectors.list),
        ("POST", "/connectors", connectors.create),
        ("GET", "/connector-plugins", plugins.list),
        ("GET", plugin, plugins.options),
        ("PUT", f"{plugin}/validate", plugins.validate),
        ("GET", "/admin/loggers", loggers.list),
        ("GET", logger, loggers.show),
        ("PUT", logger, loggers.set),
        ("GET", one, connectors.info),
        ("DELETE", one, connectors.delete),
        ("GET", f"{one}/config", connectors.config),
        ("PUT", f"{one}/config", connectors.configure),
        ("PATCH", f"{one}/config", connectors.patch),
        ("GET", f"{one}/status", connectors.status),
        ("GET", f"{one}/tasks", connectors.tasks),
        ("GET", f"{task}/status", connectors.task_status),
        ("POST", f"{task}/restart", connectors.restart_task),
        ("GET", f"{one}/topics", connectors.topics),
        ("PUT", f"{one}/topics/reset", connectors.reset_topics),
        ("GET", f"{one}/metrics", connectors.metrics),
        ("PUT", f"{one}/pause", connectors.target(TargetState.PAUSED, 202)),
        ("PUT", f"{one}/resume", connectors.target(TargetState.STARTED, 202)),
        ("PUT", f"{one}/stop", connectors.target(TargetState.STOPPED, 204)),
        ("POST", f"{one}/restart", connectors.restart),
        ("POST", f"{one}/put-rehearsal", connectors.rehearse_put),
        ("GET", f"{one}/offsets", connectors.offsets),
        ("PATCH", f"{one}/offsets", connectors.alter_offsets),
        ("DELETE", f"{one}/offsets", connectors.reset_offsets),
    ]
    led = _only_leader(herder)
    return [
        Route(path, _accepting_json(led(endpoint) if path.startswith("/connectors") else endpoint), methods=[method])
        for method, path, endpoint in rows
        if path != "/metrics"
    ] + [Route("/metrics", worker.prometheus, methods=["GET"])]


def _option_routes(routes: Iterable[Route]) -> list[Route]:
    """Return a route for OPTIONS of each path, with the methods in `Allow` and in the body, as Kafka Connect does."""
    methods: dict[str, set[str]] = {}
    for route in routes:
        methods.setdefault(route.path, {"OPTIONS"}).update(route.methods or ())
    return [Route(path, _allowing(sorted(allowed)), methods=["OPTIONS"]) for path, allowed in methods.items()]


def _allowing(methods: Iterable[str]) -> Endpoint:
    text = ", ".join(methods)

    async def endpoint(_request: Request) -> Response:
        return PlainTextResponse(text, headers={"allow": text.replace(" ", ""), "content-type": "text/plain"})

    return endpoint


def _only_leader(herder: HerderPort) -> Callable[[Endpoint], Endpoint]:
    """Return a wrapper so that only the leader runs an endpoint. A standby driver forwards requests to the leader.

    While there is no leader, clients can read the last known state.
    """

    def led(endpoint: Endpoint) -> Endpoint:
        async def answer(request: Request) -> Response:
            view = herder.view()
            # A former leader still knows the state. Old data are better than none while nobody leads.
            if view.standby and not (request.method in {"GET", "HEAD"} and view.is_seen):
                raise NotLeading(view.leader_url)
            return await endpoint(request)

        return answer

    return led


def _accepting_json(endpoint: Endpoint) -> Endpoint:
    """Wrap an endpoint: a client that accepts no JSON gets status 406, and one that announces another body 415."""

    async def answer(request: Request) -> Response:
        # RequestChecks refuses other bodies. Kafka Connect refuses the header alone, too.
        announced = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
        if announced != JSON and request.url.path.startswith(CONSUMING):
            raise HTTPException(415)
        ranges = [part.partition(";")[0].strip().lower() for part in request.headers.get("accept", "").split(",")]
        if not {"", "*/*", "application/*", JSON} & set(ranges):
            raise HTTPException(406)
        return await endpoint(request)

    return answer


class _TrimmedPaths:
    """Middleware that accepts a slash at the end of each path, as Kafka Connect does."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "path": "/" + scope["path"].strip("/")}
        await self._app(scope, receive, send)


async def _http_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    phrase = HTTPStatus(error.status_code).phrase
    message = f"HTTP {error.status_code} {phrase}" if error.detail == phrase else error.detail
    return JsonResponse({"error_code": error.status_code, "message": message}, error.status_code)


async def _not_leading(forwarder: LeaderForwarder, request: Request, error: Exception) -> Response:
    """Return the leader's answer. While the leader is unknown, answer 409 as Kafka Connect does."""
    assert isinstance(error, NotLeading)
    if not error.url:
        return JsonResponse({"error_code": 409, "message": str(error)}, 409)
    try:
        return await forwarder.answer(request, error.url)
    except RequestConflict as conflict:
        return JsonResponse({"error_code": 409, "message": str(conflict)}, 409)


def _problem(code: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handler(_request: Request, error: Exception) -> Response:
        return JsonResponse({"error_code": code, "message": _message(error)}, code)

    return handler


def _message(error: Exception) -> str:
    if not isinstance(error, ConfigError):
        return str(error) or type(error).__name__
    rows = [f"{option}: {message}" for option, _, message in error.problems]
    head = f"Connector configuration is invalid and contains the following {len(rows)} error(s):"
    return "\n".join([head, *rows, f"You can also find the above list of errors at the endpoint `{VALIDATION}`"])

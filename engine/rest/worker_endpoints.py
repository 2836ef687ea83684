"""The endpoints of the worker itself: its version, its health and its metrics."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from engine.rest import bodies, prometheus
from engine.rest.endpoint_ports import HerderPort
from engine.rest.json_response import JsonResponse


class WorkerEndpoints:
    """The endpoints. `cluster` returns the id of the Kafka cluster, and may ask the brokers."""

    def __init__(self, herder: HerderPort, cluster: Callable[[], str]) -> None:
        self._herder, self._cluster = herder, cluster

    async def root(self, _request: Request) -> Response:
        return JsonResponse(bodies.root(await run_in_threadpool(self._cluster)))

    async def health(self, _request: Request) -> Response:
        """Return the health of KIP-1017. It tells nothing that needs credentials."""
        body = bodies.health(self._herder.view())
        return JsonResponse(body, bodies.HEALTH_CODES[body["status"]])

    async def details(self, _request: Request) -> Response:
        """Return more about the worker. This is an extension of Kafka Connect's API."""
        return JsonResponse(bodies.health_details(self._herder.view()))

    async def prometheus(self, _request: Request) -> Response:
        return Response(
            prometheus.render(self._herder.view(), time.time_ns() // 1_000_000), media_type="text/plain; version=0.0.4"
        )

"""The endpoints of connectors: create, configure, control, states, topics and offsets."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from engine.config.topic import TargetState
from engine.config.worker import WorkerConfig
from engine.errors import NotFound, RequestConflict
from engine.herder.offset_changes import OffsetRow
from engine.rest import bodies
from engine.rest.endpoint_ports import HerderPort, PutRehearsalsPort, answer_of
from engine.rest.json_response import JsonResponse
from engine.rest.request_bodies import flag, json_object, named, new_connector, offset_rows, patch_of, properties_of

MISSING = "Connector {} not found"
_NUMBER = re.compile(r"-?[0-9]{1,10}")


class ConnectorEndpoints:
    """The endpoints. Every change is the herder's, and is in its view before the answer."""

    def __init__(self, herder: HerderPort, puts: PutRehearsalsPort, worker: WorkerConfig | None = None) -> None:
        self._herder, self._puts = herder, puts
        self._tracks_topics = worker is None or worker.tracks_topics
        self._resets_topics = worker is None or worker.resets_topics

    async def list(self, request: Request) -> Response:
        expand = request.query_params.getlist("expand") if "expand" in request.query_params else None
        return JsonResponse(bodies.connectors(self._herder.view(), expand))

    async def create(self, request: Request) -> Response:
        name, properties, initial = await new_connector(request)
        await answer_of(self._herder.put(name, properties, create=True, target=initial))
        return self._created(request, name)

    async def info(self, request: Request) -> Response:
        return JsonResponse(bodies.info(self._herder.view(), self._known(request)))

    async def config(self, request: Request) -> Response:
        return JsonResponse(bodies.config(self._herder.view(), self._known(request)))

    async def configure(self, request: Request) -> Response:
        name = request.path_params["name"]
        properties = named(name, properties_of(await json_object(request)))
        if await answer_of(self._herder.put(name, properties)):
            return self._created(request, name)
        return JsonResponse(bodies.info(self._herder.view(), name))

    async def patch(self, request: Request) -> Response:
        """Change some options of a connector (KIP-477)."""
        name, changes = self._known(request), patch_of(await json_object(request))
        await answer_of(self._herder.patch(name, changes))
        return JsonResponse(bodies.info(self._herder.view(), name))

    async def delete(self, request: Request) -> Response:
        await answer_of(self._herder.delete(self._known(request)))
        return Response(status_code=204)

    async def status(self, request: Request) -> Response:
        name = self._known(request, "No status found for connector {}")
        return JsonResponse(bodies.status(self._herder.view(), name))

    async def tasks(self, request: Request) -> Response:
        return JsonResponse(bodies.tasks(self._herder.view(), self._known(request)))

    async def task_status(self, request: Request) -> Response:
        name, number = request.path_params["name"], _task(request)
        view = self._herder.view()
        rows = bodies.status(view, name)["tasks"] if view.connector(name) is not None else ()
        found = [row for row in rows if row["id"] == number]
        if not found:
            raise NotFound(f"No status found for task {name}-{number}")
        return JsonResponse(found[0])

    async def topics(self, request: Request) -> Response:
        """Return the topics in use. A connector that does not exist has none, as in Kafka Connect."""
        if not self._tracks_topics:
            raise HTTPException(403, "Topic tracking is disabled.")
        return JsonResponse(bodies.topics(self._herder.view(), request.path_params["name"]))

    async def reset_topics(self, request: Request) -> Response:
        if not (self._tracks_topics and self._resets_topics):
            what = "Topic tracking reset" if self._tracks_topics else "Topic tracking"
            raise HTTPException(403, f"{what} is disabled.")
        await answer_of(self._herder.reset_topics(request.path_params["name"]))
        return Response(status_code=202)

    async def metrics(self, request: Request) -> Response:
        """Return everything known about the tasks. This is an extension of Kafka Connect's API."""
        return JsonResponse(bodies.metrics(self._herder.view(), self._known(request)))

    def target(self, target: TargetState, code: int) -> Callable[[Request], Awaitable[Response]]:
        """Return the endpoint that sets this target state."""

        async def endpoint(request: Request) -> Response:
            await answer_of(self._herder.set_target(self._known(request, "Unknown connector {}"), target))
            return Response(status_code=code)

        return endpoint

    async def restart(self, request: Request) -> Response:
        name = self._known(request, "Unknown connector: {}")
        tasks, only_failed = flag(request, "includeTasks"), flag(request, "onlyFailed")
        plan = bodies.restart_plan(self._herder.view(), name, tasks=tasks, only_failed=only_failed)
        await answer_of(self._herder.restart(name, tasks=tasks, only_failed=only_failed))
        return JsonResponse(plan, 202) if tasks or only_failed else Response(status_code=204)

    async def restart_task(self, request: Request) -> Response:
        name, number = self._known(request, "Unknown connector: {}"), _task(request)
        view = self._herder.view()
        if number not in (task.config.task for task in view.tasks(name)):
            raise NotFound(f"Unknown task: {name}-{number}")
        if view.config.connectors[name].target is TargetState.STOPPED:
            raise RequestConflict(f"Connector {name} is stopped, so it has no task to restart. Resume it first.")
        await answer_of(self._herder.restart_task(name, number))
        return Response(status_code=204)

    async def rehearse_put(self, request: Request) -> Response:
        """Let the connector's sink write records, roll back, and return a result for each.

        This is an extension of Kafka Connect's API.
        """
        name = self._known(request)
        entry = self._herder.view().connector(name)
        properties: Mapping[str, str] = (entry.properties if entry else None) or {}
        body = await json_object(request)
        return JsonResponse(await run_in_threadpool(self._puts.run, name, properties, body))

    async def offsets(self, request: Request) -> Response:
        return JsonResponse(bodies.offsets(await run_in_threadpool(self._herder.offsets, self._known(request))))

    async def alter_offsets(self, request: Request) -> Response:
        rows = offset_rows(await json_object(request))
        await self._change_offsets(request, rows)
        return JsonResponse({"message": "The offsets for this connector have been altered successfully"})

    async def reset_offsets(self, request: Request) -> Response:
        await self._change_offsets(request, None)
        return JsonResponse({"message": "The offsets for this connector have been reset successfully"})

    async def _change_offsets(self, request: Request, rows: Sequence[OffsetRow] | None) -> None:
        await answer_of(await answer_of(self._herder.change_offsets(self._known(request), rows)))

    def _created(self, request: Request, name: str) -> Response:
        location = f"{request.url.scheme}://{request.url.netloc}/connectors/{quote(name, safe='')}"
        body: dict[str, Any] = bodies.info(self._herder.view(), name)
        return JsonResponse(body, 201, headers={"location": location})

    def _known(self, request: Request, missing: str = MISSING) -> str:
        name: str = request.path_params["name"]
        if self._herder.view().connector(name) is None:
            raise NotFound(missing.format(name))
        return name


def _task(request: Request) -> int:
    """Return the number of the task. A word is no such path."""
    text = request.path_params["task"]
    if not _NUMBER.fullmatch(text):
        raise HTTPException(404)
    return int(text)

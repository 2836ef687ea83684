"""Forward requests from a standby driver to the leader, as Kafka Connect's workers do."""

from __future__ import annotations

import ssl
from urllib.parse import quote, urlencode

import httpx2
from starlette.requests import Request
from starlette.responses import Response

from engine.errors import RequestConflict
from engine.rest.endpoint_ports import ANSWER_TIMEOUT_S
from engine.rest.json_response import JsonResponse

FORWARD = "forward"  # the parameter of the query that ends a chain of forwards
SENT, RETURNED = ("authorization", "content-type", "accept"), ("content-type", "location", "retry-after")
_TIMEOUT = httpx2.Timeout(ANSWER_TIMEOUT_S + 5, connect=2.0)


class LeaderForwarder:
    """Forwards requests. `transport` connects to the leader; None is the network, with the settings of `tls`."""

    def __init__(self, transport: httpx2.AsyncBaseTransport | None = None, tls: ssl.SSLContext | None = None) -> None:
        self._transport = transport
        self._tls: ssl.SSLContext | bool = tls or True

    async def answer(self, request: Request, leader: str) -> Response:
        """Return the leader's answer, or a redirect to it if the leader does not accept requests from here.

        The client's credentials are sent along: the leader's address is from the config topic, which only a leader
        can write. Raises RequestConflict for a request that was forwarded before.
        """
        if request.query_params.get(FORWARD, "true").lower() == "false":
            raise RequestConflict("Cannot complete request because of a conflicting operation (e.g. worker rebalance)")
        headers = {name: request.headers[name] for name in SENT if name in request.headers}
        parameters = [pair for pair in request.query_params.multi_items() if pair[0] != FORWARD]
        url = f"{leader}{quote(request.scope['path'])}"  # the path of `request.url` is partly quoted already
        try:
            async with httpx2.AsyncClient(
                transport=self._transport, verify=self._tls, timeout=_TIMEOUT, trust_env=False
            ) as client:
                answer = await client.request(
                    request.method,
                    f"{url}?{urlencode([*parameters, (FORWARD, 'false')])}",
                    content=await request.body(),
                    headers=headers,
                )
        except httpx2.HTTPError:
            return _redirect(url, parameters)  # the client may have a way to the leader
        # The leader may have credentials of its own, or may not know the name by which it is called.
        if answer.status_code in {401, 421}:
            return _redirect(url, parameters)
        returned = {name: answer.headers[name] for name in RETURNED if name in answer.headers}
        return Response(answer.content, answer.status_code, headers=returned)


def _redirect(url: str, parameters: list[tuple[str, str]]) -> Response:
    location = f"{url}?{urlencode(parameters)}" if parameters else url
    message = f"this worker is not the leader; send the request to {location}"
    return JsonResponse({"error_code": 307, "message": message}, 307, headers={"location": location})

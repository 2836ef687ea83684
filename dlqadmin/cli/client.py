"""Requests to the dashboard: with a token that is never shown, and errors that are one sentence."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx

TIMEOUT_S = 60.0
Answer = dict[str, Any]


class Refused(Exception):
    """The dashboard answered an error, or nothing; or what was asked for makes no sense."""


class Dashboard:
    """A dashboard at a URL. Its answers are dictionaries; raises Refused."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Token {token}", "Accept": "application/json"}
        try:
            self._http = httpx.Client(base_url=f"{url.rstrip('/')}/api/v1/", headers=headers, timeout=TIMEOUT_S)
        except httpx.InvalidURL as error:
            raise Refused("DLQ_URL is no address. It looks like https://dlq.example.com.") from error
        if self._http.base_url.userinfo:  # it would be sent in the token's stead, and shown in errors
            raise Refused("DLQ_URL holds a user or a password; who asks is told by DLQ_TOKEN.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.close()

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Answer:
        """What is at this address below `/api/v1/`."""
        return self._answer("GET", path, params=params)

    def make(self, path: str, body: Answer) -> Answer:
        """Make one thing; it is asked for once, and made once even where a proxy asks again."""
        return self._answer("POST", path, json=body, headers={"Idempotency-Key": uuid.uuid4().hex})

    def act(self, path: str, body: Answer) -> Answer:
        """Do something to a thing that is there."""
        return self._answer("POST", path, json=body)

    def _answer(self, method: str, path: str, **request: Any) -> Answer:
        try:
            response = self._http.request(method, path, **request)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Refused(
                f"{self._http.base_url.copy_with(path='/')} does not answer: {type(error).__name__}"
            ) from error
        if response.is_error or response.is_redirect:
            raise Refused(_why(response))
        try:
            answer = response.json()
        except ValueError as error:
            raise Refused("This is not a dashboard: it does not answer JSON. Is DLQ_URL right?") from error
        if not isinstance(answer, dict):
            raise Refused("This is not a dashboard: it answers something else. Is DLQ_URL right?")
        return answer


def _why(response: httpx.Response) -> str:
    """The sentence of a problem document (RFC 9457), with its status."""
    try:
        problem = response.json()
        return f"{problem['detail']} ({response.status_code})"
    except (ValueError, KeyError, TypeError):
        return f"The server answered {response.status_code}. Is DLQ_URL right?"

"""An HTTP client of the dashboard. It never shows the token, and its errors are one sentence."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx

TIMEOUT_S = 60.0
Answer = dict[str, Any]


class DashboardError(Exception):
    """The dashboard returned an error or did not answer, or the request is invalid."""


class Dashboard:
    """A dashboard at a URL. Methods return dictionaries and raise DashboardError."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Token {token}", "Accept": "application/json"}
        try:
            self._http = httpx.Client(base_url=f"{url.rstrip('/')}/api/v1/", headers=headers, timeout=TIMEOUT_S)
        except httpx.InvalidURL as error:
            raise DashboardError("DLQ_URL is not a web address. It must look like https://dlq.example.com.") from error
        if self._http.base_url.userinfo:  # it would be sent instead of the token, and shown in errors
            raise DashboardError("DLQ_URL contains a user or password. Remove it and set DLQ_TOKEN.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.close()

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Answer:
        """Return the document at this path below `/api/v1/`."""
        return self._answer("GET", path, params=params)

    def make(self, path: str, body: Answer, key: str | None = None) -> Answer:
        """Create one object. The idempotency key prevents a second one if a proxy or the caller repeats the request."""
        return self._answer("POST", path, json=body, headers={"Idempotency-Key": key or uuid.uuid4().hex})

    def act(self, path: str, body: Answer) -> Answer:
        """Perform an action on an existing object."""
        return self._answer("POST", path, json=body)

    def _answer(self, method: str, path: str, **request: Any) -> Answer:
        try:
            response = self._http.request(method, path, **request)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise DashboardError(
                f"{self._http.base_url.copy_with(path='/')} does not respond: {type(error).__name__}"
            ) from error
        if response.is_error or response.is_redirect:
            raise DashboardError(_error_sentence(response))
        try:
            answer = response.json()
        except ValueError as error:
            raise DashboardError("This is not a dashboard, because its response is not JSON. Check DLQ_URL.") from error
        if not isinstance(answer, dict):
            raise DashboardError("This is not a dashboard, because its response has another format. Check DLQ_URL.")
        return answer


def _error_sentence(response: httpx.Response) -> str:
    """Return the sentence of a problem document (RFC 9457), with its status."""
    try:
        problem = response.json()
        return f"{problem['detail']} ({response.status_code})"
    except (ValueError, KeyError, TypeError):
        return f"The server responded with {response.status_code}. Check DLQ_URL."

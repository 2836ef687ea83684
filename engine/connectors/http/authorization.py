"""The Authorization header of HttpSink: none, fixed, or a token of OAuth 2.0 client credentials (RFC 6749, 4.4)."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec

from engine.connectors.http import options as kinds
from engine.connectors.http_client import HttpClient, retriable_error
from engine.errors import ConfigError

TOKEN_URL = "oauth2.access.token.url"  # noqa: S105, the name of an option
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
LIFETIME_S = 300.0  # of a token whose answer names none
MARGIN_S = 30.0  # a token is renewed this long before its end


class Authorization(Protocol):
    """The source of the Authorization header. Several threads may use it at once."""

    option: str  # the option to correct if the target refuses the header
    shown: str | None  # its value, unless that is secret

    def headers(self) -> Mapping[str, str]:
        """Return the headers to send. Raises RetriableError or ConfigError if there is no token."""
        ...

    def renew(self, refused: Mapping[str, str]) -> bool:
        """Forget the headers that the target refused; return whether others can be had."""
        ...


class FixedHeader:
    """A header that never changes, or none."""

    def __init__(self, option: str, value: str | None, shown: str | None = None) -> None:
        self.option = option
        self.shown = shown
        self._headers = {} if value is None else {"Authorization": value}

    def headers(self) -> Mapping[str, str]:
        return self._headers

    def renew(self, refused: Mapping[str, str]) -> bool:  # noqa: ARG002, a fixed header has no successor
        return False


class ClientCredentials:
    """Tokens of a token endpoint, each kept until shortly before its end."""

    option = TOKEN_URL
    shown: str | None = None

    def __init__(
        self, options: Mapping[str, Any], client: HttpClient, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._options = options
        self._client = client
        self._now_s = now_s
        self._token = ""
        self._until_s = 0.0
        self._lock = threading.Lock()  # one thread fetches a token, and the others wait for it

    def headers(self) -> Mapping[str, str]:
        with self._lock:
            if not self._token or self._now_s() >= self._until_s:
                self._fetch()
            return {"Authorization": f"Bearer {self._token}"}

    def renew(self, refused: Mapping[str, str]) -> bool:
        with self._lock:
            # Another thread may have fetched a new token meanwhile.
            if refused.get("Authorization") == f"Bearer {self._token}":
                self._token = ""
        return True

    def _fetch(self) -> None:
        options = self._options
        form, headers = {"grant_type": "client_credentials"}, dict(FORM)
        if options["oauth2.client.scope"]:
            form["scope"] = options["oauth2.client.scope"]
        if options["oauth2.client.authorization.mode"] == "url":
            form |= {"client_id": options["oauth2.client.id"], "client_secret": options["oauth2.client.secret"]}
        else:
            headers["Authorization"] = basic(options["oauth2.client.id"], options["oauth2.client.secret"])
        answer = self._client.send("POST", options[TOKEN_URL], urlencode(form).encode(), headers)
        error = retriable_error(answer)
        if error is not None:
            raise error
        field = options["oauth2.response.token.property"]
        token, lifetime_s = _token_of(answer.body, field) if answer.is_success else (None, 0.0)
        if token is None:
            text = f"gave no token (HTTP {answer.status}); check the URL, the client's id and secret, and {field}"
            raise ConfigError(((TOKEN_URL, None, text),))
        self._token, self._until_s = token, self._now_s() + max(lifetime_s - MARGIN_S, lifetime_s / 2)


def authorization(options: Mapping[str, Any], client: Callable[[], HttpClient]) -> Authorization:
    """Return the source of the header that the options choose; `client` opens the client for tokens."""
    match options["http.authorization.type"]:
        case kinds.STATIC:
            return FixedHeader("http.headers.authorization", options["http.headers.authorization"])
        case kinds.BASIC:
            return FixedHeader("connection.password", basic(options["connection.user"], options["connection.password"]))
        case kinds.OAUTH2:
            return ClientCredentials(options, client())
    return FixedHeader("http.authorization.type", None, kinds.NONE)


def basic(user: str, password: str) -> str:
    """Return the value of a basic Authorization header."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _token_of(body: bytes, field: str) -> tuple[str | None, float]:
    try:
        answer = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return None, 0.0
    token = answer.get(field) if isinstance(answer, dict) else None
    lifetime = answer.get("expires_in") if isinstance(answer, dict) else None
    is_token = isinstance(token, str) and bool(token)
    return (token if is_token else None), float(lifetime) if isinstance(lifetime, int | float) else LIFETIME_S

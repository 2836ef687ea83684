"""An HTTP client of the engine's REST API, with short timeouts. It also works with a Kafka Connect worker."""

import ssl
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from django.conf import settings

TIMEOUT = httpx.Timeout(3.0, connect=1.0)
WRITE_TIMEOUT = httpx.Timeout(15.0, connect=1.0)  # a driver writes to the config topic and reads it back
PUT_TIMEOUT = httpx.Timeout(12.0, connect=1.0)  # a rehearsed put may wait 2 s for a lock, and then takes up to 3 s
CONNECTORS = "/connectors?expand=status&expand=info"
MOST_REDIRECTS = 2


class EngineUnavailable(Exception):
    """The engine did not answer in time."""


class EngineRefused(Exception):
    """The engine rejected the request. `status` is its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message

    def __str__(self) -> str:
        return self.message


class EngineMisconfigured(EngineRefused):
    """The dashboard's own settings prevent access to the engine. The message names the setting to change."""


def get(address: str) -> Any:
    """Return the JSON document at an address of the engine. Raises EngineUnavailable or EngineRefused."""
    return _call("GET", address)


def control(connector: str, action: str) -> None:
    """Pause, resume, stop or restart a connector and its tasks. Raises EngineUnavailable or EngineRefused."""
    if action == "restart":
        _call("POST", f"/connectors/{_segment(connector)}/restart?includeTasks=true&onlyFailed=false")
    else:
        _call("PUT", f"/connectors/{_segment(connector)}/{action}")


def restart_task(connector: str, task: int) -> None:
    """Restart one task. Raises EngineUnavailable or EngineRefused."""
    _call("POST", f"/connectors/{_segment(connector)}/tasks/{task}/restart")


def configuration(connector: str) -> dict[str, str]:
    """Return the options of a connector, as the engine shows them. Raises EngineUnavailable or EngineRefused."""
    return _options(get(f"/connectors/{_segment(connector)}/config"))


def create(connector: str, config: dict[str, str]) -> dict[str, str]:
    """Create a connector and return its options. Raises EngineUnavailable, or EngineRefused with 409 if it exists."""
    made = _call("POST", "/connectors", {"name": connector, "config": config}, WRITE_TIMEOUT)
    return _options(made.get("config") if isinstance(made, dict) else None)


def configure(connector: str, config: dict[str, str]) -> dict[str, str]:
    """Replace the options of a connector and return them. Raises EngineUnavailable or EngineRefused."""
    made = _call("PUT", f"/connectors/{_segment(connector)}/config", config, WRITE_TIMEOUT)
    return _options(made.get("config") if isinstance(made, dict) else None)


def delete(connector: str) -> None:
    """Delete a connector. Raises EngineUnavailable or EngineRefused."""
    _call("DELETE", f"/connectors/{_segment(connector)}", timeout=WRITE_TIMEOUT)


def validate(plugin: str, config: dict[str, str]) -> Any:
    """Return the engine's validation of options, in Kafka Connect's format.

    Raises EngineUnavailable or EngineRefused.
    """
    return _call("PUT", f"/connector-plugins/{_segment(plugin)}/config/validate", config, WRITE_TIMEOUT)


def rehearse_put(connector: str, records: list[Any]) -> Any:
    """Let the connector's sink write records and roll back.

    `records` are as the engine's rehearsal wrote them. Raises EngineUnavailable or EngineRefused.
    """
    return _call("POST", f"/connectors/{_segment(connector)}/put-rehearsal", {"records": records}, PUT_TIMEOUT)


def _options(config: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in config.items()} if isinstance(config, dict) else {}


def _segment(name: str) -> str:
    """Quote a name as one path segment.

    `.` and `..` are refused: a URL parser resolves them, and the request would reach another resource.
    """
    if name in ("", ".", ".."):
        raise EngineRefused(404, f"{name or 'A connector without a name'} not found")
    return quote(name, safe="")


def _call(method: str, address: str, body: Any = None, timeout: httpx.Timeout = TIMEOUT) -> Any:
    try:
        answer = _ask(method, httpx.URL(settings.ENGINE_URL + address), body, timeout)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise EngineUnavailable(f"{type(error).__name__}: {error}") from error
    if answer.status_code == 401:
        raise EngineMisconfigured(401, _credentials_message())
    try:
        document = answer.json() if answer.content else None
    except ValueError as error:
        raise EngineUnavailable(f"the answer is not JSON: {error}") from error
    if answer.is_error:
        message = document.get("message") if isinstance(document, dict) else None
        raise EngineRefused(answer.status_code, str(message or answer.reason_phrase))
    return document


def _ask(method: str, url: httpx.URL, body: Any, timeout: httpx.Timeout) -> httpx.Response:
    """Send a request and follow a standby worker's redirects.

    Credentials are sent to the configured addresses only.
    """
    trusted = {_origin(httpx.URL(address)) for address in (settings.ENGINE_URL, *settings.ENGINE_URLS)}
    headers, trust = _authorization(), _trusted_cas(settings.ENGINE_CA_FILE)
    for _ in range(MOST_REDIRECTS + 1):
        answer = httpx.request(
            method, url, headers=headers, json=body, timeout=timeout, verify=trust, follow_redirects=False
        )
        if answer.status_code not in {307, 308} or "location" not in answer.headers:
            return answer
        url = url.join(answer.headers["location"])
        if _origin(url) not in trusted:
            shown = f"{url.scheme}://{url.netloc.decode(errors='replace').rpartition('@')[2]}"
            text = (
                f"The engine redirects to {shown}, which is not in ENGINE_URLS. Add it there if the dashboard "
                "may trust it."
            )
            raise EngineMisconfigured(answer.status_code, text)
    raise EngineUnavailable("the engine's workers redirect to each other in a circle")


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port  # httpx omits default ports


def _authorization() -> dict[str, str]:
    """Return the header with the token or user of the settings. A token file is read for every request."""
    token = _first_token(Path(settings.ENGINE_TOKEN_FILE)) if settings.ENGINE_TOKEN_FILE else settings.ENGINE_TOKEN
    if token and not token.isascii():
        raise EngineMisconfigured(
            401, "The token in ENGINE_TOKEN_FILE or ENGINE_TOKEN contains characters that are not ASCII."
        )
    if token:
        return {"Authorization": f"Bearer {token}"}
    if settings.ENGINE_USER:
        request = httpx.Request("GET", "http://engine")
        signed = next(httpx.BasicAuth(settings.ENGINE_USER, settings.ENGINE_PASSWORD).auth_flow(request))
        return {"Authorization": signed.headers["Authorization"]}
    return {}


def _first_token(path: Path) -> str:
    try:
        lines = [line.strip() for line in path.read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        text = f"ENGINE_TOKEN_FILE can't be read: {path}: {getattr(error, 'strerror', None) or 'it is not UTF-8'}."
        raise EngineMisconfigured(401, text) from error
    return next((line for line in lines if line and not line.startswith("#")), "")


def _credentials_message() -> str:
    if settings.ENGINE_TOKEN_FILE or settings.ENGINE_TOKEN:
        name = "ENGINE_TOKEN_FILE" if settings.ENGINE_TOKEN_FILE else "ENGINE_TOKEN"
        return f"The engine rejected the dashboard's token. Set {name} to a token of the engine's rest.auth.token.file."
    if settings.ENGINE_USER:
        return "The engine rejected the dashboard's user or password. Set ENGINE_USER and ENGINE_PASSWORD."
    return (
        "The engine requires credentials, and the dashboard has none. Set ENGINE_TOKEN_FILE, or ENGINE_USER "
        "and ENGINE_PASSWORD."
    )


@lru_cache(maxsize=4)
def _trusted_cas(ca_file: str) -> ssl.SSLContext:
    """Return the CAs for the engine's TLS certificate: the system's, or those of `ca_file`."""
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except OSError as error:  # raised also if the file holds no certificate
        raise EngineMisconfigured(
            401, f"ENGINE_CA_FILE can't be used: {ca_file}: {error.strerror or error}."
        ) from error

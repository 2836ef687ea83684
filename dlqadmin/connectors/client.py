"""An HTTP client of a Connect cluster's REST API, with short timeouts: of the engine, or of Kafka Connect's workers."""

import ssl
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import httpx

from dlqadmin.connectors.connect_clusters import ConnectCluster

TIMEOUT = httpx.Timeout(3.0, connect=1.0)
WRITE_TIMEOUT = httpx.Timeout(15.0, connect=1.0)  # a driver writes to the config topic and reads it back
PUT_TIMEOUT = httpx.Timeout(12.0, connect=1.0)  # a rehearsed put may wait 2 s for a lock, and then takes up to 3 s
CONNECTORS = "/connectors?expand=status&expand=info"
MOST_REDIRECTS = 2


class EngineUnavailable(Exception):
    """No worker of the cluster answered in time."""


class EngineRefused(Exception):
    """The cluster rejected the request. `status` is its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message

    def __str__(self) -> str:
        return self.message


class EngineMisconfigured(EngineRefused):
    """The dashboard's own settings prevent access to the cluster. The message names the setting to change."""


def get(cluster: ConnectCluster, address: str) -> Any:
    """Return the JSON document at an address of the cluster. Raises EngineUnavailable or EngineRefused."""
    return _call(cluster, "GET", address)


def control(cluster: ConnectCluster, connector: str, action: str, *, only_failed: bool = False) -> None:
    """Pause, resume, stop or restart a connector and its tasks, or restart only what failed.

    Raises EngineUnavailable or EngineRefused.
    """
    one = f"/connectors/{_segment(connector)}"
    if action == "restart":
        _call(cluster, "POST", f"{one}/restart?includeTasks=true&onlyFailed={'true' if only_failed else 'false'}")
    else:
        _call(cluster, "PUT", f"{one}/{action}")


def restart_task(cluster: ConnectCluster, connector: str, task: int) -> None:
    """Restart one task. Raises EngineUnavailable or EngineRefused."""
    _call(cluster, "POST", f"/connectors/{_segment(connector)}/tasks/{task}/restart")


def configuration(cluster: ConnectCluster, connector: str) -> dict[str, str]:
    """Return the options of a connector, as the cluster shows them. Raises EngineUnavailable or EngineRefused."""
    return _options(get(cluster, f"/connectors/{_segment(connector)}/config"))


def create(cluster: ConnectCluster, connector: str, config: dict[str, str]) -> dict[str, str]:
    """Create a connector and return its options. Raises EngineUnavailable, or EngineRefused with 409 if it exists."""
    made = _call(cluster, "POST", "/connectors", {"name": connector, "config": config}, WRITE_TIMEOUT)
    return _options(made.get("config") if isinstance(made, dict) else None)


def configure(cluster: ConnectCluster, connector: str, config: dict[str, str]) -> dict[str, str]:
    """Replace the options of a connector and return them. Raises EngineUnavailable or EngineRefused."""
    made = _call(cluster, "PUT", f"/connectors/{_segment(connector)}/config", config, WRITE_TIMEOUT)
    return _options(made.get("config") if isinstance(made, dict) else None)


def delete(cluster: ConnectCluster, connector: str) -> None:
    """Delete a connector. Raises EngineUnavailable or EngineRefused."""
    _call(cluster, "DELETE", f"/connectors/{_segment(connector)}", timeout=WRITE_TIMEOUT)


def validate(
    cluster: ConnectCluster, plugin: str, config: dict[str, str], timeout: httpx.Timeout = WRITE_TIMEOUT
) -> Any:
    """Return the cluster's validation of options, in Kafka Connect's format.

    Raises EngineUnavailable or EngineRefused.
    """
    return _call(cluster, "PUT", f"/connector-plugins/{_segment(plugin)}/config/validate", config, timeout)


def rehearse_put(cluster: ConnectCluster, connector: str, records: list[Any]) -> Any:
    """Let the connector's sink write records and roll back.

    `records` are as the engine's rehearsal wrote them. Raises EngineUnavailable or EngineRefused.
    """
    address = f"/connectors/{_segment(connector)}/put-rehearsal"
    return _call(cluster, "POST", address, {"records": records}, PUT_TIMEOUT)


def _options(config: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in config.items()} if isinstance(config, dict) else {}


def _segment(name: str) -> str:
    """Quote a name as one path segment.

    `.` and `..` are refused: a URL parser resolves them, and the request would reach another resource.
    """
    if name in ("", ".", ".."):
        raise EngineRefused(404, f"{name or 'A connector without a name'} not found")
    return quote(name, safe="")


def _call(
    cluster: ConnectCluster, method: str, address: str, body: Any = None, timeout: httpx.Timeout = TIMEOUT
) -> Any:
    answer = _ask(cluster, method, address, body, timeout)
    if answer.status_code == 401:
        raise EngineMisconfigured(401, _credentials_message(cluster))
    try:
        document = answer.json() if answer.content else None
    except ValueError as error:
        raise EngineUnavailable(f"the answer is not JSON: {error}") from error
    if answer.is_error:
        message = document.get("message") if isinstance(document, dict) else None
        raise EngineRefused(answer.status_code, str(message or answer.reason_phrase))
    return document


def _ask(cluster: ConnectCluster, method: str, address: str, body: Any, timeout: httpx.Timeout) -> httpx.Response:
    """Send a request to the first worker that accepts a connection.

    A worker that is connected may have received the request, so no other one is asked after that.
    """
    *others, last = cluster.urls
    for url in others:
        try:
            return _follow(cluster, method, httpx.URL(url + address), body, timeout)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            continue
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EngineUnavailable(f"{type(error).__name__}: {error}") from error
    try:
        return _follow(cluster, method, httpx.URL(last + address), body, timeout)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise EngineUnavailable(f"{type(error).__name__}: {error}") from error


def _follow(cluster: ConnectCluster, method: str, url: httpx.URL, body: Any, timeout: httpx.Timeout) -> httpx.Response:
    """Send a request and follow a standby worker's redirects.

    Credentials are sent to the configured addresses of the cluster only.
    """
    trusted = {_origin(httpx.URL(address)) for address in cluster.urls}
    headers, trust = _authorization(cluster), _trusted_cas(cluster.ca_file, cluster.setting("ca_file"))
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
                f"{cluster.title} redirects to {shown}, which is not in {cluster.setting('urls')}. Add it there if "
                "the dashboard may trust it."
            )
            raise EngineMisconfigured(answer.status_code, text)
    raise EngineUnavailable("the workers redirect to each other in a circle")


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port  # httpx omits default ports


def _authorization(cluster: ConnectCluster) -> dict[str, str]:
    """Return the header with the token or user of the settings. Files are read for every request."""
    token = _secret(cluster, "token_file") if cluster.token_file else cluster.token
    if token and not token.isascii():
        names = f"{cluster.setting('token_file')} or {cluster.setting('token')}"
        raise EngineMisconfigured(401, f"The token in {names} contains characters that are not ASCII.")
    if token:
        return {"Authorization": f"Bearer {token}"}
    if cluster.user:
        password = _secret(cluster, "password_file") if cluster.password_file else cluster.password
        request = httpx.Request("GET", "http://engine")
        signed = next(httpx.BasicAuth(cluster.user, password).auth_flow(request))
        return {"Authorization": signed.headers["Authorization"]}
    return {}


def _secret(cluster: ConnectCluster, option: Literal["token_file", "password_file"]) -> str:
    """Return the first line of a file that is neither empty nor a comment."""
    path = Path(getattr(cluster, option))
    try:
        lines = [line.strip() for line in path.read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        fault = getattr(error, "strerror", None) or "it is not UTF-8"
        raise EngineMisconfigured(401, f"{cluster.setting(option)} can't be read: {path}: {fault}.") from error
    return next((line for line in lines if line and not line.startswith("#")), "")


def _credentials_message(cluster: ConnectCluster) -> str:
    if cluster.token_file or cluster.token:
        name = cluster.setting("token_file" if cluster.token_file else "token")
        return f"{cluster.title} rejected the dashboard's token. Set {name} to a token of its rest.auth.token.file."
    user, password = cluster.setting("user"), cluster.setting("password")
    if cluster.user:
        return f"{cluster.title} rejected the dashboard's user or password. Set {user} and {password}."
    return (
        f"{cluster.title} requires credentials, and the dashboard has none. Set {cluster.setting('token_file')}, or "
        f"{user} and {password}."
    )


@lru_cache(maxsize=16)
def _trusted_cas(ca_file: str, setting: str) -> ssl.SSLContext:
    """Return the CAs for a cluster's TLS certificate: the system's, or those of `ca_file`."""
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except OSError as error:  # raised also if the file holds no certificate
        raise EngineMisconfigured(401, f"{setting} can't be used: {ca_file}: {error.strerror or error}.") from error

"""A worker's REST options: listeners, the advertised address, and the rules for clients."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from engine.config.masking import mask_url
from engine.config.options import INT_MAX, Option, Problem, at_least, in_any_case, one_of, valid

DEFAULT_PORT = 8083
LISTENERS = ("http://127.0.0.1:8083",)
TLS_PREFIX = "listeners.https."
# Options that leases never get: a worker's REST credentials stay in the driver.
PREFIXES = ("listeners", "rest.", "access.control.")
MAX_REQUEST_BYTES = 1_048_576  # Kafka's default limit for a record, and a configuration is stored as one
MIN_TOKEN_CHARS = 32
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
CONNECT_METHODS = ("GET", "POST", "HEAD")  # Kafka Connect's default for `access.control.allow.methods`


@valid(f"at least {MIN_TOKEN_CHARS} characters: letters, digits and ._~+/=-")
def bearer_token(text: str) -> str | None:
    """Check that a token fits in a header (RFC 6750, section 2.1) and is hard to guess."""
    if len(text) >= MIN_TOKEN_CHARS and _TOKEN.fullmatch(text):
        return None
    rule = f"must be a token of at least {MIN_TOKEN_CHARS} characters: letters, digits and ._~+/=-"
    return f"{rule}; create one with: openssl rand -hex 32"


# fmt: off: one row, one line
OPTIONS: tuple[Option, ...] = (
    Option("listeners", "list", LISTENERS, "The URLs on which the REST API listens: `http://` or `https://`."),
    Option("listeners.https.*", "map", {}, "TLS options of `https://` listeners. Default: `ssl.*`."),
    Option(
        "rest.advertised.host.name",
        "string",
        None,
        "The host name that other drivers send clients to. Default: the host of `listeners`.",
    ),
    Option(
        "rest.advertised.port",
        "int",
        None,
        "The port that other drivers send clients to. Default: the port of `listeners`.",
        at_least(1, 65_535),
    ),
    Option(
        "rest.advertised.listener",
        "string",
        None,
        "`http` or `https`: the scheme of the listener that other drivers send clients to. Default: `http` "
        "if there is such a listener.",
        in_any_case("http", "https"),
    ),
    Option(
        "rest.authentication",
        "string",
        "required",
        "`none` gives every process of this machine access to the REST API. Allowed only with loopback listeners.",
        one_of("required", "none"),
    ),
    Option("rest.auth.token", "password", None, "A bearer token of at least 32 characters.", bearer_token, secret=True),
    Option(
        "rest.auth.token.file",
        "string",
        None,
        "A file of bearer tokens, one per line. The engine reads it again when it changes.",
    ),
    Option(
        "rest.extension.classes",
        "list",
        (),
        "Kafka's `BasicAuthSecurityRestExtension` for HTTP basic authentication. No other class is supported.",
    ),
    Option(
        "rest.basic.auth.credentials.file",
        "string",
        None,
        "A properties file of `user=password` lines, in the format of Kafka's PropertyFileLoginModule. A "
        "password may be a hash from `python -m engine hash-password`. The engine reads the file again when "
        "it changes.",
    ),
    Option("rest.allowed.hosts", "list", (), "Additional host names, without port, that requests may have in `Host`."),
    Option(
        "access.control.allow.origin",
        "list",
        (),
        "Origins of web pages that may use the REST API, such as `https://ui.example.com`; `*` allows all.",
    ),
    Option(
        "access.control.allow.methods",
        "list",
        (),
        "HTTP methods that those pages may use. Default: GET, POST and HEAD.",
    ),
    Option(
        "rest.max.request.bytes",
        "int",
        MAX_REQUEST_BYTES,
        "The maximum size of a request body in bytes. Larger requests get status 413.",
        at_least(1024, INT_MAX),
    ),
)
# fmt: on


class Listener(NamedTuple):
    """A URL of `listeners`. `host` has no brackets."""

    scheme: str
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)

    @property
    def is_wildcard(self) -> bool:
        """Return whether it listens on every address of the machine."""
        return self.host in {"0.0.0.0", "::"}  # noqa: S104, a comparison, not an address to bind

    @property
    def address(self) -> str:
        """Return `host:port`, with an IPv6 address in brackets."""
        return f"{bracketed(self.host)}:{self.port}"


@dataclass(frozen=True, slots=True)
class RestConfig:
    """The REST options of a worker. `tls` has the options behind `listeners.https.`, without that prefix."""

    listeners: tuple[Listener, ...] = (Listener("http", "127.0.0.1", DEFAULT_PORT),)
    tls: Mapping[str, str] = field(default_factory=dict, repr=False)
    advertised_host: str | None = None
    advertised_port: int | None = None
    advertised_scheme: str = "http"
    is_open: bool = False  # rest.authentication=none
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None
    extensions: tuple[str, ...] = ()
    users_file: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    allowed_methods: tuple[str, ...] = CONNECT_METHODS
    max_request_bytes: int = MAX_REQUEST_BYTES


def rest_config(values: Mapping[str, Any], problems: list[Problem]) -> RestConfig:
    """Return the REST options from the values of `OPTIONS`. Problems are added to `problems`."""
    listeners = tuple(filter(None, (_listener(text, problems) for text in values["listeners"])))
    if not values["listeners"]:
        problems.append(("listeners", "", "has no URL; write for example http://127.0.0.1:8083"))
    schemes = [listener.scheme for listener in listeners]
    advertised = values["rest.advertised.listener"] or ("http" if "http" in schemes else "https")
    if schemes and values["rest.advertised.listener"] and advertised not in schemes:
        problems.append(("rest.advertised.listener", advertised, f"needs an {advertised}:// URL in `listeners`"))
    return RestConfig(
        listeners=listeners,
        tls=values["listeners.https.*"],
        advertised_host=values["rest.advertised.host.name"],
        advertised_port=values["rest.advertised.port"],
        advertised_scheme=advertised,
        is_open=values["rest.authentication"] == "none",
        token=values["rest.auth.token"],
        token_file=values["rest.auth.token.file"],
        extensions=values["rest.extension.classes"],
        users_file=values["rest.basic.auth.credentials.file"],
        allowed_hosts=tuple(host.lower() for host in values["rest.allowed.hosts"]),
        allowed_origins=tuple(origin.lower().rstrip("/") for origin in values["access.control.allow.origin"]),
        allowed_methods=tuple(method.upper() for method in values["access.control.allow.methods"]) or CONNECT_METHODS,
        max_request_bytes=values["rest.max.request.bytes"],
    )


def is_loopback(host: str) -> bool:
    """Return whether only local processes reach that host. Names other than localhost count as remote."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def bracketed(host: str) -> str:
    """Return the host as written in a URL."""
    return f"[{host}]" if ":" in host else host


def _listener(text: str, problems: list[Problem]) -> Listener | None:
    """Parse a listener URL. Defaults: scheme http, host 127.0.0.1, port 8083."""
    try:
        url = urlsplit(text if "//" in text else f"http://{text}")
        port = DEFAULT_PORT if url.port is None else url.port
    except ValueError:
        problems.append(("listeners", text, "is not a valid URL; write for example http://127.0.0.1:8083"))
        return None
    if url.scheme not in {"http", "https"} or url.username is not None or url.path.strip("/") or url.query:
        problems.append(("listeners", mask_url(text), "must be http://host:port or https://host:port"))
        return None
    return Listener(url.scheme, url.hostname or "127.0.0.1", port)

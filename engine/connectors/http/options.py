"""The options of HttpSink, with the names of Aiven's and Confluent's HTTP sinks where they have the same meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from engine.config.connector import ConnectorConfig
from engine.config.options import REQUIRED, Option, Problem, ValueCheck, at_least, in_any_case, one_of
from engine.connectors.http_client import TRUSTED

NONE, STATIC, BASIC, OAUTH2 = "none", "static", "basic", "oauth2"
IGNORE, FAIL, DELETE = "ignore", "fail", "delete"
_HEADER_NAME = re.compile(r"[A-Za-z0-9_-]+")
OWN_HEADERS = frozenset({"authorization", "connection", "content-length", "content-type", "host", "transfer-encoding"})
ESCAPES = {"\\n": "\n", "\\r": "\r", "\\t": "\t"}
# The options that each kind of authorization needs.
NEEDED = {
    NONE: (),
    STATIC: ("http.headers.authorization",),
    BASIC: ("connection.user", "connection.password"),
    OAUTH2: ("oauth2.access.token.url", "oauth2.client.id", "oauth2.client.secret"),
}


def url_problem(url: str) -> str | None:
    """Return why a text is not the URL of an HTTP target, or None."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "must be an HTTP URL"
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return "must be an HTTP URL, such as https://api.example.com/events"
    if parts.username is not None or parts.password is not None:
        return "must not hold a user or a password; use http.authorization.type=basic"
    return "must not have a fragment (#)" if parts.fragment else None


def header_problem(rows: Sequence[str]) -> str | None:
    """Return the problem of headers, written as `name:value` each, or None."""
    try:
        headers_of(rows)
    except ValueError as error:
        return str(error)
    return None


def header_name_problem(name: str) -> str | None:
    """Return the problem of a header's name, or None. An empty name means no header."""
    return None if not name or _HEADER_NAME.fullmatch(name) else "must be the name of a header"


def headers_of(rows: Sequence[str]) -> dict[str, str]:
    """Return the headers that `http.headers.additional` lists. Raises ValueError with a sentence."""
    headers: dict[str, str] = {}
    for row in rows:
        name, colon, value = row.partition(":")
        name = name.strip()
        if not colon or not _HEADER_NAME.fullmatch(name):
            raise ValueError("must list headers as name:value, separated by commas")
        if name.lower() in {one.lower() for one in headers}:
            raise ValueError("has a header twice")
        if name.lower() in OWN_HEADERS:
            raise ValueError(f"must not set the header {name}, which other options or the request set")
        headers[name] = value.strip()
    return headers


URL = ValueCheck("an HTTP URL without user and password", url_problem)
OPTIONS = (
    Option(
        "http.url",
        "string",
        REQUIRED,
        "The URL to send records to. It is masked, because webhook addresses are often secret.",
        URL,
        secret=True,
        aliases=("http.api.url",),
    ),
    Option(
        "request.method",
        "string",
        "POST",
        "The method of requests.",
        in_any_case("POST", "PUT", "PATCH"),
        aliases=("http.method",),
    ),
    Option(
        "request.body.format",
        "string",
        "json",
        "`json`: each value as JSON. `string`: texts and bytes as they are, other values as JSON.",
        one_of("json", "string"),
    ),
    Option(
        "http.headers.content.type",
        "string",
        "application/json",
        "The Content-Type of requests.",
    ),
    Option(
        "http.headers.additional",
        "list",
        (),
        "Further headers, as `name:value`, separated by commas.",
        ValueCheck("name:value, separated by commas", header_problem),
        secret=True,
    ),
    Option(
        "http.idempotency.header",
        "string",
        "Idempotency-Key",
        "The header with the record's topic, partition and offset, so that the target can ignore a repeated request. "
        "The key of a batch is made of all its records. If empty, no such header is sent.",
        ValueCheck("the name of a header, or nothing", header_name_problem),
    ),
    Option(
        "http.authorization.type",
        "string",
        NONE,
        "`none`; `static`: the header of `http.headers.authorization`; `basic`: user and password; `oauth2`: a token "
        "from client credentials.",
        in_any_case(NONE, STATIC, BASIC, OAUTH2),
        aliases=("auth.type",),
    ),
    Option("http.headers.authorization", "password", None, "The value of the Authorization header."),
    Option("connection.user", "string", None, "The user of the basic authorization."),
    Option("connection.password", "password", None, "The password of the basic authorization."),
    Option("oauth2.access.token.url", "string", None, "The URL that gives tokens.", URL),
    Option("oauth2.client.id", "string", None, "The client's id."),
    Option("oauth2.client.secret", "password", None, "The client's secret."),
    Option(
        "oauth2.client.authorization.mode",
        "string",
        "header",
        "How to send id and secret: as a basic authorization `header`, or in the form (`url`).",
        in_any_case("header", "url"),
    ),
    Option("oauth2.client.scope", "string", None, "The scope of the token."),
    Option("oauth2.response.token.property", "string", "access_token", "The field of the answer with the token."),
    Option(
        "batching.enabled",
        "boolean",
        False,
        "Send several records in one request. If a request is refused (4xx), its halves are sent, until the refused "
        "records are found. So the target must accept a request as a whole or not at all.",
    ),
    Option("batch.max.size", "int", 500, "The most records in a request.", at_least(1, 1_000_000)),
    Option("batch.prefix", "string", "", "The text before the first record of a batch. `\\n` is a line end."),
    Option("batch.separator", "string", "\\n", "The text between the records of a batch."),
    Option(
        "batch.suffix",
        "string",
        "\\n",
        "The text after the last record of a batch. With the prefix `[`, the separator `,` and the suffix `]`, a batch "
        "is a JSON array.",
    ),
    Option(
        "behavior.on.null.values",
        "string",
        FAIL,
        "What to do with a record without a value: `fail` makes it an error, `ignore` sends nothing, `delete` sends "
        "DELETE to the URL with the record's key as its last segment.",
        in_any_case(IGNORE, FAIL, DELETE),
    ),
    Option("http.timeout", "int", 30, "The longest wait (s) for a connection and for an answer.", at_least(1, 3600)),
    TRUSTED,
)


def prepare(config: ConnectorConfig) -> tuple[ConnectorConfig, list[Problem]]:
    """Return the configuration, and options that the kind of authorization needs and that are missing."""
    kind = config.own["http.authorization.type"]
    return config, [
        (option, None, f"is required for http.authorization.type={kind}")
        for option in NEEDED.get(kind, ())
        if not config.own.get(option)
    ]


def urls(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the options that name URLs, with the URLs."""
    return [(name, values[name]) for name in ("http.url", "oauth2.access.token.url") if values.get(name)]


def text_of(option: str) -> bytes:
    """Return the bytes of a prefix, separator or suffix, with its escapes replaced."""
    for escape, text in ESCAPES.items():
        option = option.replace(escape, text)
    return option.encode()

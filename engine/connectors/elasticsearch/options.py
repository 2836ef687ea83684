"""The options of ElasticsearchSink, with the names of Confluent's Elasticsearch sink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.config.connector import ConnectorConfig
from engine.config.options import REQUIRED, Option, Problem, ValueCheck, at_least, in_any_case
from engine.connectors.http.options import DELETE, FAIL, IGNORE, url_problem
from engine.connectors.http_client import TRUSTED

INSERT, UPSERT = "insert", "upsert"


def urls_problem(urls: Sequence[str]) -> str | None:
    """Return the problem of the nodes' URLs, or None."""
    return "must name a node" if not urls else next(filter(None, map(url_problem, urls)), None)


def malformed_problem(behaviour: str) -> str | None:
    """Return why the engine does not have a behaviour of other sinks, or None."""
    if behaviour.lower() == FAIL:
        return None
    return "must be fail: the document is then an error of its record, and errors.tolerance=all skips it"


OPTIONS = (
    Option(
        "connection.url",
        "list",
        REQUIRED,
        "The URLs of nodes. The next one is asked when one does not answer.",
        ValueCheck("HTTP URLs without user and password", urls_problem),
    ),
    Option("connection.username", "string", None, "The user."),
    Option("connection.password", "password", None, "The user's password."),
    Option(
        "key.ignore",
        "boolean",
        False,
        "`false`: the record's key is the id of its document, and its offset the external version, so that an older "
        "record never replaces a newer one. With `write.method=upsert` there is no version. `true`: the id is "
        "`topic+partition+offset`, with the topic that the record was read from.",
    ),
    Option(
        "write.method",
        "string",
        INSERT,
        "`insert`: replace the document. `upsert`: change the fields that the value has, and keep the others.",
        in_any_case(INSERT, UPSERT),
    ),
    Option(
        "behavior.on.null.values",
        "string",
        FAIL,
        "What to do with a record without a value: `fail` makes it an error, `ignore` sends nothing, `delete` deletes "
        "the document of its key.",
        in_any_case(IGNORE, FAIL, DELETE),
    ),
    Option(
        "behavior.on.malformed.documents",
        "string",
        FAIL,
        "What to do with a document that is refused: `fail` makes it an error of its record.",
        ValueCheck(FAIL, malformed_problem),
    ),
    Option("batch.size", "int", 2000, "The most documents in a request.", at_least(1, 1_000_000)),
    Option(
        "bulk.size.bytes",
        "int",
        5 * 1024 * 1024,
        "The most bytes in a request, unless one document has more.",
        at_least(1),
    ),
    Option("connection.timeout.ms", "int", 1000, "The longest wait for a connection.", at_least(1)),
    Option("read.timeout.ms", "int", 30_000, "The longest wait for an answer.", at_least(1)),
    TRUSTED,
)


def prepare(config: ConnectorConfig) -> tuple[ConnectorConfig, list[Problem]]:
    """Return the configuration and problems of options that don't fit together."""
    own, problems = config.own, list[Problem]()
    if bool(own["connection.username"]) != bool(own["connection.password"]):
        missing = "connection.password" if own["connection.username"] else "connection.username"
        problems.append((missing, None, "is missing; set both user and password, or none"))
    if own["key.ignore"] and own["behavior.on.null.values"] == DELETE:
        text = "needs key.ignore=false, because only a key names a document to delete"
        problems.append(("behavior.on.null.values", DELETE, text))
    return config, problems


def urls(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the URLs of the nodes, by option."""
    return [("connection.url", url) for url in values["connection.url"] or ()]

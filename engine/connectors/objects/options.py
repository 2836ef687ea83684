"""The options of ObjectStoreSink, with the names of Confluent's S3 sink where they have the same meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from engine.config.connector import ConnectorConfig
from engine.config.options import Option, Problem, ValueCheck, at_least, one_of
from engine.connectors.http.options import FAIL, IGNORE, url_problem

JSON_LINES, PARQUET = "jsonl", "parquet"
CODECS = {JSON_LINES: ("none", "gzip"), PARQUET: ("none", "gzip", "snappy", "zstd")}
_FOLDER = re.compile(r"[A-Za-z0-9_=.-]+(/[A-Za-z0-9_=.-]+)*")


def folder_problem(folder: str) -> str | None:
    """Return why a text is not a path below the store, or None."""
    if not _FOLDER.fullmatch(folder) or {".", ".."} & set(folder.split("/")):
        return "must be a path of letters, digits, `_`, `=`, `.` and `-`, without a leading slash"
    return None


def _endpoint_problem(url: str) -> str | None:
    return url_problem(url) if url else None


# Where to write.
STORE_OPTIONS = (
    Option("s3.bucket.name", "string", None, "The bucket of an S3-compatible store. It must exist."),
    Option("s3.region", "string", "us-east-1", "The bucket's region."),
    Option(
        "store.url",
        "string",
        "",
        "The URL of an S3-compatible store. If empty, AWS.",
        ValueCheck("an HTTP URL without user and password", _endpoint_problem),
    ),
    Option("aws.access.key.id", "string", None, "The id of the access key. Without it, requests are not signed."),
    Option("aws.secret.access.key", "password", None, "The secret of the access key."),
    Option(
        "local.directory",
        "string",
        None,
        "A folder instead of a bucket, below the worker's `file.connectors.root`. ObjectStoreSink needs a file system "
        "with extended attributes.",
    ),
)
# How much to collect.
FLUSH_OPTIONS = (
    Option("flush.size", "int", 50_000, "The most records that a task collects.", at_least(1)),
    Option("flush.bytes", "long", 64 * 1024 * 1024, "About the most bytes that a task collects.", at_least(1)),
    Option(
        "rotate.interval.ms",
        "long",
        None,
        "How long records are collected at most. Default: the worker's `offset.flush.interval.ms`. They are also "
        "written when the task's lease ends.",
        at_least(1),
    ),
    Option(
        "behavior.on.null.values",
        "string",
        FAIL,
        "What to do with a record without a value: `fail` makes it an error, `ignore` leaves it out.",
        one_of(FAIL, IGNORE),
    ),
)
OPTIONS = (
    *STORE_OPTIONS,
    Option(
        "topics.dir",
        "string",
        "topics",
        "The folder of all objects. Choose another one to write all records again.",
        ValueCheck("a path without a leading slash", folder_problem),
    ),
    Option(
        "format",
        "string",
        JSON_LINES,
        "`jsonl`: each value as a line of JSON. `parquet`: a table; values must be objects, and a record whose fields "
        "have other types than those before it in the object is an error.",
        one_of(*CODECS),
    ),
    Option(
        "compression.type",
        "string",
        "none",
        "`none` or `gzip`; for Parquet also `snappy` or `zstd`.",
        one_of("none", "gzip", "snappy", "zstd"),
    ),
    *FLUSH_OPTIONS,
)


def prepare(config: ConnectorConfig) -> tuple[ConnectorConfig, list[Problem]]:
    """Return the configuration and problems of options that don't fit together."""
    own = config.own
    problems = store_problems(own)
    codec, codecs = own["compression.type"], CODECS.get(own["format"], ())
    if codecs and codec not in codecs:
        problems.append(("compression.type", codec, f"must be one of {', '.join(codecs)} for format={own['format']}"))
    return config, problems


def store_problems(own: Mapping[str, Any]) -> list[Problem]:
    """Return problems of options that name no store, or two."""
    problems = list[Problem]()
    if bool(own["s3.bucket.name"]) == bool(own["local.directory"]):
        problems.append(("s3.bucket.name", None, "set either s3.bucket.name or local.directory"))
    if bool(own["aws.access.key.id"]) != bool(own["aws.secret.access.key"]):
        missing = "aws.secret.access.key" if own["aws.access.key.id"] else "aws.access.key.id"
        problems.append((missing, None, "is missing; set both the id and the secret, or none"))
    return problems


def endpoint_of(values: Mapping[str, Any]) -> str:
    """Return the URL of the store: its own, or that of AWS in the region."""
    return str(values["store.url"] or f"https://s3.{values['s3.region']}.amazonaws.com").rstrip("/")


def urls(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the URL that requests go to."""
    if not values["s3.bucket.name"]:
        return []
    return [("store.url", endpoint_of(values))]


def files(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the folder of a local store."""
    return [("local.directory", values["local.directory"])] if values["local.directory"] else []

"""The status record of a guarded Spark query, on the status topic.

A query is no connector of the herder. It reports about itself, under the key `status-query-<name>`. A tombstone means
that the query is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

KEY = b"status-query-"
KIND = "query"
SILENT_AFTER = 3  # intervals without a report, after which nobody knows whether the query still runs
_MAX_NAME = 200  # characters


class QueryState(StrEnum):
    """The state of a query. A batch job ends as FINISHED, a stream that somebody stopped as STOPPED."""

    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    STOPPED = "STOPPED"


class QueryStage(msgspec.Struct, frozen=True):
    """A guarded stage of a query. `name` is the one that its program gives to it, or empty."""

    index: int
    type: str
    class_name: str = msgspec.field(default="", name="class")
    name: str = ""


class QueryStatus(msgspec.Struct, frozen=True):
    """The last report of a query. Times are milliseconds since the epoch.

    - `run`: the id of Spark's query run or job run.
    - `every_ms`: reports come at least this often while the query runs.
    - `batch`: the id of the last micro-batch; None for a batch job.
    - `topics`: the topics that it reads.
    - `lag`: records that it has not read yet; None if unknown.
    - `metrics`: counters by the names of `reporting/metrics.py`. `good` and `filtered` are numbers of records.
    - `stage_failures`: failures by `<index>:<stage type>:<class>`.
    - `tolerance`: limit, used, rate_limit and rate_used.
    - `last_failure`: 0 if nothing failed.
    - `options`: the error options, without secrets.
    - `worker_id`: the host of the driver.
    """

    name: str
    state: QueryState
    time: int
    kind: str = KIND
    run: str = ""
    started: int = 0
    every_ms: int = 0
    is_stream: bool = False
    batch: int | None = None
    topics: tuple[str, ...] = ()
    dlq_topic: str | None = None
    lag: int | None = None
    metrics: dict[str, int] = {}
    good: int = 0
    filtered: int = 0
    stages: tuple[QueryStage, ...] = ()
    stage_failures: dict[str, int] = {}
    tolerance: dict[str, int] = {}
    last_failure: int = 0
    options: dict[str, str] = {}
    trace: str | None = None
    worker_id: str = ""

    @property
    def key(self) -> bytes:
        """The key of its record."""
        return query_key(self.name)

    def is_silent(self, now_ms: int) -> bool:
        """Return whether a query that said it runs has missed its reports."""
        return (
            self.state is QueryState.RUNNING and self.every_ms > 0 and now_ms - self.time > SILENT_AFTER * self.every_ms
        )


def query_key(name: str) -> bytes:
    """Return the key of the status of the query of this name."""
    return KEY + name.encode()


def query_name(key: bytes) -> str | None:
    """Return the name of the query that a key is about; None if it is about something else."""
    return key.removeprefix(KEY).decode("utf-8", "replace")[:_MAX_NAME] or None if key.startswith(KEY) else None


def encode(status: QueryStatus) -> bytes:
    """Return the value of the query's record."""
    return msgspec.json.encode(status)


def decode(value: bytes, *, name: str | None = None, time: int | None = None) -> QueryStatus | None:
    """Return the status in a record; None if there is none.

    `name` is that of the key, which decides. `time` stands for a missing one.
    """
    try:
        found = msgspec.json.decode(value, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if name is not None:
        found["name"] = name
    return from_document(found, time)


def from_document(found: Mapping[str, Any], time: int | None = None) -> QueryStatus | None:
    """Return the status in a JSON object; None if there is none.

    Newer and older engines may write other fields: unknown ones are ignored, and unusable ones have their defaults.
    """
    usable: dict[str, Any] = {}
    for field in msgspec.structs.fields(QueryStatus):
        if field.encode_name in found:
            try:
                usable[field.name] = msgspec.convert(found[field.encode_name], field.type)
            except msgspec.ValidationError:
                continue
    if not usable.get("time") and time is not None:
        usable["time"] = time
    try:
        return QueryStatus(**usable)
    except TypeError:  # a required field is missing
        return None

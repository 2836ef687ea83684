"""Requests and answers of the bulk API of Elasticsearch and OpenSearch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import orjson

from engine.connectors.http_client import SHOWN_BYTES, TargetRejection
from engine.errors import VALUE, ConfigError, EngineError, Message, RetriableError

PATH = "/_bulk?filter_path=items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by.reason"
CONFLICT, NOT_FOUND, TOO_MANY, FORBIDDEN, SERVER_ERRORS = 409, 404, 429, 403, 500
READ_ONLY = "cluster_block_exception"  # an index that is read-only, as when a disk is nearly full
_TYPE = re.compile(r"[a-z_]{1,100}")


class BulkOperation(NamedTuple):
    """A document's operation: its lines in the request, and how its answer is read."""

    ordinal: int  # index of the record in its batch
    id: str
    is_delete: bool
    is_versioned: bool
    lines: bytes


class _Cause(msgspec.Struct):
    reason: str | None = None


class _Error(msgspec.Struct):
    type: str = ""
    reason: str | None = None
    caused_by: _Cause | None = None


class _Item(msgspec.Struct):
    status: int
    error: _Error | None = None


class _BulkAnswer(msgspec.Struct):
    items: list[dict[str, _Item]]


_decoder = msgspec.json.Decoder(_BulkAnswer)


def operation(
    ordinal: int, name: str, id_: str, version: int | None, document: bytes | None, *, upserts: bool
) -> BulkOperation:
    """Return the operation that writes a document to the index `name`, or deletes it if `document` is None."""
    head: dict[str, Any] = {"_index": name, "_id": id_}
    if version is not None:
        head |= {"version": version, "version_type": "external"}
    if document is None:
        lines = orjson.dumps({"delete": head}) + b"\n"
    elif upserts:
        head["retry_on_conflict"] = 3  # other writers may change the document meanwhile
        lines = orjson.dumps({"update": head}) + b'\n{"doc":' + document + b',"doc_as_upsert":true}\n'
    else:
        lines = orjson.dumps({"index": head}) + b"\n" + document + b"\n"
    return BulkOperation(ordinal, id_, document is None, version is not None, lines)


def results(operations: Sequence[BulkOperation], body: bytes) -> list[EngineError | None]:
    """Return the outcome of each operation: None if it is done, else its error.

    TargetRejection: the document was refused. RetriableError: it may be accepted later. ConfigError: the user may not
    write it. Raises RetriableError for an answer that is not complete.
    """
    try:
        items = _decoder.decode(body).items
    except msgspec.DecodeError:
        items = []
    if len(items) != len(operations):
        raise RetriableError("the answer to a bulk request is not complete")
    return [_error_of(one, item) for one, row in zip(operations, items, strict=True) for item in row.values()]


def _error_of(one: BulkOperation, item: _Item) -> EngineError | None:
    if 200 <= item.status < 300:
        return None
    if one.is_delete and item.status == NOT_FOUND and item.error is None:
        return None  # nothing is left to delete
    if one.is_versioned and item.status == CONFLICT:
        return None  # this version, or a newer one, is there already
    error = item.error or _Error()
    kind = error.type if _TYPE.fullmatch(error.type) else "error"
    text = f"{kind} (HTTP {item.status})"
    if item.status == TOO_MANY or item.status >= SERVER_ERRORS or kind == READ_ONLY:
        return RetriableError(f"documents are not accepted at the moment: {text}")
    if item.status == FORBIDDEN:
        return ConfigError((("connection.username", None, f"may not write to the index: {text}"),))
    reasons = [reason for reason in (error.reason, error.caused_by and error.caused_by.reason) if reason]
    shown = "; ".join(reasons).encode()[:SHOWN_BYTES].decode(errors="ignore")
    return TargetRejection(Message(f"the document was refused: {text}: {VALUE}", shown or "(no reason)"))

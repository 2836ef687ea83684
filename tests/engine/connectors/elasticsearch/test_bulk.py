"""Answers to documents, as OpenSearch 2.19.6 gives them."""

from __future__ import annotations

import orjson
import pytest

from engine.connectors.elasticsearch.bulk import BulkOperation, operation, results
from engine.connectors.elasticsearch.sink import document_id
from engine.connectors.http_client import TargetRejection
from engine.errors import ConfigError, DataError, EngineError, Message, RetriableError

CONFLICT = {
    "type": "version_conflict_engine_exception",
    "reason": "[1]: version conflict, current version [5] is higher or equal to the one provided [4]",
}
PARSING = {
    "type": "mapper_parsing_exception",
    "reason": "failed to parse field [n] of type [long] in document with id '2'. Preview of field's value: 'x'",
    "caused_by": {"type": "illegal_argument_exception", "reason": 'For input string: "x"'},
}
BUSY = {"type": "rejected_execution_exception", "reason": "rejected execution of coordinating operation"}
BLOCKED = {"type": "cluster_block_exception", "reason": "index [q] blocked by: [FORBIDDEN/8/index write (api)];"}
DENIED = {"type": "security_exception", "reason": "no permissions for [indices:data/write/bulk[s]]"}
VERSIONED = operation(0, "q", "1", 4, b"{}", upserts=False)
PLAIN = operation(0, "q", "1", None, b"{}", upserts=False)
DELETION = operation(0, "q", "1", 7, None, upserts=False)


def outcome(one: BulkOperation, status: int, error: object = None) -> EngineError | None:
    item = {"status": status} | ({"error": error} if error else {})
    (found,) = results([one], orjson.dumps({"items": [{"index": item}]}))
    return found


@pytest.mark.parametrize(
    ("one", "status", "error", "kind"),
    [
        (PLAIN, 201, None, None),
        (VERSIONED, 409, CONFLICT, None),
        (PLAIN, 409, CONFLICT, TargetRejection),
        (DELETION, 404, None, None),
        (PLAIN, 404, {"type": "index_not_found_exception", "reason": "no such index [q]"}, TargetRejection),
        (PLAIN, 400, PARSING, TargetRejection),
        (PLAIN, 429, BUSY, RetriableError),
        (PLAIN, 503, None, RetriableError),
        (PLAIN, 403, BLOCKED, RetriableError),
        (PLAIN, 403, DENIED, ConfigError),
    ],
)
def test_each_answer_has_one_meaning(
    one: BulkOperation, status: int, error: object, kind: type[EngineError] | None
) -> None:
    found = outcome(one, status, error)
    assert found is None if kind is None else type(found) is kind


def test_the_reason_may_quote_the_record_so_it_is_content() -> None:
    found = outcome(PLAIN, 400, PARSING)
    assert found is not None
    (message,) = found.args
    assert isinstance(message, Message)
    assert str(message) == "the document was refused: mapper_parsing_exception (HTTP 400): '<withheld>'"
    assert "Preview of field's value: 'x'; For input string" in message.content


def test_a_type_that_is_no_name_is_not_shown() -> None:
    assert "secret" not in str(outcome(PLAIN, 400, {"type": "secret of record 17", "reason": "no"}))


@pytest.mark.parametrize("body", [b"", b"{}", b'{"items":[]}', b"<html>"])
def test_an_answer_that_is_not_complete_settles_nothing(body: bytes) -> None:
    with pytest.raises(RetriableError):
        results([PLAIN], body)


def test_the_lines_of_operations() -> None:
    assert VERSIONED.lines == b'{"index":{"_index":"q","_id":"1","version":4,"version_type":"external"}}\n{}\n'
    assert DELETION.lines == b'{"delete":{"_index":"q","_id":"1","version":7,"version_type":"external"}}\n'
    upsert = operation(0, "q", "1", None, b"{}", upserts=True).lines
    assert upsert == b'{"update":{"_index":"q","_id":"1","retry_on_conflict":3}}\n{"doc":{},"doc_as_upsert":true}\n'


@pytest.mark.parametrize("key", [None, "", "x" * 513, True, 1.5, {"id": 1}, b"1"])
def test_keys_that_are_no_ids(key: object) -> None:
    with pytest.raises(DataError):
        document_id(key)


def test_keys_that_are_ids() -> None:
    assert [document_id(key) for key in ("a", 17, "é" * 256)] == ["a", "17", "é" * 256]

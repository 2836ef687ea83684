"""ElasticsearchSink: writes records as documents over the bulk API, and reads the answer of each document."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from engine.config.options import parse_own
from engine.config.permissions import Permissions
from engine.connectors.elasticsearch.bulk import PATH, BulkOperation, operation, results
from engine.connectors.elasticsearch.options import OPTIONS, UPSERT
from engine.connectors.http.authorization import basic
from engine.connectors.http.options import DELETE, FAIL
from engine.connectors.http_client import HttpAnswer, HttpClient, rejection, retriable_error
from engine.connectors.json_values import UNWRITABLE, json_of, unread_json_of
from engine.errors import ConfigError, DataError, EngineError, PartialPut, RecordError, RetriableError
from engine.record.record import Record

SLOW_S = 5.0  # a put that takes longer is committed in part
ANSWER_BYTES = 64 * 1024 * 1024
MAX_ID_BYTES = 512
REFUSED_BATCH = (400, 413)  # one of the documents makes the request invalid or too large
HEADERS = {"Content-Type": "application/x-ndjson"}


class ElasticsearchSink:
    """Writes each value as a document of the index that has its topic's name in lower case."""

    put_is_idempotent = False  # the sink names the refused documents itself
    writes_to = "a search index"
    takes_unread = True
    flushes_anywhere = True
    concurrent_puts = True

    def __init__(self, permissions: Permissions | None = None, now_s: Callable[[], float] = time.monotonic) -> None:
        """Connect only to hosts that `permissions` allow."""
        self._permissions = permissions or Permissions()
        self._now_s = now_s
        self._json: Callable[[Any], bytes] = json_of

    def use_unread(self) -> None:
        """Expect JSON values whose parts may be unread."""
        self._json = unread_json_of

    def start(self, config: Mapping[str, str]) -> None:
        options = parse_own(OPTIONS, config)
        self._client = HttpClient(
            self._permissions,
            "connection.url",
            options["read.timeout.ms"] / 1000,
            options["ssl.truststore.certificates"],
            connect_s=options["connection.timeout.ms"] / 1000,
        )
        self._nodes = tuple(url.rstrip("/") for url in options["connection.url"])
        self._headers = dict(HEADERS)
        if options["connection.username"]:
            self._headers["Authorization"] = basic(options["connection.username"], options["connection.password"])
        self._ignores_key, self._upserts = options["key.ignore"], options["write.method"] == UPSERT
        self._on_null = options["behavior.on.null.values"]
        self._size, self._bytes = options["batch.size"], options["bulk.size.bytes"]

    def put(self, records: Sequence[Record]) -> None:
        late_s = self._now_s() + SLOW_S
        operations, done = self._operations(records)
        for request in self._requests(operations):
            self._deliver(request, done)
            if len(done) < len(records) and self._now_s() > late_s:
                raise PartialPut(tuple(done))

    def flush(self) -> None:
        """Do nothing: an accepted document is in the translog of its shards."""

    def stop(self) -> None:
        self._client.close()

    def _operations(self, records: Sequence[Record]) -> tuple[list[BulkOperation], list[int]]:
        """Return the operations, and the indexes of records that need none. Raises an ExceptionGroup."""
        operations: list[BulkOperation] = []
        ignored: list[int] = []
        errors: list[RecordError] = []
        for index, record in enumerate(records):
            try:
                one = self._operation(index, record)
            except (*UNWRITABLE, DataError) as error:
                errors.append(RecordError(index, error))
                continue
            if one is None:
                ignored.append(index)
            else:
                operations.append(one)
        if errors:
            raise ExceptionGroup("records that are no documents", errors)
        return operations, ignored

    def _operation(self, index: int, record: Record) -> BulkOperation | None:
        value, document = record.value, None
        if value is not None:
            if not isinstance(value, dict):
                raise DataError("the value is not an object, so it is no document")
            document = self._json(value)
        elif self._on_null == FAIL:
            raise DataError("the record has no value; behavior.on.null.values can be ignore or delete")
        elif self._on_null != DELETE:
            return None
        if self._ignores_key:
            # The place is the record's own: a transform may give the records of two topics one name.
            place = record.raw or record
            id_, version = f"{place.topic}+{place.partition}+{place.offset}", None
        else:
            # An update can't set an external version, and it raises the one that is there. A deletion with an offset
            # as its version would then be taken for an old one.
            id_, version = document_id(record.key), None if self._upserts else record.offset
        upserts = self._upserts and document is not None
        return operation(index, record.topic.lower(), id_, version, document, upserts=upserts)

    def _requests(self, operations: Sequence[BulkOperation]) -> Iterator[list[BulkOperation]]:
        request: list[BulkOperation] = []
        size = 0
        for one in operations:
            if request and (len(request) >= self._size or size + len(one.lines) > self._bytes):
                yield request
                request, size = [], 0
            request.append(one)
            size += len(one.lines)
        if request:
            yield request

    def _deliver(self, request: list[BulkOperation], done: list[int]) -> None:
        """Send a request, and its halves while it is refused as a whole. Raises PartialPut unless all is done."""
        parts = [request]
        while parts:
            part = parts.pop()
            try:
                answer = self._send(part)
                found = results(part, answer.body) if answer.is_success else []
            except EngineError as error:
                raise (PartialPut(tuple(done), (), error) if done else error) from None
            if found:
                self._settle(part, found, done)
            elif len(part) == 1:
                refused = RecordError(part[0].ordinal, rejection(answer.status, answer.body))
                raise PartialPut(tuple(done), (refused,))
            else:
                middle = len(part) // 2
                parts += [part[middle:], part[:middle]]

    def _settle(self, part: Sequence[BulkOperation], found: Sequence[EngineError | None], done: list[int]) -> None:
        rejected: list[RecordError] = []
        left: list[EngineError] = []
        waiting = set[str]()
        for one, error in zip(part, found, strict=True):
            if isinstance(error, DataError):
                rejected.append(RecordError(one.ordinal, error))
            elif error is not None:
                left.append(error)
                waiting.add(one.id)
            elif self._upserts and one.id in waiting:
                continue  # it is put again after the earlier change of the same document
            else:
                done.append(one.ordinal)
        if rejected or left:
            left.sort(key=lambda error: isinstance(error, RetriableError))  # a mistake of the configuration comes first
            raise PartialPut(tuple(done), tuple(rejected), left[0] if left else None)

    def _send(self, part: Sequence[BulkOperation]) -> HttpAnswer:
        """Send a request to a node. Returns its answer, or a refusal of the whole request; raises for all others."""
        content = b"".join(one.lines for one in part)
        nodes = self._nodes
        try:
            answer = self._client.send("POST", nodes[0] + PATH, content, self._headers, ANSWER_BYTES)
        except RetriableError:
            # The next attempt asks the next node. From the nodes of this request, so that threads that fail at the
            # same time do not pass by a node.
            self._nodes = (*nodes[1:], nodes[0])
            raise
        error = retriable_error(answer)
        if error is not None:
            raise error
        if answer.is_success or answer.status in REFUSED_BATCH:
            return answer
        if answer.status in {401, 403}:
            text = f"may not write (HTTP {answer.status}); correct user and password, or the user's rights"
            raise ConfigError((("connection.username", None, text),))
        raise ConfigError((("connection.url", None, f"is no node: it answered HTTP {answer.status}"),))


def document_id(key: object) -> str:
    """Return the id that a key gives its document. Raises DataError."""
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise DataError(f"the record's key is of type {type(key).__name__}; only texts and integers can be ids")
    text = str(key)
    if not 0 < len(text.encode(errors="surrogatepass")) <= MAX_ID_BYTES:
        raise DataError(f"the record's key must have 1 to {MAX_ID_BYTES} bytes to be an id")
    return text

"""HttpSink: sends records to an HTTP API, one by one or in batches, and names each refused record."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from engine.config.options import parse_own
from engine.config.permissions import Permissions
from engine.connectors.http.authorization import TOKEN_URL, authorization
from engine.connectors.http.options import DELETE, FAIL, OPTIONS, headers_of, text_of
from engine.connectors.http_client import HttpAnswer, HttpClient, rejection, retriable_error
from engine.connectors.json_values import UNWRITABLE, json_of, unread_json_of
from engine.errors import ConfigError, DataError, EngineError, PartialPut, RecordError
from engine.record.record import Record

SLOW_S = 5.0  # a put that takes longer is committed in part
REFUSED_CREDENTIALS = (401, 407)
REDIRECTS = range(300, 400)
GONE = (404, 410)  # the answer to a deletion that is repeated
MAX_URL_CHARS = 60_000  # the client refuses 65,536, also with an address in the place of the host's name
NO_SEGMENTS = ("", ".", "..")  # with one of these at its end a URL names another resource


class HttpRequest(NamedTuple):
    """A request for the records with these indexes. A deletion has no `bodies`; nothing is sent without a method."""

    indexes: tuple[int, ...]
    method: str
    url: str
    bodies: tuple[bytes, ...]


class HttpSink:
    """Sends each value as the body of a request. The target has delivered a record if it answers 2xx."""

    put_is_idempotent = False  # the sink names the refused records itself
    writes_to = "an HTTP API"
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
        timeout_s, ca_pem = options["http.timeout"], options["ssl.truststore.certificates"]
        self._clients: list[HttpClient] = []

        def client(option: str) -> HttpClient:
            self._clients.append(HttpClient(self._permissions, option, timeout_s, ca_pem))
            return self._clients[-1]

        self._client = client("http.url")
        self._authorization = authorization(options, lambda: client(TOKEN_URL))
        self._url, self._method = options["http.url"], options["request.method"]
        self._headers = {
            "Content-Type": options["http.headers.content.type"],
            **headers_of(options["http.headers.additional"]),
        }
        self._key_header = options["http.idempotency.header"]
        self._is_text = options["request.body.format"] == "string"
        self._on_null = options["behavior.on.null.values"]
        self._size = options["batch.max.size"] if options["batching.enabled"] else 1
        parts = ("batch.prefix", "batch.separator", "batch.suffix")
        self._frame = (
            tuple(text_of(options[name]) for name in parts) if options["batching.enabled"] else (b"", b"", b"")
        )

    def put(self, records: Sequence[Record]) -> None:
        late_s = self._now_s() + SLOW_S
        done: list[int] = []
        for request in self._requests(records):
            self._deliver(request, records, done)
            if len(done) < len(records) and self._now_s() > late_s:
                raise PartialPut(tuple(done))

    def flush(self) -> None:
        """Do nothing: the target has accepted each record of a put."""

    def stop(self) -> None:
        for client in self._clients:
            client.close()

    def _requests(self, records: Sequence[Record]) -> Iterator[HttpRequest]:
        """Yield the requests of a batch in the order of its records. Raises an ExceptionGroup before the first one."""
        contents: list[bytes | str | None] = []
        errors: list[RecordError] = []
        for index, record in enumerate(records):
            try:
                contents.append(self._content(record))
            except (*UNWRITABLE, DataError) as error:
                errors.append(RecordError(index, error))
        if errors:
            raise ExceptionGroup("records that can't be sent", errors)
        return self._grouped(contents)

    def _grouped(self, contents: Sequence[bytes | str | None]) -> Iterator[HttpRequest]:
        waiting: list[tuple[int, bytes]] = []

        def flushed() -> Iterator[HttpRequest]:
            for first in range(0, len(waiting), self._size):
                indexes, bodies = zip(*waiting[first : first + self._size], strict=True)
                yield HttpRequest(indexes, self._method, self._url, bodies)
            waiting.clear()

        for index, content in enumerate(contents):
            if isinstance(content, bytes):
                waiting.append((index, content))
            elif content is None:
                yield HttpRequest((index,), "", "", ())
            else:
                yield from flushed()  # a deletion must not overtake the records before it
                yield HttpRequest((index,), "DELETE", content, ())
        yield from flushed()

    def _content(self, record: Record) -> bytes | str | None:
        """Return the body to send, the URL to delete, or None if the record needs no request.

        Raises one of UNWRITABLE, or DataError.
        """
        value = record.value
        if value is None:
            if self._on_null == FAIL:
                raise DataError("the record has no value; behavior.on.null.values can be ignore or delete")
            return self._url_of(record.key) if self._on_null == DELETE else None
        if self._is_text and isinstance(value, str | bytes):
            return value.encode() if isinstance(value, str) else value
        return self._json(value)

    def _url_of(self, key: Any) -> str:
        """Return the URL of a key: the target's URL with one more segment. Raises DataError."""
        if key is None or isinstance(key, dict | list):
            raise DataError("the record has no value, and its key names nothing that can be deleted")
        try:
            segment = quote(key if isinstance(key, bytes) else str(key), safe="")
        except UnicodeEncodeError:
            raise DataError("the record has no value, and its key is no valid text, so no URL can hold it") from None
        if segment in NO_SEGMENTS:
            raise DataError("the record has no value, and its key (empty, `.` or `..`) would delete another resource")
        scheme, host, path, query, _ = urlsplit(str(self._url))
        url: str = urlunsplit((scheme, host, f"{path.rstrip('/')}/{segment}", query, ""))
        if len(url) > MAX_URL_CHARS:
            raise DataError(
                f"the record has no value, and with its key the URL has more than {MAX_URL_CHARS} characters"
            )
        return url

    def _deliver(self, request: HttpRequest, records: Sequence[Record], done: list[int]) -> None:
        """Send a request, and its halves while they are refused. Raises PartialPut at the first refused record.

        So nothing behind a record that stops the task is sent.
        """
        if not request.method:
            done += request.indexes
            return
        parts = [request]
        while parts:
            part = parts.pop()
            try:
                answer = self._send(part, records)
            except EngineError as error:
                raise (PartialPut(tuple(done), (), error) if done else error) from None
            if answer.is_success or (part.method == "DELETE" and answer.status in GONE):
                done += part.indexes
                continue
            if len(part.indexes) == 1:
                refused = RecordError(part.indexes[0], rejection(answer.status, answer.body))
                raise PartialPut(tuple(done), (refused,))
            middle = len(part.indexes) // 2
            first, second = slice(middle), slice(middle, None)
            parts += [part._replace(indexes=part.indexes[half], bodies=part.bodies[half]) for half in (second, first)]

    def _send(self, request: HttpRequest, records: Sequence[Record]) -> HttpAnswer:
        """Send a request. Returns success or a refusal; raises RetriableError or ConfigError for other answers."""
        prefix, separator, suffix = self._frame
        content = prefix + separator.join(request.bodies) + suffix if request.bodies else None
        headers = dict(self._headers)
        if self._key_header:
            headers[self._key_header] = idempotency_key([records[index] for index in request.indexes])
        credentials = self._authorization.headers()
        answer = self._client.send(request.method, request.url, content, {**headers, **credentials})
        if answer.status in REFUSED_CREDENTIALS and self._authorization.renew(credentials):
            headers |= self._authorization.headers()
            answer = self._client.send(request.method, request.url, content, headers)
        if answer.status in REFUSED_CREDENTIALS:
            text = f"is not accepted by the target (HTTP {answer.status}); correct it, then restart the task"
            raise ConfigError(((self._authorization.option, self._authorization.shown, text),))
        if answer.status in REDIRECTS:
            text = f"redirects to another address (HTTP {answer.status}); set that address"
            raise ConfigError((("http.url", None, text),))
        error = retriable_error(answer)
        if error is not None:
            raise error
        return answer


def idempotency_key(records: Sequence[Record]) -> str:
    """Return the key of a request: `topic-partition-offset` of its record, with a digest if there are several.

    The same records have the same key. The place is the record's own, whatever topic a transform gave it.
    """
    names = [f"{place.topic}-{place.partition}-{place.offset}" for place in (one.raw or one for one in records)]
    if len(names) == 1:
        return names[0]
    return f"{names[0]}-{hashlib.sha256(' '.join(names).encode()).hexdigest()[:16]}"

"""Server-sent events: a document after every change.

All listeners of a document share the same queries.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import msgspec

from dlqadmin.rest.documents import Document

COMMENT_EVERY_S = 15.0
GOES_ON_S = 5.0  # after the end, so that clients receive the last change

Streamed = TypeVar("Streamed", bound=Document)
Key = TypeVar("Key", bound=Hashable)


class StreamTimes(msgspec.Struct, frozen=True):
    """The seconds between two reads of a document, and those until a stream ends and the client reconnects."""

    read_every_s: float = 0.5
    lifetime_s: float = 600.0


async def events(
    name: str,
    read: Callable[[], Awaitable[Streamed | None]],
    is_over: Callable[[Streamed], bool],
    times: StreamTimes,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[bytes]:
    """Yield an event for each change, until the document is over or None, or until the stream's lifetime ends."""
    began = spoke = clock()
    ended: float | None = None
    before = b""
    while (now := clock()) - began < times.lifetime_s:
        document = await read()
        if document is None:
            return
        data = msgspec.json.encode(document)
        if data != before:
            before, spoke = data, now
            yield b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
        elif now - spoke >= COMMENT_EVERY_S:
            spoke = now
            yield b": still here\n\n"
        ended = (now if ended is None else ended) if is_over(document) else None
        if ended is not None and now - ended >= GOES_ON_S:
            return
        await sleep(times.read_every_s)


class SharedReads(Generic[Key, Streamed]):
    """A cache of documents for `keep_s` seconds.

    Many listeners cost no more queries than one. Thread-safe.
    """

    def __init__(
        self, read: Callable[[Key], Streamed | None], keep_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._keep_s = keep_s
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[Key, tuple[float, Streamed | None]] = {}

    def __call__(self, key: Key) -> Streamed | None:
        """Return the document, None if it does not exist."""
        with self._lock:
            now = self._clock()
            self._seen = {each: row for each, row in self._seen.items() if now - row[0] < self._keep_s}
            if key not in self._seen:
                self._seen[key] = (now, self._read(key))
            return self._seen[key][1]

"""A replay as server-sent events: its document after every change.

All listeners of a replay share the same queries.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from dlqadmin.replays.jobs.documents import ReplaySummary
from dlqadmin.replays.models import ReplayStatus

LOOK_EVERY_S = 0.5
COMMENT_EVERY_S = 15.0
GOES_ON_S = 5.0  # after the end, so that clients receive the last change
LIFETIME_S = 600.0
PENDING = ("queued", "sending", "waiting")

Look = Callable[[], Awaitable[ReplaySummary | None]]


async def events(
    look: Look,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[bytes]:
    """Yield events until the replay is over or gone, or until the stream is ten minutes old.

    The client then reconnects.
    """
    began = spoke = clock()
    ended: float | None = None
    before = b""
    while (now := clock()) - began < LIFETIME_S:
        document = await look()
        if document is None:
            return
        data = msgspec.json.encode(document)
        if data != before:
            before, spoke = data, now
            yield b"event: replay\ndata: " + data + b"\n\n"
        elif now - spoke >= COMMENT_EVERY_S:
            spoke = now
            yield b": still here\n\n"
        ended = (now if ended is None else ended) if over(document) else None
        if ended is not None and now - ended >= GOES_ON_S:
            return
        await sleep(LOOK_EVERY_S)


class Shared:
    """A cache of replay documents that are less than half a second old.

    Many listeners cost no more queries than one. Thread-safe.
    """

    def __init__(
        self, read: Callable[[int], ReplaySummary | None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[int, tuple[float, ReplaySummary | None]] = {}

    def __call__(self, pk: int) -> ReplaySummary | None:
        """Return the replay's document, None if there is no such replay."""
        with self._lock:
            now = self._clock()
            self._seen = {key: row for key, row in self._seen.items() if now - row[0] < LOOK_EVERY_S}
            if pk not in self._seen:
                self._seen[pk] = (now, self._read(pk))
            return self._seen[pk][1]


def over(document: ReplaySummary) -> bool:
    """Return whether the replay is done or cancelled and no outcome is awaited."""
    is_ended = document.status in (ReplayStatus.DONE, ReplayStatus.CANCELLED)
    return is_ended and not any(getattr(document.counts, name) for name in PENDING)

"""Copies what connectors commit in offsets topics of their own to the worker's (KIP-618, offset and record writes).

So that a connector can go back to the worker's topic, and a worker to a version that knows no other. The driver does
it, because a lease ends; it is tried again for ever, and no task ever fails or waits for it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from engine.errors import EngineError
from engine.kafka.offsets import OffsetsTopic
from engine.kafka.offsets_records import memory_key
from engine.pipeline.source_commit import Row

PAUSE_S = 1.0
Settings = tuple[tuple[str, str], ...]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OffsetsPlace:
    """A connector's offsets topic and how to reach it. `is_own`: the worker's is another one. Settings are sorted rows
    of (name, value).
    """

    connector: str
    topic: str
    consumer: Settings
    admin: Settings
    producer: Settings
    is_own: bool


class OffsetsCopier:
    """Looks at the topics again and again, and writes what the worker's does not hold yet.

    `own_topics()` names the connectors now; `open_own` and `open_shared` make readers, the shared one with a producer
    without transactions.
    """

    def __init__(
        self,
        own_topics: Callable[[], Collection[OffsetsPlace]],
        open_own: Callable[[OffsetsPlace], OffsetsTopic],
        open_shared: Callable[[], OffsetsTopic],
    ) -> None:
        self._own_topics = own_topics
        self._open_own = open_own
        self._open_shared = open_shared
        self._readers: dict[OffsetsPlace, OffsetsTopic] = {}
        self._shared: OffsetsTopic | None = None
        self._silenced: set[OffsetsPlace] = set()  # troubles that were told already
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="offsets-copier", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def turn(self) -> None:
        """Copy what is missing of every topic that can be read."""
        wanted = set(self._own_topics())
        for gone in self._readers.keys() - wanted:
            self._close(gone)
        for own in wanted:
            try:
                self._copy(own)
                self._silenced.discard(own)
            except Exception as error:  # noqa: BLE001, whatever it is, it is tried again for ever (KIP-618)
                if own not in self._silenced:
                    log.warning("offsets of %s are not copied yet: %s", own.connector, error)
                self._silenced.add(own)
                self._close(own)
                self._close_shared()

    def _copy(self, own: OffsetsPlace) -> None:
        reader = self._readers.get(own) or self._readers.setdefault(own, self._open_own(own))
        reader.read_to_end()
        self._shared = self._shared or self._open_shared()
        self._shared.read_to_end()
        rows = missing(own.connector, reader, self._shared)
        if rows and own in self._own_topics():  # it may have gone back to the shared topic meanwhile
            self._shared.write(rows)

    def _run(self) -> None:
        while not self._stopping.wait(PAUSE_S):
            try:
                self.turn()
            except Exception:
                log.exception("copying offsets: trying again")
        for own in list(self._readers):
            self._close(own)
        self._close_shared()

    def _close(self, own: OffsetsPlace) -> None:
        reader = self._readers.pop(own, None)
        if reader is not None:
            with suppress(EngineError):
                reader.close()

    def _close_shared(self) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            with suppress(EngineError):
                shared.close()


def missing(connector: str, own: OffsetsTopic, shared: OffsetsTopic) -> Sequence[Row]:
    """What the shared topic does not say yet of the connector, under the keys that it has there. Pure."""
    rows: list[Row] = []
    for name, (key, value) in own.offsets.items():
        known = shared.offsets.get(name)
        if name.connector == connector and value != (known[1] if known else b""):
            rows.append((known[0] if known else key, value))
    for memory, text in own.memories.items():
        if memory.connector == connector and text != shared.memories.get(memory, b""):
            rows.append((memory_key(connector, memory.task), text))
    return rows

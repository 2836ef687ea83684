"""Copy offsets from connectors' own offsets topics to the worker's.

Source: KIP-618, offset and record writes.

A connector can then go back to the worker's topic, and a worker to a version without own topics. The driver copies,
because leases end. It retries for ever; no task fails or waits because of it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from engine.errors import EngineError
from engine.kafka.offsets import OffsetsTopic
from engine.kafka.offsets_records import MemoryKey, OffsetKey, memory_key
from engine.pipeline.source_commit import Row

PAUSE_S = 1.0
Settings = tuple[tuple[str, str], ...]
Name = OffsetKey | MemoryKey
Stamps = Mapping[Name, int]  # time of the last write, in ms
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OffsetsTopicLocation:
    """A connector's offsets topic and the clients' settings for it.

    `is_own` means that it is not the worker's topic. Settings are sorted rows of (name, value).
    """

    connector: str
    topic: str
    consumer: Settings
    admin: Settings
    producer: Settings
    is_own: bool


class OffsetsCopier:
    """A thread that reads connectors' own topics and copies what the worker's topic lacks.

    `own_topics()` returns the connectors' current topics. `open_own` and `open_shared` make readers; the shared one
    has a producer without transactions.
    """

    def __init__(
        self,
        own_topics: Callable[[], Collection[OffsetsTopicLocation]],
        open_own: Callable[[OffsetsTopicLocation], OffsetsTopic],
        open_shared: Callable[[], OffsetsTopic],
    ) -> None:
        self._own_topics = own_topics
        self._open_own = open_own
        self._open_shared = open_shared
        self._readers: dict[OffsetsTopicLocation, OffsetsTopic] = {}
        self._outdated: dict[OffsetsTopicLocation, Stamps] = {}
        self._shared: OffsetsTopic | None = None
        self._logged: set[OffsetsTopicLocation] = set()  # topics whose current failure is logged already
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="offsets-copier", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def turn(self) -> None:
        """Copy missing offsets from every topic that can be read."""
        wanted = set(self._own_topics())
        for gone in self._readers.keys() - wanted:
            self._close(gone)
        for own in wanted:
            try:
                self._copy(own)
                self._logged.discard(own)
            except Exception as error:  # noqa: BLE001, any failure is retried for ever (KIP-618)
                if own not in self._logged:
                    log.warning(
                        "connector %s: its offsets are not copied to the worker's topic yet; trying again: %s",
                        own.connector,
                        error,
                    )
                self._logged.add(own)
                # A failed read may have skipped records. The next readers begin at the first record.
                self._close(own)
                self._close_shared()

    def _copy(self, own: OffsetsTopicLocation) -> None:
        reader = self._readers.get(own) or self._readers.setdefault(own, self._open_own(own))
        reader.read_to_end()
        self._shared = self._shared or self._open_shared()
        self._shared.read_to_end()
        if own not in self._outdated:
            self._outdated[own] = newer_in_shared(own.connector, reader, self._shared)
        rows, stamps = missing_rows(own.connector, reader, self._shared, self._outdated[own])
        if rows and own in self._own_topics():  # the connector may have gone back to the shared topic meanwhile
            self._shared.write(rows, stamps)

    def _run(self) -> None:
        while not self._stopping.wait(PAUSE_S):
            try:
                self.turn()
            except Exception:
                log.exception("copying offsets failed; trying again")
        for own in list(self._readers):
            self._close(own)
        self._close_shared()

    def _close(self, own: OffsetsTopicLocation) -> None:
        self._outdated.pop(own, None)
        reader = self._readers.pop(own, None)
        if reader is not None:
            with suppress(EngineError):
                reader.close()

    def _close_shared(self) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            with suppress(EngineError):
                shared.close()


def newer_in_shared(connector: str, own: OffsetsTopic, shared: OffsetsTopic) -> Stamps:
    """Return keys with newer values in the shared topic at the first look. Pure.

    They are newer if the connector has run on the shared topic and come back. Only the first look compares times, and
    only by key, because workers' clocks may differ. Every later commit in the connector's own topic is news.
    """
    return {
        name: stamp
        for name, stamp in own.stamps.items()
        if name.connector == connector and stamp < shared.stamps.get(name, stamp)
    }


def missing_rows(
    connector: str, own: OffsetsTopic, shared: OffsetsTopic, passed: Stamps
) -> tuple[list[Row], list[int]]:
    """Return rows of the connector that the shared topic lacks, and their times. Pure.

    Rows keep the keys that the shared topic has for them. A copy keeps the time of its original. Keys in `passed` are
    left out while their time does not change.
    """
    rows: list[Row] = []
    stamps: list[int] = []
    for name, stamp in own.stamps.items():
        if name.connector != connector or passed.get(name) == stamp:
            continue
        row, known = _row(name, own), _row(name, shared)
        if row[1] != known[1]:
            rows.append((known[0] or row[0], row[1]))
            stamps.append(stamp)
    return rows, stamps


def _row(name: Name, topic: OffsetsTopic) -> Row:
    """Return key and value of a name; the value is empty if the topic does not have it."""
    if isinstance(name, MemoryKey):
        return memory_key(name.connector, name.task), topic.memories.get(name, b"")
    return topic.offsets.get(name, (b"", b""))

"""Which offset of the source became which offset of the target, and what follows for a group's position. Pure.

A sync is one record's two offsets. They are kept in MirrorMaker 2's own topic and format, so that its tools read them.
A position is translated so that no record is passed by: exact at a sync, else the record after the last sync before it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from engine.record.record import TopicPartition

SYNCS = 64  # kept for a partition: for any distance from the newest there is one not much farther away
MOST_OUTSTANDING = 10  # syncs written and not acknowledged
BEFORE_ALL = -1  # the translation of a position before the oldest sync that is kept
Bytes = bytes | None


class OffsetSync(NamedTuple):
    """The two offsets of one record."""

    partition: TopicPartition  # of the source
    upstream: int
    downstream: int

    def key(self) -> bytes:
        topic = self.partition.topic.encode()
        return struct.pack(f">h{len(topic)}si", len(topic), topic, self.partition.partition)

    def value(self) -> bytes:
        return struct.pack(">qq", self.upstream, self.downstream)


def parse_sync(key: Bytes, value: Bytes) -> OffsetSync | None:
    """The sync; None for a record that is none."""
    try:
        (length,) = struct.unpack_from(">h", key or b"")
        topic, number = struct.unpack(f">{length}si", (key or b"")[2:])
        return OffsetSync(TopicPartition(topic.decode(), number), *struct.unpack(">qq", value or b""))
    except (struct.error, UnicodeDecodeError):
        return None


class OffsetSyncStore:
    """The syncs of all partitions, as they were read from their topic.

    Syncs are closest together near the newest one. Only the newest of those that were there at the beginning is used:
    a translation must never go back behind what was told before.
    """

    def __init__(self) -> None:
        self._syncs: dict[TopicPartition, list[OffsetSync]] = {}
        self._at_end = False

    def started(self) -> None:
        """The topic was read to its end."""
        self._at_end = True

    def add(self, sync: OffsetSync) -> None:
        """One more sync, newer than those before."""
        kept = self._syncs.get(sync.partition)
        if kept is None or not self._at_end or sync.upstream < kept[0].upstream:
            self._syncs[sync.partition] = [sync] * SYNCS
        else:
            _push(kept, sync)

    def translate(self, partition: TopicPartition, upstream: int) -> int | None:
        """The position of the target; BEFORE_ALL where no sync is old enough, None where nothing is known."""
        kept = self._syncs.get(partition)
        if kept is None or not self._at_end:
            return None
        for sync in kept:
            if sync.upstream <= upstream:
                return sync.downstream + (upstream > sync.upstream)
        return BEFORE_ALL

    def syncs(self, partition: TopicPartition) -> list[OffsetSync]:
        """Those that are kept, each once, the newest first."""
        return list(dict.fromkeys(self._syncs.get(partition, ())))


def _push(kept: list[OffsetSync], newest: OffsetSync) -> None:
    """Put a sync before the others and let go of what is too old for its place, as little as possible.

    Place i holds one at most 2^i − 1 behind the newest; two places hold the same one, or two that are far enough apart
    to be worth it. What has to leave a place is offered to those behind it, the newest first.
    """
    old, offered = kept.copy(), 0
    kept[0] = newest
    for place in range(1, SYNCS):
        before = kept[place - 1]
        if _reaches(before, kept[place], place):
            return  # so do all behind it
        while offered < place and (old[offered] == old[offered + 1] or not _is_apart(before, old[offered], place - 1)):
            offered += 1
        takes = offered < place and _reaches(before, old[offered], place)
        if takes and (place + 1 == SYNCS or _is_apart(old[offered], kept[place + 1], place)):
            kept[place] = old[offered]
            offered += 1
        else:
            kept[place] = before


def _reaches(before: OffsetSync, sync: OffsetSync, place: int) -> bool:
    """Is the sync recent enough for `place`, behind `before`?"""
    return before.upstream <= sync.upstream + (1 << place) - (1 << (place - 1))


def _is_apart(newer: OffsetSync, older: OffsetSync, place: int) -> bool:
    """Are they the same, or is the one behind `place` far enough from the one there?"""
    return newer == older or older.upstream <= newer.upstream - (1 << max(place - 2, 0))


class _Progress(NamedTuple):
    upstream: int
    downstream: int
    synced: int  # the downstream offset of the sync before


class OffsetSyncWriter:
    """Decides which records become syncs, and sends those of them that it may.

    A sync is due for the first record, where offsets jump, and when the target has gone `max_lag` records on; any other
    is delayed until it is promoted. `send(sync)` answers whether it was taken; what was not is tried at the next
    `fire`, or replaced by a newer one.
    """

    def __init__(self, send: Callable[[OffsetSync], bool], max_lag: int) -> None:
        self._send = send
        self._max_lag = max_lag
        self._progress: dict[TopicPartition, _Progress] = {}
        self.pending: dict[TopicPartition, OffsetSync] = {}
        self.delayed: dict[TopicPartition, OffsetSync] = {}

    def note(self, sync: OffsetSync, first: int | None = None) -> None:
        """A record was written; `first` is the offset after which it came in one piece, its own where none is given."""
        before = self._progress.get(sync.partition)
        start = sync.upstream if first is None else first
        due = (
            before is None
            or sync.downstream - (before.synced + 1) >= self._max_lag
            or start != before.upstream + 1
            or sync.downstream < before.downstream
        )
        synced = sync.downstream if due or before is None else before.synced
        self._progress[sync.partition] = _Progress(sync.upstream, sync.downstream, synced)
        if due:
            self.delayed.pop(sync.partition, None)
            self.pending[sync.partition] = sync
        else:
            self.delayed[sync.partition] = sync

    def promote(self) -> None:
        """Delayed syncs are due now: a slow topic would else keep a lag for ever (KAFKA-15906)."""
        for partition, sync in self.delayed.items():
            progress = self._progress[partition]
            self._progress[partition] = progress._replace(synced=sync.downstream)
        self.pending |= self.delayed
        self.delayed = {}

    def fire(self) -> None:
        """Send what is pending, as much of it as is taken."""
        for partition, sync in list(self.pending.items()):
            if not self._send(sync):
                return
            del self.pending[partition]

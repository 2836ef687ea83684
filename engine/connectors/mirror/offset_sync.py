"""Pairs of source and target offsets, and the translation of group offsets with them. Pure.

A sync holds one record's two offsets. Syncs are kept in MirrorMaker 2's topic and format, so that its tools read them.
A translation never passes a record: it is exact at a sync, else it is the record after the last sync before it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from engine.record.record import TopicPartition

SYNCS = 64  # kept per partition; for any distance from the newest sync, a kept one is not much farther away
MOST_OUTSTANDING = 10  # unacknowledged syncs
BEFORE_ALL = -1  # translation of an offset before the oldest kept sync
Bytes = bytes | None


class OffsetSync(NamedTuple):
    """The source and target offsets of one record."""

    partition: TopicPartition  # on the source
    upstream: int
    downstream: int

    def key(self) -> bytes:
        topic = self.partition.topic.encode()
        return struct.pack(f">h{len(topic)}si", len(topic), topic, self.partition.partition)

    def value(self) -> bytes:
        return struct.pack(">qq", self.upstream, self.downstream)


def parse_sync(key: Bytes, value: Bytes) -> OffsetSync | None:
    """Parse a sync; return None for a record in another format."""
    try:
        (length,) = struct.unpack_from(">h", key or b"")
        topic, number = struct.unpack(f">{length}si", (key or b"")[2:])
        return OffsetSync(TopicPartition(topic.decode(), number), *struct.unpack(">qq", value or b""))
    except (struct.error, UnicodeDecodeError):
        return None


class OffsetSyncStore:
    """The syncs of all partitions, as read from their topic.

    Syncs are denser near the newest one. Of the syncs that existed at the start, only the newest is used: a
    translation must never fall behind one that was published before.
    """

    def __init__(self) -> None:
        self._syncs: dict[TopicPartition, list[OffsetSync]] = {}
        self._at_end = False

    def started(self) -> None:
        """Note that the topic was read to its end."""
        self._at_end = True

    def add(self, sync: OffsetSync) -> None:
        """Add a sync; it must be newer than the earlier ones."""
        last_sync = self._syncs.get(sync.partition)
        if last_sync is None or not self._at_end or sync.upstream < last_sync[0].upstream:
            self._syncs[sync.partition] = [sync] * SYNCS
        else:
            _push(last_sync, sync)

    def translate(self, partition: TopicPartition, upstream: int) -> int | None:
        """Return the target offset, BEFORE_ALL if every sync is later, or None if nothing is known."""
        last_sync = self._syncs.get(partition)
        if last_sync is None or not self._at_end:
            return None
        for sync in last_sync:
            if sync.upstream <= upstream:
                return sync.downstream + (upstream > sync.upstream)
        return BEFORE_ALL

    def syncs(self, partition: TopicPartition) -> list[OffsetSync]:
        """Return the kept syncs without duplicates, the newest first."""
        return list(dict.fromkeys(self._syncs.get(partition, ())))


def _push(kept: list[OffsetSync], newest: OffsetSync) -> None:
    """Insert the newest sync and drop as few old ones as possible.

    Index i may hold a sync at most 2^i − 1 offsets behind the newest. Neighbours are either the same sync, or far
    enough apart to be worth two. A sync that must leave its index is offered to the higher ones, the newest first.
    """
    old, offered = kept.copy(), 0
    kept[0] = newest
    for place in range(1, SYNCS):
        before = kept[place - 1]
        if _reaches(before, kept[place], place):
            return  # all higher indexes fit, too
        while offered < place and (old[offered] == old[offered + 1] or not _is_apart(before, old[offered], place - 1)):
            offered += 1
        takes = offered < place and _reaches(before, old[offered], place)
        if takes and (place + 1 == SYNCS or _is_apart(old[offered], kept[place + 1], place)):
            kept[place] = old[offered]
            offered += 1
        else:
            kept[place] = before


def _reaches(before: OffsetSync, sync: OffsetSync, place: int) -> bool:
    """Return whether the sync is recent enough for index `place`, behind `before`."""
    return before.upstream <= sync.upstream + (1 << place) - (1 << (place - 1))


def _is_apart(newer: OffsetSync, older: OffsetSync, place: int) -> bool:
    """Return whether the syncs are equal, or far enough apart for index `place`."""
    return newer == older or older.upstream <= newer.upstream - (1 << max(place - 2, 0))


class _SyncedOffsets(NamedTuple):
    upstream: int
    downstream: int
    synced: int  # target offset of the last sync


class OffsetSyncWriter:
    """Selects records for syncs, and sends the syncs.

    A sync is due for the first record, after a jump of offsets, and after `max_lag` records on the target. Any other
    sync is delayed until `promote`. `send(sync)` returns whether the sync was accepted. A refused sync is sent by the
    next `fire`, or replaced by a newer one.
    """

    def __init__(self, send: Callable[[OffsetSync], bool], max_lag: int) -> None:
        self._send = send
        self._max_lag = max_lag
        self._progress: dict[TopicPartition, _SyncedOffsets] = {}
        self.pending: dict[TopicPartition, OffsetSync] = {}
        self.delayed: dict[TopicPartition, OffsetSync] = {}

    def add(self, sync: OffsetSync, first: int | None = None) -> None:
        """Add a written record. `first` is the first offset of its gapless run, by default its own."""
        before = self._progress.get(sync.partition)
        start = sync.upstream if first is None else first
        due = (
            before is None
            or sync.downstream - (before.synced + 1) >= self._max_lag
            or start != before.upstream + 1
            or sync.downstream < before.downstream
        )
        synced = sync.downstream if due or before is None else before.synced
        self._progress[sync.partition] = _SyncedOffsets(sync.upstream, sync.downstream, synced)
        if due:
            self.delayed.pop(sync.partition, None)
            self.pending[sync.partition] = sync
        else:
            self.delayed[sync.partition] = sync

    def promote(self) -> None:
        """Make delayed syncs due; else a slow topic would show a lag for ever (KAFKA-15906)."""
        for partition, sync in self.delayed.items():
            progress = self._progress[partition]
            self._progress[partition] = progress._replace(synced=sync.downstream)
        self.pending |= self.delayed
        self.delayed = {}

    def send_pending(self) -> None:
        """Send pending syncs until the producer rejects one."""
        for partition, sync in list(self.pending.items()):
            if not self._send(sync):
                return
            del self.pending[partition]

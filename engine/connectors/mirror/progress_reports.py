"""Best-effort progress reports of a mirror task: offset syncs, its position on the source, and its metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from engine.connectors.mirror.client_options import MirrorClients, has_positions_group
from engine.connectors.mirror.clients import MirrorConsumer, Offsets, SyncSender
from engine.connectors.mirror.metrics import MirroredRecords, Partitions
from engine.connectors.mirror.offset_sync import OffsetSyncWriter
from engine.connectors.mirror.records import syncs_topic
from engine.connectors.mirror.sink import OffsetRanges
from engine.ports import Clock
from engine.record.record import TopicPartition

log = logging.getLogger(__name__)
PROMOTE_MS = 5000  # a delayed sync waits at most this long


class ProgressReporter:
    """Progress reports of a task. The producer fills `written` with the offsets of each target partition."""

    def __init__(
        self,
        clients: MirrorClients,
        consumer: MirrorConsumer,
        remote: Callable[[str], str],
        clock: Clock,
        *,
        task: int,
        transactional: bool,
    ) -> None:
        mirror = clients.mirror
        self._key = clients.worker.group_id, clients.connector.name, task
        self.records = MirroredRecords(
            mirror.source_alias,
            mirror.target_alias,
            clock,
            transactional=transactional,
            unreported=_unreported.pop(self._key, None),
        )
        syncs = bool(mirror.values["emit.offset-syncs.enabled"])
        self.written: Offsets = {}
        self.spans = OffsetRanges() if syncs else None
        self._sender = SyncSender(clients.source_producer(), syncs_topic(mirror))
        self._writer = OffsetSyncWriter(self._sender.send, int(mirror.values["offset.lag.max"]))
        self._consumer = consumer
        self._remote = remote
        self._clock = clock
        self._commit_ms = mirror.seconds("source.group") if has_positions_group(mirror) else None
        self._told_at = 0
        self._unreported: Mapping[TopicPartition, int] = {}
        self._promoted_at = clock.now_ms()

    def committed(self, positions: Mapping[TopicPartition, int]) -> None:
        """Report positions that are committed together with all records before them."""
        now = self._clock.now_ms()
        self.records.committed()
        if self.spans is not None:
            first, last = self.spans.syncs(self.written, self._remote)
            self.written.clear()
            for sync in first:
                self._writer.add(sync)
            self._writer.send_pending()
            for sync, start in last:
                self._writer.add(sync, start)
            if now - self._promoted_at >= PROMOTE_MS:
                self._promote(now)
            self._writer.send_pending()
        self._unreported = {} if self._commit_ms is None else positions
        if self._commit_ms is not None and now - self._told_at >= self._commit_ms:
            self._commit_on_source(now)

    def close(self) -> None:
        """Send the last syncs and the last position; no later record may come to trigger them."""
        if self.records.unreported:
            _unreported[self._key] = self.records.unreported
        self._commit_on_source(self._clock.now_ms())
        self._promote(self._clock.now_ms())
        while before := len(self._writer.pending):
            self._sender.drain()
            self._writer.send_pending()
            if len(self._writer.pending) == before:
                log.info("Can't write the offset syncs of %d partitions", before)
                return
        self._sender.drain()

    def _commit_on_source(self, now: int) -> None:
        if self._unreported:
            self._told_at = now
            self._consumer.commit_async(self._unreported)
            self._unreported = {}

    def _promote(self, now: int) -> None:
        self._promoted_at = now
        self._writer.promote()


# A task that begins again within its lease is opened anew without a report. The next opening reports for both.
_unreported: dict[tuple[str, str, int], Partitions] = {}

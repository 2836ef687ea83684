"""A thread that writes Kafka transactions while the caller uses the database."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from types import TracebackType
from typing import Self

from dlqadmin.broker.transactions import ChunkProducer, OutboundRecord, ProgressCommit, WrittenRecord

LEAST_RECORDS = 500
MOST_RECORDS = 2000
LONG_S = 0.2  # an open transaction holds back every read_committed consumer


class Size:
    """The maximum number of records in a transaction, adapted to how long transactions take."""

    def __init__(self) -> None:
        self.most = LEAST_RECORDS

    def took(self, records: int, seconds: float) -> None:
        """Adapt the size after a transaction with `records` records stayed open for `seconds`."""
        if seconds > LONG_S:
            self.most = max(LEAST_RECORDS, self.most // 2)
        elif records >= self.most and seconds < LONG_S / 2:
            self.most = min(MOST_RECORDS, self.most * 2)


class Flight:
    """A writer of chunks with one thread and one producer.

    Use it as a context manager: leaving it waits until the current chunk is written.
    """

    def __init__(self, producer: ChunkProducer) -> None:
        self.size = Size()
        self._producer = producer
        self._thread = ThreadPoolExecutor(1, "chunk")

    def start(self, records: Sequence[OutboundRecord], progress: ProgressCommit) -> Future[list[WrittenRecord]]:
        """Start to write a chunk. The future raises the errors of `ChunkProducer.write`."""
        return self._thread.submit(copy_context().run, self._write, records, progress)

    def _write(self, records: Sequence[OutboundRecord], progress: ProgressCommit) -> list[WrittenRecord]:
        began = time.monotonic()
        written = self._producer.write(records, progress)
        self.size.took(len(records), time.monotonic() - began)
        return written

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown()

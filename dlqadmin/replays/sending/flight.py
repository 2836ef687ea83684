"""One Kafka transaction at a time, written by a thread of its own: the caller asks the database meanwhile."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from types import TracebackType
from typing import Self

from dlqadmin.broker.producing import ChunkProducer, Outbound, Progress, Written

LEAST_RECORDS = 500
MOST_RECORDS = 2000
LONG_S = 0.2  # an open transaction holds back every read_committed reader


class Size:
    """How many records a transaction may hold: more where it is short, fewer where it is long."""

    def __init__(self) -> None:
        self.most = LEAST_RECORDS

    def took(self, records: int, seconds: float) -> None:
        """So many were open for so long."""
        if seconds > LONG_S:
            self.most = max(LEAST_RECORDS, self.most // 2)
        elif records >= self.most and seconds < LONG_S / 2:
            self.most = min(MOST_RECORDS, self.most * 2)


class Flight:
    """What writes chunks with a producer. Use it as a context manager: it is left when nothing is being written."""

    def __init__(self, producer: ChunkProducer) -> None:
        self.size = Size()
        self._producer = producer
        self._thread = ThreadPoolExecutor(1, "chunk")

    def start(self, records: Sequence[Outbound], progress: Progress) -> Future[list[Written]]:
        """Begin to write a chunk; the result raises what `ChunkProducer.write` raises."""
        return self._thread.submit(copy_context().run, self._write, records, progress)

    def _write(self, records: Sequence[Outbound], progress: Progress) -> list[Written]:
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

"""Producers that keep records until they are to be written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.ports import Producer, Row
from engine.record.record import Headers


class BufferedRecord(NamedTuple):
    """A producer's Row with named parts."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int | None
    partition: int | None


class CollectingProducer(Producer):
    """A producer that only collects records, in order, until a caller takes them."""

    def __init__(self) -> None:
        self._waiting: list[BufferedRecord] = []

    def produce_all(self, rows: Sequence[Row]) -> None:
        self._waiting += map(BufferedRecord._make, rows)

    def flush(self) -> None:
        """Do nothing: the records wait for `take`."""

    def close(self) -> None:
        """Do nothing: there is no client."""

    def take(self) -> list[BufferedRecord]:
        """Return the collected records and start an empty collection."""
        waiting, self._waiting = self._waiting, []
        return waiting


class BufferedProducer(CollectingProducer):
    """A producer that collects records until `flush`.

    Several writers can share one transaction with it, without mixing up the ordinals of their records.
    """

    def __init__(self, producer: Producer) -> None:
        super().__init__()
        self._producer = producer

    def flush(self) -> None:
        if not self._waiting:
            return
        self._producer.produce_all(self._waiting)
        self.take()  # only now, because the transaction may refuse to begin
        self._producer.flush()

    def clear(self) -> None:
        """Drop the collected records."""
        self.take()

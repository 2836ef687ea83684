"""Classes of connectors that stop their own process: for children only, which import this before they run."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from engine.assembly.connector_classes import CLASSES, of_databases, of_delta, of_objects
from engine.connectors.delta.sink import DeltaSink
from engine.connectors.objects.sink import ObjectStoreSink
from engine.connectors.sql.sink import SqlSink
from engine.record.record import Record, TopicPartition

MARKER = "STOP_MARKER"  # the variable that names a file: once it is there nothing stops any more


class StoppedBeforeRows(SqlSink):
    """Stops its process before it writes."""

    def put(self, records: Sequence[Record]) -> None:
        stop_once()
        super().put(records)


class StoppedWithRows(SqlSink):
    """Stops its process when rows are written and not committed."""

    def put(self, records: Sequence[Record]) -> None:
        super().put(records)
        stop_once()


class StoppedBeforeObject(ObjectStoreSink):
    """Stops its process before it writes the objects of a commit."""

    def write(self, positions: Mapping[TopicPartition, int]) -> None:
        stop_once()
        super().write(positions)


class StoppedAfterObject(ObjectStoreSink):
    """Stops its process when objects are written and the offsets are not committed."""

    def write(self, positions: Mapping[TopicPartition, int]) -> None:
        super().write(positions)
        stop_once()


class StoppedBeforeTable(DeltaSink):
    """Stops its process before it appends to the tables."""

    def write(self, positions: Mapping[TopicPartition, int]) -> None:
        stop_once()
        super().write(positions)


class StoppedAfterTable(DeltaSink):
    """Stops its process when rows are appended and the offsets are not committed."""

    def write(self, positions: Mapping[TopicPartition, int]) -> None:
        super().write(positions)
        stop_once()


class StopAt:
    """A transform that stops the process at the number `at`."""

    def configure(self, configs: Mapping[str, str]) -> None:
        self.at = int(configs["at"])

    def apply(self, record: Record) -> Record:
        if record.value == self.at:
            stop_once()
        return record


def stop_once() -> None:
    """Stop this process, unless that was done before; whoever wants it to go on sends SIGCONT."""
    if MARKER not in os.environ:
        return
    marker = Path(os.environ[MARKER])
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGSTOP)


for stopped in (StoppedBeforeRows, StoppedWithRows):
    CLASSES[stopped.__name__] = replace(of_databases()["SqlSink"], factory=stopped)
for halted in (StoppedBeforeObject, StoppedAfterObject):
    CLASSES[halted.__name__] = replace(of_objects()["ObjectStoreSink"], factory=halted)
for late in (StoppedBeforeTable, StoppedAfterTable):
    CLASSES[late.__name__] = replace(of_delta()["DeltaSink"], factory=late)

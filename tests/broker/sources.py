"""Sources for tests of exactly-once delivery: they count, end their transactions where they want, and die."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from engine.pipeline.source_transactions import TransactionContext
from engine.ports import SourcePosition
from engine.record.record import Record


class Counting:
    """Emits 1 … `count`, `batch` a poll, in a source partition of each task's own; `die.in` names the call that kills
    the process, unless it has done so (`marker`).
    """

    idle_ms = 50

    @staticmethod
    def exactly_once_support(config: Mapping[str, str]) -> bool:
        return True

    def start(self, config: Mapping[str, str], position: Callable[[SourcePosition], SourcePosition | None]) -> None:
        self.topic, self.count = config["topic"], int(config["count"])
        self.batch = int(config.get("batch", "10"))
        self.partition = {"task": config.get("task.number", "0")}
        self.dies_in, self.marker = config.get("die.in"), Path(config.get("marker", "/nowhere"))
        found = position(self.partition)
        self.at = 0 if found is None else int(found["at"])
        self.die("start")

    def poll(self) -> Sequence[Record]:
        numbers = range(self.at + 1, min(self.at + self.batch, self.count) + 1)
        if self.at:
            self.die("poll")
        self.at = numbers[-1] if numbers else self.at
        return [self.record(number) for number in numbers]

    def record(self, number: int) -> Record:
        return Record(
            self.topic, 0, None, self.partition["task"], str(number),
            source_partition=self.partition, source_offset={"at": number},
        )  # fmt: skip

    def commit_record(self, record: Record) -> None:
        self.die("commit_record")

    def commit(self) -> None:
        if self.at:
            self.die("commit")

    def stop(self) -> None:
        """Nothing to close."""

    def die(self, where: str) -> None:
        if where == self.dies_in and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)


class Fibonacci(Counting):
    """Ends a transaction at each Fibonacci number; those that end at an even one are aborted."""

    transactions: TransactionContext

    @staticmethod
    def can_define_transaction_boundaries(config: Mapping[str, str]) -> bool:
        return True

    def record(self, number: int) -> Record:
        record = super().record(number)
        if number in FIBONACCI:
            (self.transactions.commit_transaction if number % 2 else self.transactions.abort_transaction)(record)
        return record


FIBONACCI = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233)


class IntoOffsets(Counting):
    """Writes to the topic where its own offsets are."""

    def record(self, number: int) -> Record:
        self.topic = "later"
        return super().record(number)

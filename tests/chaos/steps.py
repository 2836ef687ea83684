"""Steps that run inside the Spark workers, loaded by their dotted names."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from engine.record.record import Record
from engine.steps.processors import ProcessorContext

SIGN_EVERY_S = 0.05


class Busy:
    """Takes `ms` for a record, and signs with its process's id in the directory `signs` while it works."""

    def configure(self, configs: Mapping[str, str]) -> None:
        self._seconds = float(configs["ms"]) / 1000
        self._sign = Path(configs["signs"], str(os.getpid()))
        self._next = 0.0

    def apply(self, record: Record) -> Record:
        self.work()
        if isinstance(record.value, str) and record.value.endswith("bad"):
            raise ValueError("bad")
        return record

    def work(self) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._sign.touch()
            self._next = now + SIGN_EVERY_S
        time.sleep(self._seconds)


class BusyProcessor(Busy):
    """The same as a stream's processor."""

    def init(self, context: ProcessorContext) -> None:
        self._context = context

    def process(self, record: Record) -> None:
        self.work()
        self._context.forward(record)

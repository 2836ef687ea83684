"""Processors for the tests, loaded by their dotted names inside the Spark worker."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from engine.record.record import Record
from engine.steps.processors import ProcessorContext


class SlowCount:
    """Passes every record on after `ms`, with how many it has seen, and writes down which process did it."""

    def configure(self, configs: Mapping[str, str]) -> None:
        self.seconds = float(configs["ms"]) / 1000
        self.pid_file = Path(configs["pid.file"])

    def init(self, context: ProcessorContext) -> None:
        self.context = context
        self.seen = 0
        self.pid_file.write_text(str(os.getpid()))

    def process(self, record: Record) -> None:
        time.sleep(self.seconds)
        self.seen += 1
        if record.value.get("bad"):
            raise ValueError("bad")
        self.context.forward(replace(record, value={**record.value, "seen": self.seen}))

"""Steps that misbehave on purpose."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from engine.kafka.sinks.file import FileSink
from engine.record.record import Record


class Slow:
    """Takes two milliseconds a record."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """It has no options."""

    def apply(self, record: Record) -> Record:
        time.sleep(0.002)
        return record


class LeaveOutNulls:
    """Filters records without a value."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """It has no options."""

    def apply(self, record: Record) -> Record | None:
        return None if record.value is None else record


class DyingSink(FileSink):
    """Kills the process when its lines are written and nothing is committed, unless it has done so (`marker`)."""

    EXIT_CODE = 9

    def start(self, config: Mapping[str, str]) -> None:
        self.marker = Path(config["marker"])
        super().start(config)

    def flush(self) -> None:
        super().flush()
        if not self.marker.exists():
            self.marker.touch()
            os._exit(self.EXIT_CODE)

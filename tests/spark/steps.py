"""Transforms for the tests, loaded by their dotted names inside the Spark worker."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path

from engine.record.record import Record


class Slow:
    """Passes every record on after `ms`, and writes down which process did it."""

    def configure(self, configs: Mapping[str, str]) -> None:
        self._seconds = float(configs["ms"]) / 1000
        Path(configs["pid.file"]).write_text(str(os.getpid()))

    def apply(self, record: Record) -> Record:
        time.sleep(self._seconds)
        return record


class Deadly:
    """Ends the interpreter at a record with the field `die`: no guard ever sees that."""

    def configure(self, configs: Mapping[str, str]) -> None:
        pass

    def apply(self, record: Record) -> Record:
        if record.value.get("die"):
            os._exit(3)
        return record


class Talking:
    """Passes every record on, and logs its value; `bad` raises."""

    def configure(self, configs: Mapping[str, str]) -> None:
        logging.getLogger(__name__).debug("configured")

    def apply(self, record: Record) -> Record:
        logging.getLogger(__name__).info("saw %s", record.value)
        if record.value == "bad":
            raise ValueError("bad")
        return record

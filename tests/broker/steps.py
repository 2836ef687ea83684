"""Steps that misbehave on purpose."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from engine.connectors.file.sink import FileSink
from engine.connectors.file.source import FileSource
from engine.errors import RetriableError
from engine.ports import SourcePosition
from engine.record.record import Record
from tests.support.permissions import FILES


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

    def __init__(self) -> None:
        super().__init__(FILES)

    def start(self, config: Mapping[str, str]) -> None:
        self.marker = Path(config["marker"])
        super().start(config)

    def flush(self) -> None:
        super().flush()
        if not self.marker.exists():
            self.marker.touch()
            os._exit(self.EXIT_CODE)


class EndProcess:
    """Kills the process of `pid` when the value is "end"; every record passes."""

    def configure(self, configs: Mapping[str, str]) -> None:
        self.pid = int(configs["pid"])

    def apply(self, record: Record) -> Record:
        if record.value == "end":
            os.kill(self.pid, signal.SIGKILL)
        return record


class Picky:
    """Rejects the value "bad"."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """It has no options."""

    def apply(self, record: Record) -> Record:
        if record.value == "bad":
            raise ValueError("bad is not good")
        return record


class Route:
    """Sends the value "there" to the topic `to`."""

    def configure(self, configs: Mapping[str, str]) -> None:
        self.to = configs["to"]

    def apply(self, record: Record) -> Record:
        return replace(record, topic=self.to) if record.value == "there" else record


class DyingSource(FileSource):
    """Kills the process at its second poll, unless it has done so (`marker`)."""

    EXIT_CODE = 9

    def __init__(self) -> None:
        super().__init__(FILES)

    def start(self, config: Mapping[str, str], position: Callable[[SourcePosition], SourcePosition | None]) -> None:
        self.marker = Path(config["marker"])
        self.polls = 0
        super().start(config, position)

    def poll(self) -> Sequence[Record]:
        self.polls += 1
        if self.polls == 2 and not self.marker.exists():
            self.marker.touch()
            os._exit(self.EXIT_CODE)
        return super().poll()


class Unready:
    """A source that can't be polled before the file `ready` is there; `broken` says that it can't even start."""

    idle_ms = 10

    def start(self, config: Mapping[str, str], position: Callable[[SourcePosition], SourcePosition | None]) -> None:
        if config.get("broken"):
            raise KeyError("nothing to start with")
        self.ready, self.topic = Path(config["ready"]), config["topic"]
        self.done = position({}) is not None

    def poll(self) -> Sequence[Record]:
        if not self.ready.exists():
            raise RetriableError("not ready")
        if self.done:
            return ()
        self.done = True
        headers = (("one", None, 1), ("two", None, "x"), ("one", None, None))
        return (Record(self.topic, 0, 1234, "k", {"a": 1}, headers=headers, source_partition={}, source_offset={}),)

    def commit_record(self, record: Record) -> None:
        """Nothing to do."""

    def commit(self) -> None:
        """Nothing to do."""

    def stop(self) -> None:
        raise RuntimeError("can't stop either")

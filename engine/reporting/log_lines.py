"""The log lines of the driver and of the workers: format, levels, and the task that a line belongs to."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from engine.config.log_options import LogConfig, LogFormat

# py4j logs each call of Spark's driver at INFO.
QUIET = {"py4j": logging.WARNING}
failures = logging.getLogger("engine.task_failures")
_task: ContextVar[tuple[str, int] | None] = ContextVar("task", default=None)


class TextLines(logging.Formatter):
    """Lines such as `2026-11-24 10:00:00,123 INFO my.module: [orders|task-0] message`.

    The task is written as Kafka Connect does (KIP-449, `connector.context`).
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(context)s%(message)s")

    def format(self, record: logging.LogRecord) -> str:
        task = _task.get()
        record.context = "" if task is None else f"[{task[0]}|task-{task[1]}] "
        return super().format(record)


def task_ids() -> Mapping[str, object]:
    """Return the connector and the number of the task that this line belongs to; nothing for a line of no task."""
    task = _task.get()
    return {} if task is None else {"connector": task[0], "task": task[1]}


class JsonLines(logging.Formatter):
    """One JSON object per line, in ASCII. `time` is in UTC. `context` returns further fields of each line."""

    def __init__(self, context: Callable[[], Mapping[str, object]] = task_ids) -> None:
        super().__init__()
        self._context = context

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {"time": time.replace("+00:00", "Z")}
        line |= {"level": record.levelname, "logger": record.name}
        line |= self._context()
        line["message"] = record.getMessage()
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


class LineHandler(logging.StreamHandler):  # type: ignore[type-arg] # of sys.stderr
    """The engine's own handler, so that a second call of `configure` replaces it and no other."""


def configure(config: LogConfig) -> None:
    """Log to the process's standard error. Handlers that other code has added stay."""
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, LineHandler)]:
        root.removeHandler(handler)
    handler = LineHandler(sys.stderr)
    handler.setFormatter(JsonLines() if config.format is LogFormat.JSON else TextLines())
    root.addHandler(handler)
    root.setLevel(config.level)
    for name, level in (QUIET | config.levels).items():
        logging.getLogger(name).setLevel(level)


@contextmanager
def in_task(connector: str, task: int) -> Iterator[None]:
    """Log lines of this thread as lines of the task."""
    token = _task.set((connector, task))
    try:
        yield
    finally:
        _task.reset(token)


def log_task_failure(connector: str, task: int, trace: str) -> None:
    """Log why a task has failed. `trace` is the trace of its report, without secrets."""
    with in_task(connector, task):
        failures.error("task %s-%d failed: %s", connector, task, trace)

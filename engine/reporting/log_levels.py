"""Levels of this process's loggers, with the names of log4j's levels (KIP-495)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

ROOT = "root"
LEVELS = {"ALL": 1, "TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50, "OFF": 60}
# Lower levels of these loggers log statements with the content of records, which a client must not switch on.
LOWEST = {"psycopg": logging.CRITICAL, "sqlalchemy": logging.WARNING}
_NAMES = {number: name for name, number in LEVELS.items()}


def is_level(text: str) -> bool:
    """Return whether this is a level, in any case."""
    return text.upper() in LEVELS


class LogLevels:
    """The levels. Thread-safe. Only changes made here have a time."""

    def __init__(self, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._now_ms = now_ms
        self._changed_ms: dict[str, int] = {}
        self._lock = threading.Lock()

    def all(self) -> dict[str, dict[str, Any]]:
        """Return the loggers that have a level of their own, by name."""
        with self._lock:
            return {name: self._body(name, logger) for name, logger in sorted(_loggers()) if logger.level}

    def get(self, name: str) -> dict[str, Any] | None:
        """Return the effective level of a logger and the time of its change (ms), or None for an unknown logger."""
        with self._lock:
            return next((self._body(known, logger) for known, logger in _loggers() if known == _name(name)), None)

    def set(self, namespace: str, level: str) -> list[str]:
        """Set the level of a logger and of all loggers below it, but not below `LOWEST`.

        Return the names of those that changed.
        """
        name = _name(namespace)
        with self._lock:
            before = {known: logger.getEffectiveLevel() for known, logger in _loggers()}
            logging.getLogger(None if name == ROOT else name)
            changed = []
            for known, logger in sorted(_loggers()):
                if name in (ROOT, known) or known.startswith(f"{name}."):
                    logger.setLevel(max(LEVELS[level.upper()], _lowest(known)))
                    if before.get(known) != logger.level:
                        self._changed_ms[known] = self._now_ms()
                        changed.append(known)
            return changed

    def _body(self, name: str, logger: logging.Logger) -> dict[str, Any]:
        return {"level": _level_name(logger.getEffectiveLevel()), "last_modified": self._changed_ms.get(name)}


def _loggers() -> Iterator[tuple[str, logging.Logger]]:
    yield ROOT, logging.getLogger()
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if isinstance(logger, logging.Logger):
            yield name, logger


def _lowest(name: str) -> int:
    return LOWEST.get(name.partition(".")[0], 0)


def _name(text: str) -> str:
    return ROOT if text.lower() in ("", ROOT) else text


def _level_name(number: int) -> str:
    """Return the name of the level, or of the next lower one."""
    return next((name for least, name in sorted(_NAMES.items(), reverse=True) if number >= least), "ALL")

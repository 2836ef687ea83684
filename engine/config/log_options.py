"""A worker's logging options, for the driver and for the workers."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from engine.config.options import Option, nearest, one_of, read, valid

# The names of log4j, with which people configure Kafka Connect, and Python's own.
LEVELS = {
    "TRACE": 1,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "CRITICAL": logging.CRITICAL,
    "OFF": logging.CRITICAL + 1,
}
_SHOWN = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")


class LogFormat(StrEnum):
    """The format of log lines."""

    TEXT = "text"
    JSON = "json"


@valid(f"{', '.join(_SHOWN)} (in any case)")
def level_problem(name: str) -> str | None:
    """Return the problem of a level's name, or None. Case does not matter."""
    if name.upper() in LEVELS:
        return None
    return f"must be one of {', '.join(_SHOWN)}{nearest(name.upper(), _SHOWN)}"


# fmt: off: one row, one line
OPTIONS: tuple[Option, ...] = (
    Option(
        "log.level",
        "string",
        "INFO",
        f"The lowest level that is logged, by the driver and by the workers: {', '.join(_SHOWN)}.",
        level_problem,
    ),
    Option(
        "log.level.*",
        "map",
        {},
        "The level of one logger and of the loggers below it, such as `log.level.engine.kafka=DEBUG`. The name of "
        "a logger is the name of its Python module.",
        level_problem,
    ),
    Option(
        "log.format",
        "string",
        LogFormat.TEXT.value,
        "`text`, or `json` for one object per line with `time`, `level`, `logger`, `connector`, `task` and `message`.",
        one_of(*LogFormat),
    ),
)
# fmt: on


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The logging of a process. Levels are Python's numbers."""

    level: int = logging.INFO
    levels: dict[str, int] = field(default_factory=dict)
    format: LogFormat = LogFormat.TEXT


def log_config(values: Mapping[str, Any]) -> LogConfig:
    """Return the configuration from parsed values. A level that does not exist is skipped."""
    named = ((logger, name.upper()) for logger, name in values["log.level.*"].items())
    levels = {logger: LEVELS[name] for logger, name in named if name in LEVELS}
    level, chosen = str(values["log.level"]).upper(), values["log.format"]
    known = LogFormat(chosen) if chosen in list(LogFormat) else LogFormat.TEXT
    return LogConfig(LEVELS.get(level, logging.INFO), levels, known)


def read_log_config(props: Mapping[str, str]) -> LogConfig:
    """Return the configuration in a worker's properties. What can't be read has its default."""
    values, _ = read(OPTIONS, {name: text for name, text in props.items() if name.startswith("log.")})
    return log_config(values)

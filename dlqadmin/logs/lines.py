"""The log lines of the dashboard's processes, as text or as JSON."""

from __future__ import annotations

import logging
import re
from typing import Any

from dlqadmin.logs import context
from engine.reporting.log_lines import JsonLines

# What ends a line, moves a terminal's cursor, or changes the order of what a terminal shows.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class IdentifiedTextLines(logging.Formatter):
    """Lines such as `2026-11-24 10:00:00,123 INFO web my.module: [request_id=4f1c user_id=3] message`.

    Nothing that is logged can begin a line of its own: control characters of the message are escaped, and the lines of
    a stack trace are indented.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(process_kind)s %(name)s: %(ids)s%(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802, logging's name
        found = " ".join(f"{name}={value}" for name, value in context.ids().items())
        record.process_kind, record.ids = context.process(), f"[{found}] " if found else ""
        return _escaped(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802, logging's name
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802, logging's name
        return _indented(super().formatStack(stack_info))


def json_lines() -> logging.Formatter:
    """Return a formatter that writes one JSON object per line, with the process and the ids."""
    return JsonLines(lambda: {"process": context.process(), **context.ids()})


def _indented(trace: str) -> str:
    return "\n".join(f"  {_escaped(line)}" for line in trace.split("\n"))


def _escaped(text: str) -> str:
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)

"""The lines that are logged during a test, as objects."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from dlqadmin.logs.lines import json_lines


class Collected(logging.Handler):
    """A handler that keeps the lines as objects."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(json_lines())
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    """The lines that are logged, as objects."""
    handler = Collected()
    logging.getLogger().addHandler(handler)
    yield handler.lines
    logging.getLogger().removeHandler(handler)

"""A log line at each statement, so that there is one whatever the code under test does."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

STATEMENTS = logging.getLogger("tests.statements")


@contextmanager
def logged_statements() -> Iterator[None]:
    """Log a line at each statement of this block."""

    def log(execute: Any, *rest: Any) -> Any:
        STATEMENTS.error("a statement")
        return execute(*rest)

    with connection.execute_wrapper(log):
        yield

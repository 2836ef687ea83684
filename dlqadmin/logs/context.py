"""The ids that log lines carry: of the request, its user, the Celery task, the replay and the cluster.

Each thread and each asyncio task has ids of its own. A thread that needs those of its caller runs in a copy of the
caller's context (`contextvars.copy_context`).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

Id = str | int | None | Callable[[], str | int | None]

SAFE = re.compile(r"[A-Za-z0-9._:-]{1,64}")
COMMAND = "command"  # any process that is not a service, such as `manage.py migrate`


@contextmanager
def bound(**ids: Id) -> Iterator[None]:
    """Add ids to the lines of this block.

    A function is called for each line, so it must be quick and must not log. None adds nothing.
    """
    token = _bound.set({**_bound.get(), **ids})
    try:
        yield
    finally:
        _bound.reset(token)


def ids() -> dict[str, str | int]:
    """Return the ids of a line that is logged here."""
    found = {name: value() if callable(value) else value for name, value in _bound.get().items()}
    return {name: value for name, value in found.items() if value is not None}


def request_id() -> str | None:
    """Return the id of the request that is being answered, or that queued this task."""
    found = _bound.get().get("request_id")
    return found if isinstance(found, str) else None


def given_or_new_id(given: object) -> str:
    """Return an id that somebody gave, if it is at most 64 letters, digits, or `.`, `_`, `:`, `-`; else a new one."""
    return given if isinstance(given, str) and SAFE.fullmatch(given) else uuid.uuid4().hex


def set_process(kind: str) -> None:
    """Set what this process is: `web`, `worker`, `beat` or `indexer`."""
    global _process  # noqa: PLW0603, a process has one kind, which is known only when it starts
    _process = kind


def process() -> str:
    """Return what this process is."""
    return _process


_bound: ContextVar[Mapping[str, Id]] = ContextVar("log_ids", default={})  # noqa: B039, never changed in place
_process = COMMAND

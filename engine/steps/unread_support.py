"""Support for unread values (`engine.record.unread`): only classes that declare it get them."""

from __future__ import annotations

from typing import Protocol


class UnreadSupport(Protocol):
    """A converter that can leave parts unread, or a sink that can write them.

    Transforms and predicates need no such method.
    """

    takes_unread: bool

    def use_unread(self) -> None:
        """Accept unread parts in values without a schema from now on."""


def takes_unread(step: object) -> bool:
    """Return whether the step's own class declares support. A subclass may read everything, so it must declare it."""
    return "takes_unread" in vars(type(step)) and bool(getattr(step, "takes_unread", False))

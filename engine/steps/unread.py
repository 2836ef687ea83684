"""Who can be given values whose parts are unread (`engine.record.unread`): only those that say so themselves."""

from __future__ import annotations

from typing import Protocol


class Unreading(Protocol):
    """A converter that can leave parts unread, or a sink that can write them; transforms and predicates just can."""

    takes_unread: bool

    def use_unread(self) -> None:
        """From now on values without a schema may have such parts."""


def takes_unread(step: object) -> bool:
    """Does the step's own class say so? A class that is derived from one of the engine's may look at everything."""
    return "takes_unread" in vars(type(step)) and bool(getattr(step, "takes_unread", False))

"""Classes by the names that users know them by: built in, offered by an installed package, or at a dotted path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.config.options import nearest
from engine.steps import plugins

Factory = Callable[[], Any]


class NotLoaded(Exception):
    """There is no such class, or it can't be made; the message says why, in words that follow its name."""


def make(group: str, built_in: Mapping[str, Factory], name: str, *, method: str | None = None) -> Any:
    """A new object of the class of that name, which has the method if one is asked for. Raises NotLoaded."""
    factory = built_in.get(name) or _foreign(group, name, method)
    if factory is None:
        raise NotLoaded("is no known class" + nearest(name, [*built_in, *plugins.names(group)]))
    try:
        return factory()
    except Exception as error:
        raise NotLoaded(f"can't be made: {error}") from error


def _foreign(group: str, name: str, method: str | None) -> Factory | None:
    try:
        found = plugins.find(group, name) or plugins.at_path(name)
    except plugins.BrokenPlugin as error:
        raise NotLoaded(str(error)) from error
    if found is None or (isinstance(found, type) and hasattr(found, method or "__init__")):
        return found
    raise NotLoaded(f"is no class with a {method} method" if method else "is no class")

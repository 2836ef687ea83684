"""Classes by the names that users know them by: built in, offered by an installed package, or at a dotted path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from engine.config.options import nearest
from engine.errors import ConfigError
from engine.steps import plugins

Factory = Callable[[], Any]
FOREIGN = (Exception, SystemExit)  # what code of somebody else may raise
T = TypeVar("T")


class NotLoaded(Exception):
    """There is no such class, or it can't be made; the message says why, in words that follow its name."""


def make(group: str, built_in: Mapping[str, Factory], name: str, *, methods: Sequence[str] = ()) -> Any:
    """A new object of the class of that name, which has the methods that are asked for. Raises NotLoaded."""
    factory = built_in.get(name) or _foreign(group, name, methods)
    if factory is None:
        raise NotLoaded("is no known class" + nearest(name, [*built_in, *plugins.names(group)]))
    try:
        return factory()
    except FOREIGN as error:
        raise NotLoaded(f"can't be made: {error}") from error


def ask(work: Callable[[], T], option: str, class_name: str, doing: str) -> T:
    """What a step's own code answers. Raises ConfigError of that option whatever else it raises."""
    try:
        return work()
    except ConfigError:
        raise
    except FOREIGN as error:
        raise ConfigError(((option, class_name, f"{doing}: {type(error).__name__}: {error}"),)) from error


def _foreign(group: str, name: str, methods: Sequence[str]) -> Factory | None:
    try:
        found = plugins.find(group, name) or plugins.at_path(name)
    except plugins.BrokenPlugin as error:
        raise NotLoaded(str(error)) from error
    if found is None:
        return None
    lacking = [method for method in methods if not callable(getattr(found, method, None))]
    if not isinstance(found, type) or lacking:
        method = (lacking or methods or ("",))[0]
        raise NotLoaded(
            f"is no class with {'an' if method[0] in 'aeio' else 'a'} {method} method" if method else "is no class"
        )
    return found

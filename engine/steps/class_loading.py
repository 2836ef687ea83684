"""Class loading by configured names: built-in classes, entry points of packages, and dotted paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from engine.config.options import nearest
from engine.errors import ConfigError
from engine.steps import plugins

Factory = Callable[[], Any]
FOREIGN = (Exception, SystemExit)  # exceptions that foreign code may raise
T = TypeVar("T")


class ClassNotLoaded(Exception):
    """A class that does not exist or can't be instantiated. The message says why and follows the name."""


def make(
    group: str,
    built_in: Mapping[str, Factory],
    name: str,
    *,
    allow: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> Any:
    """Return a new object of the named class, which must have these methods. Raises ClassNotLoaded.

    `allow` are patterns of the classes that may be imported by path.
    """
    factory = load(group, built_in, name, allow=allow, methods=methods)
    try:
        return factory()
    except FOREIGN as error:
        raise ClassNotLoaded(f"can't be created: {error}") from error


def load(
    group: str,
    built_in: Mapping[str, Factory],
    name: str,
    *,
    allow: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> Factory:
    """Return the named class, without making an object of it. Raises ClassNotLoaded."""
    known = [*built_in, *plugins.names(group)]
    factory = built_in.get(name) or _foreign(group, name, allow, methods, known)
    if factory is None:
        raise ClassNotLoaded("is not a known class" + nearest(name, known))
    return factory


def ask(work: Callable[[], T], option: str, class_name: str, doing: str, prefix: str = "") -> T:
    """Return the answer of a step's own code. Raises ConfigError of that option for any exception.

    The step's own ConfigError names options as the step knows them, without `prefix`, which is added.
    """
    try:
        return work()
    except ConfigError as error:
        rows = (
            (name if name.startswith(prefix) else prefix + name, value, text) for name, value, text in error.problems
        )
        raise ConfigError(tuple(rows)) from error
    except FOREIGN as error:
        raise ConfigError(((option, class_name, f"{doing}: {type(error).__name__}: {error}"),)) from error


def _foreign(
    group: str, name: str, allow: Sequence[str], methods: Sequence[str], known: Sequence[str]
) -> Factory | None:
    try:
        loaded = plugins.find(group, name) or plugins.at_path(name, allow, known)
    except plugins.BrokenPlugin as error:
        raise ClassNotLoaded(str(error)) from error
    if loaded is None:
        return None
    missing_methods = [method for method in methods if not callable(getattr(loaded, method, None))]
    if not isinstance(loaded, type) or missing_methods:
        method = (missing_methods or methods or ("",))[0]
        raise ClassNotLoaded(
            f"must be a class with {'an' if method[0] in 'aeio' else 'a'} {method} method"
            if method
            else "is not a class"
        )
    return loaded

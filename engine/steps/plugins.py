"""Classes from entry points of installed packages, loaded on demand."""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, distributions

from engine.config.options import nearest
from engine.config.permissions import CLASSES_OPTION
from engine.import_path import ROOT, is_installed

CONVERTERS = "engine.converters"
TRANSFORMS = "engine.transforms"
PREDICATES = "engine.predicates"
PROCESSORS = "engine.processors"
SINKS = "engine.sinks"
SOURCES = "engine.sources"
SURE = 0.9  # likeness of a misspelt path; other packages have similar names
_LOG = logging.getLogger(__name__)
_switched_off: list[str] = []  # why this process loads no foreign classes


class BrokenPlugin(Exception):
    """A plugin that can't be used. The message tells the user why."""


def switch_off(reason: str) -> None:
    """Disable foreign classes in this process. The reason, a sentence, ends the error message."""
    _switched_off.append(reason)


def find(group: str, name: str) -> object | None:
    """Return the object with that entry point name, or None. Raises BrokenPlugin."""
    entry_points = [offer for offer in _offers(group, tuple(sys.path)) if offer.name == name]
    if not entry_points:
        return None
    if len({offer.value for offer in entry_points}) > 1:
        raise BrokenPlugin(
            f"is an entry point of several packages: {', '.join(map(_origin, entry_points))}; uninstall all but one"
        )
    _refuse_foreign()
    try:
        loaded: object = entry_points[0].load()
    except (Exception, SystemExit) as error:  # loading runs foreign code
        raise BrokenPlugin(f"{_origin(entry_points[0])} can't be loaded: {type(error).__name__}: {error}") from error
    return loaded


def at_path(path: str, allow: Sequence[str], known: Sequence[str] = ()) -> object | None:
    """Return the object at `package.module.Class` or `package.module:Class`. Raises BrokenPlugin.

    Return None if it is not a path. Importing runs code, so one of the patterns `allow` must match the path. `known`
    are the names that need no pattern; the nearest is in the message.
    """
    dotted = path.replace(":", ".")
    module, _, name = dotted.rpartition(".")
    if not module or module.startswith("org.apache."):
        return None
    if not any(fnmatchcase(dotted, pattern.replace(":", ".")) for pattern in allow):
        raise BrokenPlugin(
            f"is neither a built-in class nor an entry point of an installed package; to import it by its path, add "
            f"it to the worker's {CLASSES_OPTION}{nearest(dotted, known, SURE)}"
        )
    if "." not in module and _is_loose(module):
        raise BrokenPlugin(
            f"is in a module of the working directory, which is never imported, regardless of {CLASSES_OPTION}; "
            "install it as a package"
        )
    _refuse_foreign()
    try:
        imported = importlib.import_module(module)
    except (Exception, SystemExit) as error:  # importing runs the user's code
        raise BrokenPlugin(f"can't be loaded: {error}") from error
    loaded: object = getattr(imported, name, None)
    if loaded is None:
        others = [other for other in vars(imported) if isinstance(vars(imported)[other], type)]
        raise BrokenPlugin(f"can't be loaded: module '{module}' has no class {name}{nearest(name, others)}")
    return loaded


def _is_loose(module: str) -> bool:
    """Return whether a top-level module lies in the working directory or beside the engine.

    The check imports nothing.
    """
    try:
        spec = PathFinder.find_spec(module)
    except (ImportError, ValueError):
        return False
    origin = None if spec is None or spec.origin is None else os.path.realpath(os.path.dirname(spec.origin))  # noqa: PTH120, as realpath
    beside = () if is_installed(ROOT) else (ROOT,)
    return origin is not None and origin in {os.path.realpath(os.curdir), *beside}


def names(group: str) -> tuple[str, ...]:
    """Return the available names, without loading anything."""
    return tuple(sorted({offer.name for offer in _offers(group, tuple(sys.path))}))


def _refuse_foreign() -> None:
    if _switched_off:
        raise BrokenPlugin(f"is not built in. {_switched_off[0]}")


@lru_cache(maxsize=64)
def _offers(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    return tuple(offer for offer in _all_offers(path) if offer.group == group)


@lru_cache(maxsize=8)
def _all_offers(_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return all entry points, the first of each name on the path. Unreadable ones are skipped."""
    entry_points: list[EntryPoint] = []
    seen: set[str] = set()
    for package in distributions():
        name = "without a name"
        try:
            name = package.name
            if name in seen:
                continue
            seen.add(name)
            entry_points += package.entry_points
        except Exception as error:  # noqa: BLE001, metadata of somebody else, in any shape
            _LOG.warning("Can't read the entry points of the package %s: %s: %s", name, type(error).__name__, error)
    return tuple(entry_points)


def _origin(offer: EntryPoint) -> str:
    package = f" of {offer.dist.name} {offer.dist.version}" if offer.dist else ""
    return f"{offer.value}{package}"

"""Classes that installed packages offer by entry points, loaded when somebody names one."""

from __future__ import annotations

import importlib
import logging
import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, distributions

CONVERTERS = "engine.converters"
TRANSFORMS = "engine.transforms"
PREDICATES = "engine.predicates"
PROCESSORS = "engine.processors"
SINKS = "engine.sinks"
SOURCES = "engine.sources"
_LOG = logging.getLogger(__name__)


class BrokenPlugin(Exception):
    """What an installed package offers under that name can't be used; the message says why, in words for a user."""


def find(group: str, name: str) -> object | None:
    """The object offered under that name, or None. Raises BrokenPlugin."""
    offers = [offer for offer in _offers(group, tuple(sys.path)) if offer.name == name]
    if not offers:
        return None
    if len({offer.value for offer in offers}) > 1:
        raise BrokenPlugin(f"is offered by more than one package: {', '.join(map(_origin, offers))}")
    try:
        found: object = offers[0].load()
    except (Exception, SystemExit) as error:  # loading runs code of somebody else
        raise BrokenPlugin(f"{_origin(offers[0])} can't be loaded: {type(error).__name__}: {error}") from error
    return found


def at_path(path: str) -> object | None:
    """The object at `package.module.Class` or `package.module:Class`, or None for no path. Raises BrokenPlugin."""
    module, _, name = path.replace(":", ".").rpartition(".")
    if not module or module.startswith("org.apache."):
        return None
    try:
        found: object = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # importing runs code of the user's own
        raise BrokenPlugin(f"can't be loaded: {error}") from error
    return found


def names(group: str) -> tuple[str, ...]:
    """What is offered, without loading any of it."""
    return tuple(sorted({offer.name for offer in _offers(group, tuple(sys.path))}))


@lru_cache(maxsize=64)
def _offers(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    return tuple(offer for offer in _all_offers(path) if offer.group == group)


@lru_cache(maxsize=8)
def _all_offers(_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Every installed package's, the first of each name on the path; one that can't be read is passed over."""
    found: list[EntryPoint] = []
    seen: set[str] = set()
    for package in distributions():
        name = "of unknown name"
        try:
            name = package.name
            if name in seen:
                continue
            seen.add(name)
            found += package.entry_points
        except Exception as error:  # noqa: BLE001, metadata of somebody else, in any shape
            _LOG.warning("the entry points of the package %s can't be read: %s: %s", name, type(error).__name__, error)
    return tuple(found)


def _origin(offer: EntryPoint) -> str:
    package = f" of {offer.dist.name} {offer.dist.version}" if offer.dist else ""
    return f"{offer.value}{package}"

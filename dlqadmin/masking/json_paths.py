"""A small part of JSONPath (RFC 9535): members, items, wildcards and members at any depth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from dlqadmin.masking.json_spans import Node

MAX_STEPS = 20
KEY = "key."  # before the path of a rule for keys
_STEP = re.compile(
    r"""(?:(?P<deep>\.\.)|\.|(?=\[))(?:(?P<name>[^\s.\[\]'"*]+)|(?P<any>\*)|\[(?:(?P<index>\d{1,9})|(?P<items>\*)"""
    r"""|'(?P<single>[^']+)'|"(?P<double>[^"]+)")\])"""
)


class BadPath(ValueError):
    """The text is not a path. It says why."""


class PathStep(msgspec.Struct, frozen=True):
    """A step: a member's name, an index, or None for all members and items. `is_deep`: at any depth below."""

    to: str | int | None
    is_deep: bool


def parse(text: str) -> tuple[PathStep, ...]:
    """Return the steps of a path such as `$.items[*].ssn` or `$..email`. Raises BadPath."""
    if not text.startswith("$"):
        raise BadPath("a path starts with $, as in $.contact.phone")
    steps, at = list[PathStep](), 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise BadPath(f"cannot read the path from {text[at : at + 20]!r} on")
        steps.append(PathStep(_target(found), found["deep"] is not None))
        at = found.end()
    if len(steps) > MAX_STEPS:
        raise BadPath(f"a path has at most {MAX_STEPS} steps")
    return tuple(steps)


def matches(node: Node, steps: Iterable[PathStep]) -> list[Node]:
    """Return the values that the path leads to; of duplicate members all of them."""
    found = [node]
    for step in steps:
        # Values within each other have common descendants; those of one level are distinct.
        starts = _distinct(below for one in found for below in _all(one)) if step.is_deep else found
        found = [child for one in starts for child in _children(one, step.to)]
        if not found:  # most rules lead to nothing in most records
            break
    return found


def _target(found: re.Match[str]) -> str | int | None:
    if found["any"] or found["items"]:
        return None
    if found["index"] is not None:
        return int(found["index"])
    return found["name"] or found["single"] or found["double"]


def _children(node: Node, to: str | int | None) -> Sequence[Node]:
    if to is None:
        return [*(member.value for member in node.members), *node.items]
    if isinstance(to, int):
        return node.items[to : to + 1]
    return [member.value for member in node.members if member.name == to]


def _all(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += [member.value for member in one.members]
        waiting += one.items


def _distinct(nodes: Iterable[Node]) -> list[Node]:
    return list({(one.start, one.end): one for one in nodes}.values())

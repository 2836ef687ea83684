r"""Paths to members and headers of records: `value.user.id`, `value."US Gross"`, `header.trace-id`.

A step with a blank, a dot, a colon, a comma or a quote stands in quotes. `\\` escapes a quote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_STEP = re.compile(r'(?:"((?:[^"\\]|\\.)*)"|([^"\s:,.]*))(\.|\Z)', re.DOTALL)
_BARE_STEP = re.compile(r'[^"\s:,.()]+')
_BARE_HEADER = re.compile(r'[^"\s:,()]+')
VALUE, HEADER = "value.", "header."


def is_path(name: str) -> bool:
    """Return whether this filter is a member or header of the record."""
    return name.startswith((VALUE, HEADER))


def read_path(name: str) -> tuple[str, ...] | None:
    """Return the steps of `value.a.b`, or the name of `header.a.b` alone; None if the quotes are wrong."""
    prefix = VALUE if name.startswith(VALUE) else HEADER
    text = name.removeprefix(prefix)
    steps: list[str] = []
    at = 0
    while found := _STEP.match(text, at):
        steps.append(re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL) if found[1] is not None else found[2])
        at = found.end()
        if not found[3]:
            return tuple(steps) if prefix == VALUE else (".".join(steps),)
    return None


def write_member(steps: Sequence[str]) -> str:
    """Return the path of a member as a query names it."""
    return VALUE + ".".join(map(write_step, steps))


def write_step(name: str) -> str:
    """Return one step of a member's path: in quotes if it needs them."""
    return _written(name, _BARE_STEP)


def write_path(name: str) -> str | None:
    """Return the one spelling of a path, so that filters by it have one name; None if the quotes are wrong."""
    steps = read_path(name)
    if steps is None:
        return None
    return write_member(steps) if name.startswith(VALUE) else HEADER + _written(steps[0], _BARE_HEADER)


def _written(step: str, bare: re.Pattern[str]) -> str:
    return step if bare.fullmatch(step) else '"' + re.sub(r'(["\\])', r"\\\1", step) + '"'

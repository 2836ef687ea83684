"""Options of a step: those in its table, and checks that only the step can make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.config.options import Option, Problem, parse, read
from engine.errors import ConfigError


def checked(
    options: Sequence[Option], problems: Callable[[Mapping[str, str]], list[Problem]], configs: Mapping[str, str]
) -> dict[str, Any]:
    """Return the values by name. Raises ConfigError with the table's problems, or else the step's own."""
    values = parse(options, configs)
    reported = problems(configs)
    if reported:
        raise ConfigError(tuple(reported))
    return values


def given_problems(made: Any, given: Mapping[str, str], prefix: str) -> list[Problem]:
    """Return problems of an object's options.

    If the object can't be configured, every option is a problem. Without a table, none is.
    """
    if given and not hasattr(made, "configure"):
        return [(prefix + name, value, "unknown option; this class has no options") for name, value in given.items()]
    options: Sequence[Option] | None = getattr(made, "OPTIONS", None)
    if options is None:
        return []
    return read(options, {prefix + name: value for name, value in given.items()}, prefix)[1]

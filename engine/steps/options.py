"""Options of a step: those its table describes, and what only the step itself can check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.config.options import Option, Problem, parse
from engine.errors import ConfigError


def checked(
    options: Sequence[Option], problems: Callable[[Mapping[str, str]], list[Problem]], configs: Mapping[str, str]
) -> dict[str, Any]:
    """The values by name. Raises ConfigError with the table's problems, or else with the step's own."""
    values = parse(options, configs)
    found = problems(configs)
    if found:
        raise ConfigError(tuple(found))
    return values

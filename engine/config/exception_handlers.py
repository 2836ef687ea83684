"""Options that name exception handlers (KIP-1033), for every kind of connector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.config.options import Option, Problem


class HandlerRole(StrEnum):
    """The kind of errors that a handler decides about."""

    PROCESSING = "processing"
    DESERIALIZATION = "deserialization"
    PRODUCTION = "production"

    @property
    def option(self) -> str:
        """Return the option that names the handler."""
        return f"{self}.exception.handler"

    @property
    def old_option(self) -> str:
        """Return the option's name before KIP-1033, if it had one."""
        return f"default.{self.option}"


_COVERS = {
    HandlerRole.PROCESSING: "errors of transforms, processors, punctuations and put",
    HandlerRole.DESERIALIZATION: "errors of converters that read records",
    HandlerRole.PRODUCTION: "errors of converters that write records, and records that the brokers reject",
}
STREAM_DEFAULTS = {
    HandlerRole.PROCESSING: "LogAndFailProcessingExceptionHandler",
    HandlerRole.DESERIALIZATION: "LogAndFailExceptionHandler",
    HandlerRole.PRODUCTION: "DefaultProductionExceptionHandler",
}
_OLD = (HandlerRole.DESERIALIZATION, HandlerRole.PRODUCTION)


def _rows(role: HandlerRole) -> tuple[Option, ...]:
    text = (
        f"The handler of {_COVERS[role]}. Without it `errors.tolerance.*` decide. Default of a stream that sets no "
        f"`errors.tolerance` option: `{STREAM_DEFAULTS[role]}`."
    )
    named = Option(role.option, "class", None, text)
    own = Option(f"{role.option}.*", "map", {}, "Options of the handler. It also gets the properties of the connector.")
    old = Option(role.old_option, "class", None, f"The old name of `{role.option}`. The new name takes precedence.")
    return (named, own, old) if role in _OLD else (named, own)


OPTIONS: tuple[Option, ...] = tuple(row for role in HandlerRole for row in _rows(role))


@dataclass(frozen=True, slots=True)
class HandlerChoice:
    """A handler that a connector names. `option` is the spelling in use, `options` are the handler's own."""

    role: HandlerRole
    class_name: str
    option: str
    options: dict[str, str]
    allow: tuple[str, ...] = ()  # patterns of classes that may be imported by path

    @property
    def prefix(self) -> str:
        """Return the prefix of its own options, whichever spelling named it."""
        return f"{self.role.option}."


def read_handlers(
    values: Mapping[str, Any], allow: tuple[str, ...] = ()
) -> tuple[tuple[HandlerChoice, ...], list[Problem]]:
    """Return the named handlers, and warnings about old option names."""
    choices: list[HandlerChoice] = []
    warnings: list[Problem] = []
    for role in HandlerRole:
        new, old = values[role.option], values.get(role.old_option)
        if old:
            text = f"is ignored because {role.option} is set" if new else f"is deprecated; use {role.option}"
            warnings.append((role.old_option, old, text))
        name, option = (new, role.option) if new else (old, role.old_option)
        if name:
            choices.append(HandlerChoice(role, name, option, dict(values[f"{role.option}.*"]), allow))
    return tuple(choices), warnings

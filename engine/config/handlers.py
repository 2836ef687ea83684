"""Options that name exception handlers (KIP-1033), for every kind of connector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.config.options import Option, Problem


class Role(StrEnum):
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
    Role.PROCESSING: "errors of transforms, processors, punctuations and put",
    Role.DESERIALIZATION: "errors of converters that read",
    Role.PRODUCTION: "errors of converters that write, and of records the brokers refuse",
}
_OLD = (Role.DESERIALIZATION, Role.PRODUCTION)


def _rows(role: Role) -> tuple[Option, ...]:
    text = f"Who decides about {_COVERS[role]}: a built-in name, an entry point or a dotted path; "
    named = Option(role.option, "class", None, text + "unset: a sink's or source's tolerance, a stream's default.")
    own = Option(f"{role.option}.*", "map", {}, "Its own options; it is also given the connector's properties.")
    old = Option(role.old_option, "class", None, f"The old name of `{role.option}`, which wins.")
    return (named, own, old) if role in _OLD else (named, own)


OPTIONS: tuple[Option, ...] = tuple(row for role in Role for row in _rows(role))


@dataclass(frozen=True, slots=True)
class HandlerChoice:
    """A handler that a connector names. `option` is the spelling in use, `options` are the handler's own."""

    role: Role
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
    for role in Role:
        new, old = values[role.option], values.get(role.old_option)
        if old:
            text = f"ignored, {role.option} wins" if new else f"is the old name of {role.option}"
            warnings.append((role.old_option, old, text))
        name, option = (new, role.option) if new else (old, role.old_option)
        if name:
            choices.append(HandlerChoice(role, name, option, dict(values[f"{role.option}.*"]), allow))
    return tuple(choices), warnings

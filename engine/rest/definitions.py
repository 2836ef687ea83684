"""Definitions of options, and validated configurations, as Kafka Connect's API tells them. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from engine.config import exception_handlers
from engine.config.masking import MASK, mask
from engine.config.options import REQUIRED, Option, Problem, convert

_TYPES = {"duration": "LONG", "map": "STRING"}  # Kafka Connect has no such types
# Options whose type or default is told otherwise than it is read. The meaning is the same.
_TYPES_OF = {
    "connector.class": "STRING",
    "errors.deadletterqueue.topic.replication.factor": "SHORT",
    "transaction.boundary.interval.ms": "LONG",
}
_DEFAULTS_OF: dict[str, str | None] = {
    "errors.retry.timeout": "0",
    "errors.tolerance": "none",
    "offsets.storage.topic": None,
    "topics.regex": "",
}
ERROR_HANDLING = "Error Handling"
_OF_ERRORS = ("errors.", *(option.name.removesuffix(".*") for option in exception_handlers.OPTIONS))


class OptionRow(NamedTuple):
    """An option as a client sees it: with its full name, the group of its step, and recommended values.

    `effective` is the value if none is given.
    """

    name: str
    option: Option
    group: str | None
    order: int
    label: str
    width: str
    default: str | None
    effective: str | None
    recommended: tuple[str, ...] = ()


def row_of(option: Option, prefix: str = "", recommended: Sequence[str] = ()) -> OptionRow:
    """Return the row of an option, named with the prefix of its converter."""
    form, default = option.form, default_text(option)
    group = form.group or (ERROR_HANDLING if option.name.startswith(_OF_ERRORS) else None)
    return OptionRow(
        name=prefix + option.name,
        option=option,
        group=group,
        order=form.order,
        label=form.label or option.name,
        width=form.width,
        default=default,
        effective=default,
        recommended=tuple(recommended),
    )


def definition(row: OptionRow) -> dict[str, Any]:
    """Return Kafka Connect's ConfigKeyInfo."""
    option = row.option
    return {
        "name": row.name,
        "type": _TYPES_OF.get(row.name) or _TYPES.get(option.type, option.type.upper()),
        "required": option.default is REQUIRED,
        "default_value": row.default,
        "importance": option.form.importance,
        "documentation": option.doc,
        "group": row.group,
        "width": row.width,
        "display_name": row.label,
        "dependents": [],
        "order": row.order,
    }


def definitions(rows: Iterable[OptionRow]) -> list[dict[str, Any]]:
    """Return the body of `GET /connector-plugins/<p>/config`."""
    return [definition(row) for row in rows]


def validation(
    plugin: str,
    rows: Sequence[OptionRow],
    properties: Mapping[str, str],
    problems: Iterable[Problem],
    warnings: Iterable[Problem],
    secrets: Collection[str] = (),
) -> dict[str, Any]:
    """Return the body of `PUT /connector-plugins/<p>/config/validate`: a row per option, with its errors.

    Kafka Connect has no `warnings`. They tell of options that are ignored or probably unintended.
    """
    wrong, doubtful = _messages(problems), _messages(warnings)
    shown = mask(properties, secrets)
    known = {row.name for row in rows}
    others = [name for name in {**wrong, **doubtful} if name not in known]
    bodies: list[dict[str, Any]] = [
        {"definition": definition(row), "value": _value(row, properties, shown, wrong)} for row in rows
    ]
    bodies += [{"definition": None, "value": _plain_value(name, shown.get(name), wrong)} for name in others]
    for body in bodies:
        if messages := doubtful.get(body["value"]["name"]):
            body["value"]["warnings"] = messages
    groups = list(dict.fromkeys(row.group for row in rows if row.group is not None))
    return {"name": plugin, "error_count": sum(map(len, wrong.values())), "groups": groups, "configs": bodies}


def default_text(option: Option) -> str | None:
    """Return the default as text, as Kafka Connect does."""
    if option.name in _DEFAULTS_OF:
        return _DEFAULTS_OF[option.name]
    match option.default:
        case None | dict():
            return None
        case default if default is REQUIRED:
            return None
        case _ if option.secret or option.type == "password":
            return MASK
        case bool():
            return "true" if option.default else "false"
        case tuple() | list():
            return ",".join(map(str, option.default))
    return str(option.default)


def _value(
    row: OptionRow, properties: Mapping[str, str], shown: Mapping[str, str], wrong: Mapping[str, list[str]]
) -> dict[str, Any]:
    """Return Kafka Connect's ConfigValueInfo: the effective value, or null for one that can't be parsed."""
    name = next((name for name in _spellings(row) if name in properties), row.name)
    value = shown.get(name, row.effective)
    if name in properties and (name in wrong or row.name in wrong) and _is_unreadable(row.option, properties[name]):
        value = None
    return {**_plain_value(row.name, value, wrong), "recommended_values": list(row.recommended)}


def _plain_value(name: str, value: str | None, wrong: Mapping[str, list[str]]) -> dict[str, Any]:
    return {
        "name": name,
        "value": value,
        "recommended_values": [],
        "errors": wrong.get(name, []),
        "visible": True,
    }


def _spellings(row: OptionRow) -> Iterable[str]:
    prefix = row.name.removesuffix(row.option.name)
    return (prefix + spelling for spelling in row.option.spellings)


def _is_unreadable(option: Option, text: str) -> bool:
    """Return whether the text is no value of the option's type. A class with a problem can't be loaded."""
    if option.type == "class":
        return option.name != "connector.class"
    try:
        convert(option.type, text)
    except ValueError:
        return True
    return False


def _messages(problems: Iterable[Problem]) -> dict[str, list[str]]:
    messages: dict[str, list[str]] = {}
    for option, _, message in problems:
        messages.setdefault(option, []).append(message)
    return messages

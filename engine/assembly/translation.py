"""A Java connector's configuration, translated for the engine's own class. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from engine.assembly.connector_classes import find_class
from engine.assembly.java.rows import PLACEHOLDER, JavaConnector, TranslatedOption, left_out, open_point
from engine.assembly.java_connectors import find_java_connector
from engine.config.connector import options_of_kind
from engine.config.masking import MASK, is_secret, mask_value
from engine.config.options import read, unknown_option_problems
from engine.config.properties import escaped
from engine.config.providers import has_reference
from engine.tasks.connector_class import ConnectorClass

T = TypeVar("T")

TOPIC = "${topic}"


@dataclass(frozen=True, slots=True)
class Translation:
    """The options in the order of the original. `equivalent` is None if there is no class; `reason` says why."""

    class_name: str
    equivalent: str | None
    options: tuple[TranslatedOption, ...] = ()
    reason: str = ""

    @property
    def properties(self) -> dict[str, str]:
        return {option.name: option.value for option in self.options if option.name}

    def lines(self) -> Iterator[str]:
        """Return the lines of a properties file, with a comment above each changed option."""
        for option in self.options:
            if option.comment:
                yield f"# {'TO DO: ' if option.is_open else ''}{escaped(option.comment)}"
            if option.name:
                yield f"{escaped(option.name, is_key=True)}={escaped(option.value)}"


def translate(properties: Mapping[str, str]) -> Translation:
    """Return the translation. The properties of a class that the engine has stay as they are."""
    name = properties.get("connector.class", "").strip()
    row = find_java_connector(name)
    if row is None:
        known, problems = find_class(name)
        if known is not None:
            same = tuple(TranslatedOption(option, value) for option, value in properties.items())
            return Translation(name, name, same)
        return Translation(name, None, reason=problems[0][2] if problems else "connector.class is not set")
    if row.equivalent is None:
        return Translation(name, None, reason=row.reason)
    own = {**properties, **{option: value for option, value in row.defaults.items() if option not in properties}}
    converted = row.convert(own)
    options = [_option(row, option, value.strip(), properties) for option, value in own.items()]
    return Translation(name, row.equivalent, tuple(_checked(row, [*options, *converted])))


def _option(row: JavaConnector, name: str, value: str, given: Mapping[str, str]) -> TranslatedOption:
    if name == "connector.class":
        return TranslatedOption(name, row.equivalent or "", f"{value}: {row.equivalent} is the engine's class")
    shown = _shown(row, name, value) + ("" if name in given else " (the default there)")
    # The name itself in one column comes before a family in the other.
    dropped = row.dropped.get(f"{name}={value}", None if name in row.fixed else _of_name(row.dropped, name))
    if dropped is not None:
        return left_out(f"{shown} is dropped: {dropped}")
    fixed = _of_name(row.fixed, name)
    values, meaning = fixed or ((value,), "the engine has no such option")
    same = [text for text in values if text.lower() == value.lower()]
    if not same:
        return open_point(f"{shown} has no equivalent: {meaning}")
    if _is_known(row, row.renamed.get(name, name)):
        return _kept(row, name, values[same[0]] if isinstance(values, Mapping) else same[0], shown, given)
    return left_out(f"{shown} is dropped: {meaning}") if fixed else open_point(f"{shown} has no equivalent: {meaning}")


def _kept(row: JavaConnector, name: str, value: str, shown: str, given: Mapping[str, str]) -> TranslatedOption:
    """Return the option under its name here. Placeholders are for names and URLs, which are fixed here."""
    new = row.renamed.get(name, name)
    comments = list[str]()
    if new != name:
        comments.append(f"{name} is {new} here")
        topics = [topic.strip() for topic in given.get("topics", "").split(",") if topic.strip()]
        if TOPIC in value and len(topics) != 1:
            text = f"{new} is the same for all topics; use one connector for each topic"
            return open_point(f"{shown} has no equivalent: {text}")
        if TOPIC in value:
            value = value.replace(TOPIC, topics[0])
            comments.append(f"{TOPIC} is the only topic")
        if part := PLACEHOLDER.search(value):
            text = f"{new} is the same for all records, so it can't have {part[0]}"
            return open_point(f"{shown} has no equivalent: {text}")
    if name not in given:
        comments.append(f"{row.defaults[name]} is the default there")
    comments += [row.notes[name]] if name in row.notes else []
    return TranslatedOption(new, value, "; ".join(comments))


def _of_name(column: Mapping[str, T], name: str) -> T | None:
    """Return the entry of an option, else that of the first family it belongs to."""
    families = (key for key in column if key.endswith(".*") and name.startswith(key.removesuffix("*")))
    key = name if name in column else next(families, None)
    return None if key is None else column[key]


def _is_known(row: JavaConnector, name: str) -> bool:
    known = _class_of(row)
    return not unknown_option_problems((*options_of_kind(known.kind), *(known.options or ())), {name: ""})


def _checked(row: JavaConnector, options: Iterable[TranslatedOption]) -> Iterator[TranslatedOption]:
    """Yield the options. Those that are set already, or have a value that the class refuses, are open."""
    seen = set[str]()
    for option in options:
        name, value = option.name, option.value
        shown = _shown(row, name, value) + (f" ({option.comment})" if option.comment else "")
        table = [one for one in _class_of(row).options or () if name in one.spellings]
        problems = [] if has_reference(name, value) else read(table, {name: value})[1]
        if name and name in seen:
            yield open_point(f"{shown} is left out: {name} has a value already")
        elif table and problems:
            yield open_point(f"{shown} has no equivalent: {name} {problems[0][2]}")
        else:
            seen.add(name)
            yield option


def _class_of(row: JavaConnector) -> ConnectorClass:
    known, _ = find_class(row.equivalent or "")
    assert known is not None
    return known


def _shown(row: JavaConnector, name: str, value: str) -> str:
    """Return the option for a comment, without secrets."""
    secrets = {one for option in _class_of(row).options or () if option.secret for one in option.spellings}
    return f"{name}={MASK if name in secrets or is_secret(name) else mask_value(value)}"

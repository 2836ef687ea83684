"""The creation of a source's missing topics, by Kafka Connect's `topic.creation.*` options."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.config.options import REQUIRED, FormField, Option, Problem, no_duplicates, read, valid

PREFIX = "topic.creation."
DEFAULT = "default"


@valid("names, without `default`, none of them twice")
def _names(value: tuple[str, ...]) -> str | None:
    if DEFAULT in value:
        return f"contains {DEFAULT}, which always exists; remove it"
    return no_duplicates(value)


@valid("regular expressions")
def _regexes(value: tuple[str, ...]) -> str | None:
    for text in value:
        try:
            re.compile(text)
        except re.error as error:
            return f"{text} is not a valid regular expression: {error}"
    return None


@valid("-1, or 1 to 32767")
def _positive(value: int) -> str | None:
    return (
        None if value == -1 or 1 <= value <= 32_767 else "must be between 1 and 32767, or -1 for the broker's default"
    )


# fmt: off: one row, one line
OPTIONS: tuple[Option, ...] = (
    Option(
        "topic.creation.groups",
        "list",
        (),
        "Names of topic groups, in addition to the default group.",
        _names,
        form=FormField("LOW", "Topic Creation", 1, "LONG", "Topic Creation Groups"),
    ),
    Option("topic.creation.*", "map", {}, "`topic.creation.<group>.partitions` and the other options of each group."),
)
GROUP: tuple[Option, ...] = (
    Option("include", "list", REQUIRED, "Regular expressions of the topics in the group.", _regexes),
    Option(
        "exclude",
        "list",
        (),
        "Regular expressions of the topics that are not in the group, even if included.",
        _regexes,
    ),
    Option(
        "partitions",
        "int",
        None,
        "The number of partitions of a new topic. Default: as in the default group.",
        _positive,
    ),
    Option(
        "replication.factor",
        "int",
        None,
        "The replication factor of a new topic. Default: as in the default group.",
        _positive,
    ),
)
DEFAULT_GROUP: tuple[Option, ...] = (
    Option(
        "partitions",
        "int",
        REQUIRED,
        "The number of partitions of a new topic; -1 means the broker's default.",
        _positive,
    ),
    Option(
        "replication.factor",
        "int",
        REQUIRED,
        "The replication factor of a new topic, at most the number of brokers.",
        _positive,
    ),
)
# fmt: on


@dataclass(frozen=True, slots=True)
class NewTopics:
    """A group of topics and their creation settings. −1 means the broker's default."""

    name: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    partitions: int
    replication_factor: int
    config: dict[str, str]

    def holds(self, topic: str) -> bool:
        """Return whether the topic belongs to the group."""
        return _matches(self.include, topic) and not _matches(self.exclude, topic)


def read_topic_creation(values: Mapping[str, Any]) -> tuple[tuple[NewTopics, ...], list[Problem]]:
    """Return the groups, the default group last, and all problems.

    There are no groups if no topics are to be created.
    """
    own: dict[str, str] = {name: text for name, text in values["topic.creation.*"].items() if name != "groups"}
    names = tuple(name for name in dict.fromkeys(values["topic.creation.groups"]) if name != DEFAULT)
    if not own and not names:
        return (), []
    found, config, problems = _read_group(own, DEFAULT, DEFAULT_GROUP)
    default = NewTopics(DEFAULT, (".*",), (), found["partitions"] or -1, found["replication.factor"] or -1, config)
    groups = []
    for name in names:
        found, config, more = _read_group(own, name, GROUP)
        partitions = found["partitions"] or default.partitions
        factor = found["replication.factor"] or default.replication_factor
        groups.append(NewTopics(name, found["include"] or (), found["exclude"], partitions, factor, config))
        problems += more
    starts = tuple(f"{name}." for name in (DEFAULT, *names))
    problems += [
        (PREFIX + name, text, "has no matching group; add the group to topic.creation.groups")
        for name, text in own.items()
        if not name.startswith(starts)
    ]
    return (*groups, default), problems


def disabled_warnings(properties: Mapping[str, str]) -> list[Problem]:
    """Return a warning for each option of a connector whose worker creates no topics."""
    text = "is ignored: the worker has topic.creation.enable=false"
    return [(name, value, text) for name, value in properties.items() if name.startswith(PREFIX)]


def group_of(groups: Sequence[NewTopics], topic: str) -> NewTopics | None:
    """Return the first group that holds the topic."""
    return next((group for group in groups if group.holds(topic)), None)


def _read_group(
    own: Mapping[str, str], name: str, options: Sequence[Option]
) -> tuple[dict[str, Any], dict[str, str], list[Problem]]:
    """Return the group's values, the topic options, and problems. Unknown names are topic options."""
    start = f"{name}."
    mine = {key.removeprefix(start): text for key, text in own.items() if key.startswith(start)}
    known = {option.name for option in options}
    prefix = PREFIX + start
    values, problems = read(options, {prefix + key: text for key, text in mine.items() if key in known}, prefix)
    return values, {key: text for key, text in mine.items() if key not in known}, problems


def _matches(regexes: Sequence[str], topic: str) -> bool:
    return any(re.fullmatch(regex, topic) for regex in regexes)

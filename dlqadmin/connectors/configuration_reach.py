"""Refuse configurations with which a connector of a team would read or write topics of others.

A connector copies whole topics. So people of a team configure connectors whose name is in reach, with topics in reach.
An option whose topics cannot be told from its text is refused for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from django.conf import settings
from rest_framework.exceptions import PermissionDenied, ValidationError

from dlqadmin.broker.topic_patterns import is_name
from dlqadmin.connectors.connect_clusters import is_in_reach
from dlqadmin.connectors.secret_addresses import CLASS
from dlqadmin.teams.reach import Reach, current_reach

READS = ("topics", "topics.regex")  # every sink and stream has one of them
_MIRROR = re.compile(r"(?:.*\.)?mirror[^.]*", re.IGNORECASE)  # the engine's classes and those of MirrorMaker 2
_KAFKA_SINK = "KafkaSink"  # of the engine
_TOPIC = re.compile(r"(?:^|\.)topics?(?:\.name|\.regex|\.prefix)?$", re.IGNORECASE)
# A source may name topics in options of its own, and its transforms choose the topics that it writes.
_OF_SOURCE = re.compile(r"(?!topic\.creation\.).*topic", re.IGNORECASE)
_ROUTING = re.compile(r"route|topic", re.IGNORECASE)
_NO_NAME = re.compile(r"true|false|-?\d+", re.IGNORECASE)
# A name, or a beginning and `.*`. Each dot of a name is escaped; a plain one would match any character.
_REGEX = re.compile(r"\^?(?P<name>(?:[\w-]|\\\.|\[\.\])+)(?P<rest>\.[*+])?\$?", re.ASCII)


def refuse_beyond_reach(name: str, config: Mapping[str, str]) -> None:
    """Raise PermissionDenied or ValidationError if the connector or one of its topics is out of reach."""
    reach = current_reach()
    if not reach.is_limited:
        return
    if not is_in_reach(name):
        raise PermissionDenied(f"No team in which you may configure connectors owns the name {name}.")
    if found := dict(_problems(config, reach)):
        raise ValidationError({option: [problem] for option, problem in found.items()})


def _problems(config: Mapping[str, str], reach: Reach) -> Iterator[tuple[str, str]]:
    """Yield options with a problem. A configuration that names no topic has one too: its class may choose topics."""
    is_source = not any(config.get(option) for option in READS)
    named = [option for option, value in config.items() if value.strip() and _names_topics(option, value, is_source)]
    if not named:
        yield READS[0], "must name the topics, because the connector may read or write only those of your teams."
    if _MIRROR.fullmatch(config.get(CLASS, "").strip()):
        yield CLASS, "copies topics by patterns. Only people who may operate all topics can configure it."
    if config.get(CLASS, "").strip() == _KAFKA_SINK and not config.get("topic", "").strip():
        yield "topic", "must name a topic of your teams. Without it, transforms choose the topics."
    for option in named:
        if problem := _problem(option, config[option].strip(), reach):
            yield option, problem
    for option, value in config.items():
        is_transform = option.startswith("transforms.") and option.endswith(".type")
        if is_source and is_transform and _ROUTING.search(value):
            yield option, "chooses the topics. Only people who may operate all topics can configure it."


def _names_topics(option: str, value: str, is_source: bool) -> bool:
    if _TOPIC.search(option):
        return True
    return is_source and _OF_SOURCE.match(option) is not None and not _NO_NAME.fullmatch(value)


def _problem(option: str, value: str, reach: Reach) -> str:
    if option.endswith(".regex"):
        return _problem_of_regex(value, reach)
    if option.endswith(".prefix"):
        return "" if _has_all_beginning(value, reach) else f"Topics beginning with {value} are not all of your teams."
    others = [one for one in map(str.strip, value.split(",")) if one and not _has(one, reach)]
    return f"{others[0]} is not a topic of your teams." if others else ""


def _problem_of_regex(value: str, reach: Reach) -> str:
    found = _REGEX.fullmatch(value)
    if found is None:
        return r"can't be compared with the topics of your teams. Write a beginning and .*, such as orders\..*"
    name = found["name"].replace("\\.", ".").replace("[.]", ".")
    own = _has_all_beginning(name, reach) if found["rest"] else _has(name, reach)
    return "" if own else "matches topics that are not of your teams."


def _has(topic: str, reach: Reach) -> bool:
    return is_name(topic) and reach.has_topic(topic, settings.CLUSTER)


def _has_all_beginning(beginning: str, reach: Reach) -> bool:
    return is_name(beginning) and reach.has_topics_beginning(beginning, settings.CLUSTER)

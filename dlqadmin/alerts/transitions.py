"""Decide which firings begin, last and end. Pure: evaluation and preview share it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple, Protocol, TypeVar

from dlqadmin.alerts.conditions import NEW_GROUP, Subject, SubjectMatch
from dlqadmin.alerts.facts import AlertFacts
from dlqadmin.deadletters.group_states import NEW_FOR, mute_ended
from dlqadmin.deadletters.models import GroupStatus


class ActiveFiring(Protocol):
    """The part of a firing that decides whether it lasts."""

    @property
    def condition(self) -> str: ...
    @property
    def event(self) -> str: ...
    @property
    def started_at(self) -> datetime: ...


Active = TypeVar("Active", bound=ActiveFiring)


class Transitions(NamedTuple):
    """The changes of one rule's subjects. A subject whose event is another one is in `ended` and in `opened`."""

    opened: list[SubjectMatch]
    lasting: list[tuple[Subject, SubjectMatch | None]]
    ended: list[Subject]


def transitions(
    active: Mapping[Subject, Active],
    found: Mapping[Subject, SubjectMatch],
    told_new: Collection[str],
    facts: AlertFacts,
) -> Transitions:
    """Return the changes. `told_new` are the keys of groups about which the rule had a firing at any time before."""
    opened, lasting, ended = [], [], []
    for subject, firing in active.items():
        match = found.get(subject)
        if match is not None and match.condition == NEW_GROUP != firing.condition:
            match = None  # it opens nothing again, so it keeps nothing open
        if match is not None and match.event and firing.event and match.event != firing.event:
            ended.append(subject)
            opened.append(match)
        elif match is not None or _still_new(subject, firing, facts):
            lasting.append((subject, match))
        else:
            ended.append(subject)
    for subject, match in found.items():
        if subject not in active and not (match.condition == NEW_GROUP and subject[1] in told_new):
            opened.append(match)
    return Transitions(opened, lasting, ended)


def _still_new(subject: Subject, firing: ActiveFiring, facts: AlertFacts) -> bool:
    """Return whether a firing about a new group lasts: for a day, while nobody resolved, muted or merged the group."""
    if firing.condition != NEW_GROUP or facts.at - firing.started_at >= NEW_FOR:
        return False
    group = facts.groups.get(int(subject[1]))
    return group is not None and (group.status == GroupStatus.OPEN or mute_ended(group, facts.at))

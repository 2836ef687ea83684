"""The state of a group, computed from its counts. Pure functions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, get_args

from dlqadmin.deadletters.models import Group, GroupStatus

HOUR = timedelta(hours=1)
NEW_FOR = 24 * HOUR
ESCALATING_FROM = 10
ESCALATING_FACTOR = 3.0
GroupState = Literal["new", "ongoing", "regressed", "escalating", "muted", "resolved"]
STATES: tuple[GroupState, ...] = get_args(GroupState)
# The states that each tab of the list shows.
TABS: dict[str, frozenset[GroupState]] = {
    "unresolved": frozenset({"new", "ongoing", "regressed", "escalating"}),
    "new": frozenset({"new"}),
    "regressed": frozenset({"regressed"}),
    "escalating": frozenset({"escalating"}),
    "muted": frozenset({"muted"}),
    "resolved": frozenset({"resolved"}),
}
# The fields of a group that hold people's decisions about it.
DECIDED = (
    "status",
    "resolved_at",
    "regressed_at",
    "muted_at",
    "mute_until",
    "mute_count",
    "mute_rate",
    "muted_events",
)


def mute_ended(group: Group, now: datetime) -> bool:
    """Return whether the time of the group's mute is over."""
    return group.status == GroupStatus.MUTED and group.mute_until is not None and group.mute_until <= now


def state(group: Group, now: datetime, last_hour: int, day_before: int) -> GroupState:
    """Return the state of a group. A person's decision takes precedence over counts.

    Escalating: at least 10 events in the last hour or so, and three times the hourly mean of the 24 hours
    before.
    """
    if group.status != GroupStatus.OPEN and not mute_ended(group, now):
        return "muted" if group.status == GroupStatus.MUTED else "resolved"
    if group.regressed_at is not None:
        return "regressed"
    if now - group.first_seen < NEW_FOR:
        return "new"
    if last_hour >= ESCALATING_FROM and last_hour >= ESCALATING_FACTOR * day_before / 24:
        return "escalating"
    return "ongoing"

"""What a group is to the people on call: one word, decided from what is counted. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from dlqadmin.deadletters.models import Group, GroupStatus

NEW_FOR = timedelta(hours=24)
ESCALATING_FROM = 10
ESCALATING_FACTOR = 3.0
STATES = ("new", "ongoing", "regressed", "escalating", "muted", "resolved")
# What each tab of the list holds.
TABS: dict[str, frozenset[str]] = {
    "unresolved": frozenset({"new", "ongoing", "regressed", "escalating"}),
    "new": frozenset({"new"}),
    "regressed": frozenset({"regressed"}),
    "escalating": frozenset({"escalating"}),
    "muted": frozenset({"muted"}),
    "resolved": frozenset({"resolved"}),
}


def state(group: Group, now: datetime, last_hour: int, day_before: int) -> str:
    """The state of a group; a decision of people comes before what is counted.

    Escalating: at least 10 events in the last hour or so, and three times the hourly mean of the 24 hours before.
    """
    if group.status != GroupStatus.OPEN:
        return str(group.status)
    if group.regressed_at is not None:
        return "regressed"
    if now - group.first_seen < NEW_FOR:
        return "new"
    if last_hour >= ESCALATING_FROM and last_hour >= ESCALATING_FACTOR * day_before / 24:
        return "escalating"
    return "ongoing"

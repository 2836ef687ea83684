"""Owners of groups by rule: of new groups, and of those that nobody owns."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dlqadmin.deadletters.index.group_titles import short
from dlqadmin.deadletters.models import OwnershipRule
from dlqadmin.teams.patterns import is_match


class OwnedFailure(msgspec.Struct, frozen=True):
    """The facts of a failure that rules match: the dead letter topic, the connector and the exception class."""

    topic: str
    connector: str
    exception: str


def rules() -> list[OwnershipRule]:
    """Return the rules in order, with their owners."""
    return list(OwnershipRule.objects.select_related("owner", "team"))


def first_match(found: Sequence[OwnershipRule], failure: OwnedFailure) -> OwnershipRule | None:
    """Return the first rule that matches this failure. An exception also matches by its short name."""
    return next((rule for rule in found if _matches(rule, failure)), None)


def owner_text(rule: OwnershipRule) -> str:
    """Return the sentence for a group's history."""
    who = f"team {rule.team}" if rule.team else str(rule.owner)
    return f"assigned to {who} by an ownership rule"


def _matches(rule: OwnershipRule, failure: OwnedFailure) -> bool:
    return (
        (not rule.topic or is_match(rule.topic, failure.topic))
        and (not rule.connector or is_match(rule.connector, failure.connector))
        and (
            not rule.exception
            or is_match(rule.exception, failure.exception)
            or is_match(rule.exception, short(failure.exception))
        )
    )

"""The masking rules that hold for a person, and those of them that hold for one record."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec
from django.contrib.auth.models import User
from django.db.models import Max

from dlqadmin.masking.masks import FieldMask, RecordMasks
from dlqadmin.masking.models import MaskingRule
from dlqadmin.teams.models import TeamRoleName
from dlqadmin.teams.patterns import owns
from dlqadmin.teams.reach import teams_with_roles

_OF_USER = "_masking_rules"  # an attribute of the user


class TopicMask(msgspec.Struct, frozen=True):
    """A mask, and the patterns of the topics that it is for."""

    topics: tuple[str, ...]
    mask: FieldMask

    def covers(self, cluster: str, names: Iterable[str]) -> bool:
        """Return whether the rule is for records of one of these topics."""
        return any(owns(self.topics, cluster, name) for name in names)


def rules_for(user: Any) -> tuple[TopicMask, ...]:
    """Return the masks for this person: those of all active rules that do not except one of their roles.

    They are read once for a user object, and each request loads its own user.
    """
    known: tuple[TopicMask, ...] | None = getattr(user, _OF_USER, None)
    if known is None:
        rows = MaskingRule.objects.filter(is_active=True)
        known = tuple(topic_mask(row) for row in rows if not is_excepted(user, row.except_roles))
        if user is not None:
            setattr(user, _OF_USER, known)
    return known


def active_masks() -> tuple[TopicMask, ...]:
    """Return the masks of all active rules: each holds for somebody."""
    return tuple(topic_mask(row) for row in MaskingRule.objects.filter(is_active=True))


def is_written_before(started_at: datetime | None, user: Any) -> bool:
    """Return whether a file that was begun at this time may lack masks that hold for this person now."""
    if not rules_for(user):
        return False
    last = MaskingRule.objects.aggregate(last=Max("changed_at"))["last"]
    return started_at is None or (last is not None and last >= started_at)


def topic_mask(row: MaskingRule) -> TopicMask:
    """Return the mask of a rule, which need not be saved."""
    return TopicMask(tuple(row.topics), FieldMask(row.kind, row.field, row.show))


def masks_of(rules: Sequence[TopicMask], cluster: str, names: Collection[str]) -> RecordMasks | None:
    """Return the masks of records that have one of these topics; None if nothing is masked."""
    return _masks_of(tuple(rules), cluster, tuple(names))


@lru_cache(1024)  # the records of a list are of few topics
def _masks_of(rules: tuple[TopicMask, ...], cluster: str, names: tuple[str, ...]) -> RecordMasks | None:
    found = tuple(rule.mask for rule in rules if rule.covers(cluster, names))
    return RecordMasks(found) if found else None


def is_excepted(user: Any, roles: Iterable[dict[str, Any]]) -> bool:
    """Return whether the person has one of these roles. An API token must cover the role too."""
    return isinstance(user, User) and user.is_active and any(_has(user, one["team"], one["role"]) for one in roles)


def _has(user: User, team: int | None, role: str) -> bool:
    scopes = getattr(user, "token_scopes", None)
    if scopes is not None and role not in scopes:  # no scope covers the role admin
        return False
    only = getattr(user, "token_team", None)
    if team is not None:
        return only in (None, team) and team in teams_with_roles(user, (role,))
    if only is not None:
        return False
    return user.is_superuser if role == TeamRoleName.ADMIN else user.groups.filter(name=role).exists()

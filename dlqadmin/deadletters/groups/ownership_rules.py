"""Ownership rules: replace them, preview them, and apply them to groups that nobody owns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from dlqadmin.audit.entries import record
from dlqadmin.deadletters.index import ownership
from dlqadmin.deadletters.models import FingerprintSource, Group, GroupActivity, OwnershipRule
from dlqadmin.rest.problems import ParameterError
from dlqadmin.teams.models import Team


def read(rows: Sequence[dict[str, Any]]) -> list[OwnershipRule]:
    """Return rules from the bodies of a request, not saved. Raises ParameterError for an owner that does not exist."""
    people = User.objects.in_bulk([row["username"] for row in rows if row["username"]], field_name="username")
    teams = Team.objects.in_bulk([row["team"] for row in rows if row["team"]], field_name="name")
    made = []
    for position, row in enumerate(rows):
        owner, team = people.get(row["username"] or ""), teams.get(row["team"] or "")
        if (owner is None) == (team is None):
            raise ParameterError("rules", f"rule {position + 1} needs either a user or a team that exists")
        made.append(
            OwnershipRule(
                position=position,
                topic=row["topic"],
                connector=row["connector"],
                exception=row["exception"],
                owner=owner,
                team=team,
            )
        )
    return made


def replace(rows: Sequence[OwnershipRule], actor: User) -> None:
    """Replace all rules. Groups keep the owners that they have."""
    with transaction.atomic():
        before = [_text(rule) for rule in ownership.rules()]
        OwnershipRule.objects.all().delete()
        OwnershipRule.objects.bulk_create(rows)
        after = [_text(rule) for rule in rows]
        if before != after:
            record(actor, "changed", "ownership rules", "", {"rules": {"before": before, "after": after}})


def unowned_matches(rules: Sequence[OwnershipRule]) -> list[tuple[Group, OwnershipRule]]:
    """Return the groups that nobody owns and that a rule gives to somebody, with the rule."""
    groups = {row.pk: row for row in Group.objects.filter(owner=None, team=None, merged_into=None)}
    sources = FingerprintSource.objects.filter(fingerprint__group_id__in=groups).order_by("fingerprint_id", "pk")
    found: dict[int, OwnershipRule] = {}
    rows = sources.values_list("fingerprint__group_id", "topic", "connector", "fingerprint__exception_class")
    for group, *failure in rows.iterator():
        if group not in found and (rule := ownership.first_match(rules, ownership.OwnedFailure(*failure))):
            found[group] = rule
    return [(groups[group], rule) for group, rule in found.items()]


def preview(rules: Sequence[OwnershipRule]) -> list[int]:
    """Return for each rule the number of groups that nobody owns and that it would assign."""
    counted = Counter(rule.position for _, rule in unowned_matches(rules))
    return [counted[rule.position] for rule in rules]


def apply(actor: User, now: datetime) -> int:
    """Assign the groups that nobody owns by the saved rules; return how many were assigned."""
    assigned = 0
    for found, rule in unowned_matches(ownership.rules()):
        with transaction.atomic():
            free = Group.objects.filter(pk=found.pk, owner=None, team=None)  # somebody may have assigned it meanwhile
            if free.update(owner_id=rule.owner_id, team_id=rule.team_id):
                text = ownership.owner_text(rule)
                GroupActivity.objects.create(
                    group_id=found.pk, at=now, actor=actor.get_username(), kind="assigned", text=text
                )
                record(actor, "assigned", "group", str(found.pk), {"text": text})
                assigned += 1
    return assigned


def _text(rule: OwnershipRule) -> str:
    parts = _named(("topic", rule.topic), ("connector", rule.connector), ("exception", rule.exception))
    return f"{' '.join(parts) or 'everything'} to {f'team {rule.team}' if rule.team else rule.owner}"


def _named(*parts: tuple[str, str]) -> Iterable[str]:
    return (f"{name}:{value}" for name, value in parts if value)

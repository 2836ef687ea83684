"""The time of each person's last activity, from their sign-ins, sessions and API tokens."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Max

from dlqadmin.accounts.models import ApiToken, LastSeen


def note(user: int, now: datetime) -> None:
    """Record the activity of a session's user. The caller limits how often."""
    if User.objects.filter(pk=user).exists():  # a session may outlive its user
        LastSeen.objects.update_or_create(user_id=user, defaults={"at": now})


def last_seen(users: Iterable[int]) -> dict[int, datetime]:
    """Return the last activity of these users. Users without any are left out."""
    wanted = list(users)
    rows = (
        *User.objects.filter(pk__in=wanted).values_list("pk", "last_login"),
        *LastSeen.objects.filter(user__in=wanted).values_list("user_id", "at"),
        *ApiToken.objects.filter(owner__in=wanted).values_list("owner_id").annotate(Max("last_used_at")),
    )
    found: dict[int, datetime] = {}
    for user, at in rows:
        if at is not None and (user not in found or at > found[user]):
            found[user] = at
    return found

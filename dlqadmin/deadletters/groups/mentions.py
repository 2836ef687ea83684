"""Mentions of people in notes on groups: `@operator-1`."""

from __future__ import annotations

import re
from datetime import datetime
from functools import partial

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from dlqadmin.audit.permissions import VIEW, has_permission, reach_of
from dlqadmin.deadletters.groups.safe_titles import safe_title
from dlqadmin.deadletters.models import Group, GroupActivity, Mention
from dlqadmin.masking.rules import rules_for
from dlqadmin.notifications import emails, tasks
from dlqadmin.notifications.deliveries import subject_line
from dlqadmin.teams.reach import reaching

MOST = 20  # people of one note
_MENTION = re.compile(r"(?<![\w@])@([\w.+-][\w.@+-]{0,149})")  # Django's characters of user names


def names_in(text: str) -> list[str]:
    """Return the names that a text mentions, in order. A full stop at the end belongs to the sentence."""
    found = dict.fromkeys(name for match in _MENTION.finditer(text) for name in (match[1], match[1].rstrip(".-+")))
    return [name for name in found if name]


def tell(note: GroupActivity, link: str) -> None:
    """Create the mentions of a note, of active people who may see its group. E-mail those who have an address."""
    wanted = names_in(note.text)[: 2 * MOST]
    people = User.objects.filter(username__in=wanted, is_active=True).exclude(username=note.actor)
    seers = [person for person in people[:MOST] if _may_see(person, note.group_id)]
    Mention.objects.bulk_create([Mention(user=person, note=note) for person in seers], ignore_conflicts=True)
    for person in seers:
        _mail(person, note, link)


def of(user: User) -> QuerySet[Mention]:
    """Return the mentions of a person, newest first, with their notes and groups."""
    return Mention.objects.filter(user=user).select_related("note__group").order_by("-pk")


def mark_seen(user: User, now: datetime) -> int:
    """Mark all mentions of the person as seen; return how many were not."""
    return Mention.objects.filter(user=user, seen_at=None).update(seen_at=now)


def _may_see(person: User, group: int) -> bool:
    if not has_permission(person, VIEW):
        return False
    with reaching(reach_of(person, VIEW)):
        return Group.objects.filter(pk=group).exists()


def _mail(person: User, note: GroupActivity, link: str) -> None:
    """E-mail a person after the commit. Nothing of it can fail the note."""
    if not settings.EMAIL_HOST or emails.target_problem(person.email):
        return
    # The title may quote values that are masked for this person.
    title = safe_title(note.group_id) if rules_for(person) else note.group.title
    subject = subject_line(f"{note.actor} mentioned you: {title}")
    body = f"{note.actor} wrote about {title}:\n\n{note.text}\n\n{link}\n"
    transaction.on_commit(partial(tasks.mail_person, person.email, subject, body), robust=True)

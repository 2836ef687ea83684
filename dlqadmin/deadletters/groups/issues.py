"""Issue trackers, and the issues that groups are linked to."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from dlqadmin.audit.entries import record
from dlqadmin.deadletters.groups.triage import record_action
from dlqadmin.deadletters.models import GroupIssue, IssueTracker
from dlqadmin.notifications.models import Channel, ChannelKind
from dlqadmin.rest.problems import ParameterError, StateConflict

HOLES = ("title", "message", "group", "topic", "connector", "link")
MOST_ISSUES = 50  # of one group


def check_address(parameter: str, address: str) -> None:
    """Raise ParameterError unless the text is the address of a page: http or https, with a host, no credentials."""
    try:
        parts = urlsplit(address)
    except ValueError:
        raise ParameterError(parameter, "is not an address") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ParameterError(parameter, "must be an address that begins with https:// or http://")


def check_template(template: str) -> None:
    """Raise ParameterError for a template with an unknown hole, or with a hole in its scheme or host."""
    check_address("template", template)
    rest = template
    for hole in HOLES:
        rest = rest.replace(f"{{{hole}}}", "")
    if "{" in rest or "}" in rest:
        known = ", ".join(f"{{{hole}}}" for hole in HOLES)
        raise ParameterError("template", f"may contain only {known}")
    if "{" in urlsplit(template).netloc:
        raise ParameterError("template", "must name its host")


def save_tracker(tracker: IssueTracker, form: dict[str, Any], actor: User, now: datetime) -> IssueTracker:
    """Save a tracker. Raises ParameterError, or StateConflict if another tracker has the name."""
    check_template(form["template"])
    tracker.name, tracker.template, tracker.actor, tracker.at = form["name"], form["template"], str(actor), now
    tracker.channel = _webhook(form["channel"])
    try:
        with transaction.atomic():
            tracker.save()
            webhook = str(tracker.channel) if tracker.channel else ""
            record(actor, "saved", "issue tracker", tracker.name, {"template": tracker.template, "webhook": webhook})
    except IntegrityError:
        raise StateConflict("There is already an issue tracker with this name.") from None
    return tracker


def delete_tracker(tracker: IssueTracker, actor: User) -> None:
    """Delete a tracker. Links to its issues stay."""
    with transaction.atomic():
        record(actor, "deleted", "issue tracker", tracker.name, {"template": tracker.template})
        tracker.delete()


def link(group: int, name: str, url: str, actor: User, now: datetime) -> GroupIssue:
    """Link a group to an issue. Linking it again returns the first link."""
    check_address("url", url)
    with transaction.atomic():
        if known := GroupIssue.objects.filter(group_id=group, url=url).first():
            return known
        if GroupIssue.objects.filter(group_id=group).count() >= MOST_ISSUES:
            raise StateConflict(f"The group has {MOST_ISSUES} links, the maximum. Remove one first.")
        made = GroupIssue.objects.create(group_id=group, name=name, url=url, actor=str(actor), at=now)
        record_action([group], actor, "linked", f"linked to {name}", now)
    return made


def unlink(issue: GroupIssue, actor: User, now: datetime) -> None:
    """Remove the link from a group to an issue."""
    with transaction.atomic():
        record_action([issue.group_id], actor, "unlinked", f"removed the link to {issue.name}", now)
        issue.delete()


def _webhook(pk: int | None) -> Channel | None:
    if pk is None:
        return None
    found = Channel.objects.filter(pk=pk, kind=ChannelKind.WEBHOOK).first()
    if found is None:
        raise ParameterError("channel", "must be the id of a webhook channel")
    return found

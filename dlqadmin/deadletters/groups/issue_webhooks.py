"""Create issues by the webhooks of issue trackers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from rest_framework.exceptions import APIException

from dlqadmin.deadletters.groups import issues
from dlqadmin.deadletters.groups.safe_titles import safe_title
from dlqadmin.deadletters.groups.triage import lock_groups
from dlqadmin.deadletters.models import FingerprintSource, Group, GroupIssue, IssueRequest, IssueTracker
from dlqadmin.masking.rules import rules_for
from dlqadmin.notifications import webhooks
from dlqadmin.notifications.models import ChannelKind
from dlqadmin.notifications.results import SendAccepted
from dlqadmin.notifications.sealed_text import UnreadableText
from dlqadmin.rest.idempotency import RequestKey, made_by
from dlqadmin.rest.problems import ParameterError, StateConflict
from dlqadmin.rest.times import iso

EVENT = "issue.create"
ONE_ISSUE_FOR = timedelta(minutes=1)  # repeated requests for an issue of the same group return the first one
KEPT_FOR = timedelta(days=1)  # idempotency keys
MOST_SOURCES = 50
UNDER_WAY = "The issue is being created. Wait a few seconds, and look at the links of the group."


class BadTrackerAnswer(APIException):
    """The tracker's webhook did not create an issue."""

    status_code = 502
    default_code = "bad_answer"


def create(found: Group, tracker: IssueTracker, link: str, actor: User, once: RequestKey) -> GroupIssue:
    """Ask the tracker's webhook for an issue, and link the group to it.

    Within a minute, repeats return the first issue. Raises ParameterError for a tracker without a webhook,
    StateConflict while another request creates the issue, BadTrackerAnswer.
    """
    if tracker.channel is None or tracker.channel.kind != ChannelKind.WEBHOOK:
        raise ParameterError("tracker", "has no webhook")
    asked = _claim(found, tracker, once, timezone.now())
    if asked.issue is not None:
        return asked.issue
    try:
        name, url = _ask(found, tracker, link, actor, _message_id(asked))
        with transaction.atomic():
            made = issues.link(found.pk, name, url, actor, timezone.now())
            IssueRequest.objects.filter(pk=asked.pk).update(issue=made)
    except BaseException:  # also when the worker is told to end
        asked.delete()  # a later click may ask again
        raise
    return made


def _claim(found: Group, tracker: IssueTracker, once: RequestKey, now: datetime) -> IssueRequest:
    """Return the new request for an issue, or an earlier one that has its issue. Raises StateConflict."""
    try:
        with transaction.atomic():
            lock_groups([found.pk])  # two clicks at once wait for each other here
            IssueRequest.objects.filter(at__lt=now - KEPT_FOR).delete()
            recent = IssueRequest.objects.filter(group=found, tracker=tracker, at__gt=now - ONE_ISSUE_FOR)
            known = made_by(IssueRequest, once) or recent.order_by("pk").last()
            if known is None:
                key = {"idempotency_key": once.key, "request_digest": once.digest}
                return IssueRequest.objects.create(group=found, tracker=tracker, at=now, **key)
    except IntegrityError:  # the same key came for two groups at once
        raise StateConflict(UNDER_WAY) from None
    if known.issue is None:
        raise StateConflict(UNDER_WAY)
    return known


def _message_id(asked: IssueRequest) -> str:
    """Return the id of the message. A click that is repeated after an error sends the same id."""
    seed = asked.idempotency_key or f"request {asked.pk} {asked.at.isoformat()}"
    return f"issue_{hashlib.sha256(seed.encode()).hexdigest()[:32]}"


def _ask(found: Group, tracker: IssueTracker, link: str, actor: User, message_id: str) -> tuple[str, str]:
    """Return the name and the address of the new issue. Raises BadTrackerAnswer."""
    now = timezone.now()
    assert tracker.channel is not None
    facts = {"id": message_id, "event": EVENT, "sent_at": iso(now), "tracker": tracker.name, "link": link}
    body = orjson.dumps({**facts, "asked_by": actor.get_username(), "group": _group_facts(found)})
    try:
        answer = webhooks.post(tracker.channel, message_id, body, now)
    except UnreadableText as error:
        raise BadTrackerAnswer(f"{tracker.name} was not asked: {error}") from None
    if not isinstance(answer.result, SendAccepted):
        raise BadTrackerAnswer(f"{tracker.name} created no issue: {answer.result.text}")
    return _read(tracker.name, answer.body)


def _read(tracker: str, body: bytes) -> tuple[str, str]:
    expected = f'{tracker} must answer {{"url": "https://…", "name": "…"}}'
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise BadTrackerAnswer(f"{expected}, but its answer is no JSON.") from None
    if not isinstance(said, Mapping) or not _is_text(said.get("url"), 1000) or not _is_text(said.get("name"), 100):
        raise BadTrackerAnswer(f"{expected}, but its answer lacks one of the two, or one is too long.")
    try:
        issues.check_address("url", said["url"])
    except ParameterError:
        raise BadTrackerAnswer(f"{expected}, but its url is not the address of a page.") from None
    return said["name"], said["url"]


def _is_text(value: object, most: int) -> bool:
    return isinstance(value, str) and len(value.strip()) > 0 and len(value) <= most and value.isprintable()


def _group_facts(found: Group) -> dict[str, Any]:
    """Return what the receiver learns about the group. It holds no content of records.

    Titles and messages of groups may quote masked values. A tracker has no rights, so with any masking rule in force
    it gets the exception and the stage instead.
    """
    sources = FingerprintSource.objects.filter(fingerprint__group=found)
    is_masked = bool(rules_for(None))
    messages = [] if is_masked else _distinct(found.fingerprints.values_list("message", flat=True))
    return {
        "id": found.pk,
        "title": safe_title(found.pk) if is_masked else found.title,
        "exceptions": _distinct(found.fingerprints.values_list("exception_class", flat=True)),
        "messages": messages,
        "topics": _distinct(sources.values_list("topic", flat=True)),
        "connectors": _distinct(sources.values_list("connector", flat=True)),
        "first_seen": iso(found.first_seen),
        "last_seen": iso(found.last_seen),
    }


def _distinct(values: Any) -> list[str]:
    return sorted(filter(None, values.order_by().distinct()[:MOST_SOURCES]))

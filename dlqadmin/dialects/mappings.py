"""Save and retire mappings, and read topics again with them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from dlqadmin.audit.entries import record
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters import tasks
from dlqadmin.deadletters.index import rereads
from dlqadmin.deadletters.index.active_mappings import forget_active_mappings
from dlqadmin.deadletters.index.followed_topics import followed_topics
from dlqadmin.deadletters.models import IndexPosition, MappingVersion
from dlqadmin.jobs import messages
from dlqadmin.rest.problems import StateConflict, UpstreamUnavailable
from dlqadmin.teams.patterns import owns
from dlqadmin.teams.reach import current_reach, remembered
from engine import dialects
from engine.dialects.mapping import Mapping, problems_of

MAX_MAPPINGS = 200


def versions(name: str) -> list[MappingVersion]:
    """Return the versions of a mapping that cover topics in reach, the newest first."""
    rows = MappingVersion.objects.filter(cluster=settings.CLUSTER, name=name).order_by("-version")
    return [row for row in rows if topics_in_reach(row.document["topics"]) or not current_reach().is_limited]


def newest() -> list[MappingVersion]:
    """Return the newest version of each mapping, by name."""
    rows = MappingVersion.objects.filter(cluster=settings.CLUSTER).order_by("name", "version")
    return list({row.name: row for row in rows}.values())


def topics_in_reach(topics: Iterable[str]) -> list[str]:
    """Return the names and patterns of a mapping that cover topics in reach.

    A pattern is in reach if it covers an indexed topic in reach, or if a team owns all names that it covers.
    """
    reach = current_reach()
    if not reach.is_limited:
        return list(topics)
    rows = IndexPosition.objects.filter(cluster=settings.CLUSTER).order_by()
    indexed = remembered("mapped topics", lambda _: list(rows.values_list("topic", flat=True).distinct()))
    return [
        topic
        for topic in topics
        if reach.has_topic(topic, settings.CLUSTER) or any(owns([topic], settings.CLUSTER, name) for name in indexed)
    ]


def save(user: Any, mapping: Mapping, opened: int | None, reason: str) -> MappingVersion:
    """Store a new version and use it from now on.

    Raises ValidationError, and StateConflict if the newest version is not `opened`.
    """
    if problems := [*problems_of(mapping, dialects.NAMES), *_problems_of_topics(mapping)]:
        raise ValidationError({"mapping": problems})
    try:
        with transaction.atomic():
            row = _store(user, mapping, opened, reason)
    except IntegrityError:  # somebody saved the same version at the same time
        raise _changed(mapping.name) from None
    forget_active_mappings()
    return row


def retire(user: Any, name: str, reason: str) -> None:
    """Stop using a mapping. Its versions stay, and saving it again makes a new one."""
    with transaction.atomic():
        if not MappingVersion.objects.filter(cluster=settings.CLUSTER, name=name, is_active=True).update(
            is_active=False
        ):
            raise StateConflict(f"The mapping {name} is not in use.")
        record(user, "retire mapping", "mapping", name, {"reason": reason})
    forget_active_mappings()


def reread(user: Any, topic: str, reason: str) -> None:
    """Read a dead letter topic of the current cluster again in the background.

    Raises ValidationError if the index does not read the topic, UpstreamUnavailable.
    """
    if not followed_topics().follows(topic):
        raise ValidationError({"topic": [f"The index does not read {topic}. Add it in Settings → Clusters first."]})
    try:
        with transaction.atomic():
            job = rereads.start(topic, user.get_username())
            detail = {"reason": reason, "offsets": job.total, "cluster": job.cluster}
            record(user, "reread topic", "topic", topic, detail)
    except BrokerUnavailable as error:
        raise UpstreamUnavailable(f"Kafka did not answer: {error}") from error
    messages.send(tasks.reread_topics, (), f"the reread of {topic}")


def _store(user: Any, mapping: Mapping, opened: int | None, reason: str) -> MappingVersion:
    found = MappingVersion.objects.filter(cluster=settings.CLUSTER, name=mapping.name)
    last = found.select_for_update().order_by("-version").first()
    if (last.version if last else None) != opened:
        raise _changed(mapping.name)
    if last is None and len(newest()) >= MAX_MAPPINGS:
        raise ValidationError({"mapping": [f"There are {MAX_MAPPINGS} mappings already."]})
    found.filter(is_active=True).update(is_active=False)
    row = MappingVersion.objects.create(
        cluster=settings.CLUSTER,
        name=mapping.name,
        version=(last.version if last else 0) + 1,
        document=msgspec.to_builtins(mapping),
        actor=user.get_username(),
        reason=reason,
        at=timezone.now(),
    )
    detail = {"reason": reason, "version": row.version, "topics": list(mapping.topics)}
    record(user, "save mapping", "mapping", mapping.name, detail)
    return row


def _changed(name: str) -> StateConflict:
    return StateConflict(f"Somebody saved another version of the mapping {name} meanwhile. Load it and compare.")


def _problems_of_topics(mapping: Mapping) -> list[str]:
    """Return a problem if the mapping covers no topic, or one that another mapping in use names too."""
    if not any(topic.strip() for topic in mapping.topics):
        return ["topics: name at least one topic, or a pattern such as *-errors"]
    others = MappingVersion.objects.filter(cluster=settings.CLUSTER, is_active=True).exclude(name=mapping.name)
    named = {topic: other.name for other in others for topic in other.document.get("topics", [])}
    return [f"topics: {topic} belongs to the mapping {named[topic]}" for topic in mapping.topics if topic in named]

"""Share groups (KIP-932), as far as the broker's dead letters name them (KIP-1191).

librdkafka 2.16 neither lists nor describes share groups, so Kafka seems to have no such group.
"""

from __future__ import annotations

from collections.abc import Iterable

from dlqadmin.broker import clusters
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import ReplayItem
from engine.dialects import share_groups

SAMPLE = 50  # dead letters


def share_groups_of(replay: int, topic: str) -> list[str]:
    """Return the share groups in which a sample of a replay's records failed, if they go back to their topic."""
    sent = ReplayItem.objects.filter(replay=replay, target_topic=topic).order_by("ordinal")
    return sorted(_named(topic, sent.values_list("dead_letter_id", flat=True)[:SAMPLE]))


def is_share_group(name: str, topic: str) -> bool:
    """Return whether a sample of dead letters from this topic, the newest or those replayed for the group, is of it."""
    sent = ReplayItem.objects.filter(target_topic=topic, watched=f"group:{name}").order_by("pk")
    newest = DeadLetter.objects.filter(cluster=clusters.current(), origin_topic=topic).order_by("-failed_at", "-pk")
    sample = (sent.values_list("dead_letter_id", flat=True)[:SAMPLE], newest.values_list("pk", flat=True)[:SAMPLE])
    return any(name in _named(topic, letters) for letters in sample)


def _named(topic: str, letters: Iterable[int]) -> set[str]:
    """Return the share groups that these dead letters name, of those from the topic."""
    rows = DeadLetter.objects.filter(pk__in=list(letters), dialect=share_groups.DIALECT.name, origin_topic=topic)
    return {group for group in rows.values_list("consumer_group", flat=True) if group}

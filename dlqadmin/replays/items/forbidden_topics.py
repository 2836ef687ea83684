"""The topics that no replay may write to.

They are checked when a replay is planned, and again before anything is sent.
"""

from __future__ import annotations

from collections.abc import Collection

from django.conf import settings

from dlqadmin.broker import clusters
from dlqadmin.broker.internal_topics import InternalTopic
from dlqadmin.broker.topic_patterns import matches
from dlqadmin.connectors import queries as connectors
from dlqadmin.deadletters.index.followed_topics import is_dead_letter_topic
from dlqadmin.deadletters.models import IndexPosition


def forbidden(topic: str, internal: InternalTopic | None, dead: Collection[str] | None = None) -> str:
    """Return why no replay may write to the topic of the current cluster, as a clause, or "" if it may.

    Queries only the database.

    - `internal`: the result of `internal_topics` for the topic.
    - `dead`: the known dead letter topics. If None, they are read from the database.

    A topic must match REPLAY_TARGETS if that is set. An exact name in REPLAY_TARGETS also allows an internal topic,
    except a state store.
    """
    cluster = clusters.current()
    name = clusters.qualified(topic, cluster)
    allowed = settings.REPLAY_TARGETS
    if internal is not None and not (internal.is_liftable and allowed is not None and name in allowed):
        return internal.why
    known = dead_letter_topics() if dead is None else dead
    if is_dead_letter_topic(topic) or topic in known:
        return "is a dead letter topic"
    if cluster != settings.CLUSTER and clusters.is_read_only(cluster):
        return "is on a read-only cluster"
    if allowed is not None and not matches(allowed, name):
        return "is not in REPLAY_TARGETS"
    return ""


def dead_letter_topics() -> set[str]:
    """Return the indexed dead letter topics of the current cluster, and those that known connectors write to.

    Those of all teams, because no replay may write to any of them.
    """
    indexed = IndexPosition._base_manager.filter(cluster=clusters.current()).values_list("topic", flat=True)
    # Connectors of known Connect clusters use the own Kafka cluster.
    written = connectors.dead_letter_topics() if clusters.current() == settings.CLUSTER else set()
    return {*indexed.distinct(), *written}

"""Decide which pointers the teams that own their dead letters may have followed.

The record of a pointer is stored with the dead letter, for all who read the dead letter. Everyone who can write to a
dead letter topic can forge a pointer. So a team gets no record of a topic that it does not own, unless POINTER_TOPICS
lists that topic.
"""

from __future__ import annotations

from collections.abc import Iterable

from dlqadmin.broker import clusters
from dlqadmin.deadletters.index.origin_topics import is_listed
from dlqadmin.teams.models import Team
from dlqadmin.teams.patterns import owns

PointerSource = tuple[str, str, str]  # dead letter topic, connector and origin topic


def refusals(pointers: Iterable[PointerSource]) -> dict[PointerSource, str]:
    """Return for each pointer why its record may not be fetched, or "". Asks the database once."""
    wanted = set(pointers)
    teams = list(Team.objects.values_list("name", "topics", "connectors")) if wanted else []
    found = dict.fromkeys(wanted, "")
    for pointer in wanted:
        topic, connector, origin = pointer
        for name, topics, connectors in teams:
            reads = owns(topics, clusters.current(), topic) or owns(connectors, clusters.current(), connector)
            if reads and not owns(topics, clusters.current(), origin) and not is_listed(topic, origin):
                found[pointer] = f"team {name} reads {topic} and does not own {origin}; POINTER_TOPICS can list it"
                break
    return found

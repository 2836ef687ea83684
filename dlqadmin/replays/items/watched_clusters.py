"""The clusters on which the outcomes of replayed records are watched."""

from __future__ import annotations

from dlqadmin.broker import clusters
from dlqadmin.replays.models import Replay


def watches(cluster: str) -> bool:
    """Return whether outcomes are watched on this cluster: its dead letters are indexed. "" is the own one."""
    return not clusters.key(cluster) or cluster in clusters.indexed()


def unwatched(cluster: str) -> str:
    """Return why no outcome is known on a cluster that is not watched, as a clause."""
    return f"sent to cluster {cluster}, whose consumer groups are not watched"


def are_outcomes_watched(replay: Replay) -> bool:
    """Return whether the outcomes of the replay's records can be known."""
    return not replay.shadow and watches(replay.target_cluster)

"""Names of the groups and ids that the clients of a worker use, beside those of its connectors."""

from __future__ import annotations


def leader_id(group: str) -> str:
    """Return the leader's transactional id (KIP-618)."""
    return f"connect-cluster-{group}"


def leader_group(group: str) -> str:
    """Return the group in which drivers elect the leader."""
    return f"{group}-leader"


def herder_group(group: str) -> str:
    """Return the group of the driver's readers of the worker's topics. It stores no offsets."""
    return f"{group}-herder"


def config_group(group: str) -> str:
    """Return the group of the leases' readers of the config topic. It stores no offsets."""
    return f"connect-{group}-config"


def offsets_group(group: str) -> str:
    """Return the group of the readers of offsets topics. It stores no offsets."""
    return f"connect-{group}-offsets"

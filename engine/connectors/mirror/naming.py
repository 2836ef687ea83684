"""Names of the source's topics on the target, and the selection of topics to mirror. Pure.

After MirrorMaker 2's `ReplicationPolicy` (KIP-382): alias, separator and topic, or the unchanged name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from engine.config.java_regex import compile_java
from engine.connectors.mirror.options import IDENTITY_POLICY, MirrorConfig


class ReplicationPolicy(Protocol):
    """A rule for topic names across clusters."""

    def remote(self, alias: str, topic: str) -> str:
        """Return the name on this cluster of a topic mirrored from the cluster `alias`."""
        ...

    def source(self, topic: str) -> str | None:
        """Return the alias of a mirrored topic's cluster, or None if the name does not tell it."""
        ...

    def upstream(self, topic: str) -> str | None:
        """Return a mirrored topic's name on the cluster it comes from."""
        ...


class DefaultReplicationPolicy:
    """`<alias><separator><topic>`."""

    def __init__(self, separator: str = ".") -> None:
        self.separator = separator

    def remote(self, alias: str, topic: str) -> str:
        return f"{alias}{self.separator}{topic}"

    def source(self, topic: str) -> str | None:
        alias, separator, _ = topic.partition(self.separator)
        return alias if separator and alias else None

    def upstream(self, topic: str) -> str | None:
        _, separator, rest = topic.partition(self.separator)
        return rest if separator else None


class IdentityReplicationPolicy:
    """The same name everywhere, except for heartbeats, whose origin must show."""

    def __init__(self, separator: str, source_alias: str, heartbeats: str) -> None:
        self._default = DefaultReplicationPolicy(separator)
        self._alias = source_alias
        self._heartbeats = heartbeats

    def remote(self, alias: str, topic: str) -> str:
        return self._default.remote(alias, topic) if original(self._default, topic) == self._heartbeats else topic

    def source(self, topic: str) -> str | None:
        return self._default.source(topic) if original(self._default, topic) == self._heartbeats else self._alias

    def upstream(self, topic: str) -> str | None:
        return self._default.upstream(topic) if original(self._default, topic) == self._heartbeats else topic


def policy_of(config: MirrorConfig) -> ReplicationPolicy:
    """Return the replication policy of a mirror."""
    if config.policy == IDENTITY_POLICY:
        return IdentityReplicationPolicy(config.separator, config.source_alias, config.values["heartbeats.topic"])
    return DefaultReplicationPolicy(config.separator)


def original(policy: ReplicationPolicy, topic: str) -> str:
    """Return the name of a topic on the cluster where it was first written."""
    upstream = policy.upstream(topic)
    return topic if policy.source(topic) is None or upstream in (None, topic) else original(policy, str(upstream))


def is_cycle(policy: ReplicationPolicy, topic: str, target_alias: str) -> bool:
    """Return whether the topic comes from the target, over any number of clusters."""
    source, upstream = policy.source(topic), policy.upstream(topic)
    if source is None:
        return False
    if source == target_alias:
        return True
    return upstream is not None and upstream != topic and is_cycle(policy, upstream, target_alias)


def is_internal(topic: str) -> bool:
    """Return whether the topic belongs to Kafka, Kafka Connect or a mirror itself."""
    return topic.startswith(("__", ".")) or topic.endswith(("-internal", ".internal"))


class NameFilter:
    """A set of names, as regular expressions to include and to exclude."""

    def __init__(self, include: Iterable[str], exclude: Iterable[str]) -> None:
        self._include = [compile_java(text) for text in include]
        self._exclude = [compile_java(text) for text in exclude]

    def __contains__(self, name: str) -> bool:
        wanted = any(pattern.fullmatch(name) for pattern in self._include)
        return wanted and not any(pattern.fullmatch(name) for pattern in self._exclude)


def mirrored_topics(config: MirrorConfig, topics: Iterable[str], engines_own: Sequence[str] = ()) -> dict[str, str]:
    """Return the source's topics to mirror, with their names on the target.

    Topics that would write to `engines_own` topics of the target, or would circulate, are left out.
    """
    policy, values = policy_of(config), config.values
    wanted = NameFilter(values["topics"], values["topics.exclude"])
    heartbeats = values["heartbeats.topic"] if values["heartbeats.replication.enabled"] else None
    names: dict[str, str] = {}
    for topic in topics:
        if topic not in wanted and original(policy, topic) != heartbeats:
            continue
        remote = policy.remote(config.source_alias, topic)
        if not is_internal(topic) and not is_cycle(policy, topic, config.target_alias) and remote not in engines_own:
            names[topic] = remote
    return names

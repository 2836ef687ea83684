"""What a source's topic is called on the target, and which topics are mirrored at all. Pure.

After MirrorMaker 2's `ReplicationPolicy` (KIP-382): a cluster's alias, a separator and the topic, or its own name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from engine.config.java_regex import compile_java
from engine.config.mirror import IDENTITY_POLICY, MirrorConfig


class Policy(Protocol):
    """How topics are named across clusters."""

    def remote(self, alias: str, topic: str) -> str:
        """What a topic of that cluster is called where it is mirrored to."""
        ...

    def source(self, topic: str) -> str | None:
        """The alias of the cluster that a topic was mirrored from; None where its name does not say so."""
        ...

    def upstream(self, topic: str) -> str | None:
        """What a mirrored topic is called on the cluster it comes from."""
        ...


class DefaultPolicy:
    """`<alias><separator><topic>`."""

    def __init__(self, separator: str = ".") -> None:
        self.separator = separator

    def remote(self, alias: str, topic: str) -> str:
        return f"{alias}{self.separator}{topic}"

    def source(self, topic: str) -> str | None:
        alias, found, _ = topic.partition(self.separator)
        return alias if found and alias else None

    def upstream(self, topic: str) -> str | None:
        _, found, rest = topic.partition(self.separator)
        return rest if found else None


class IdentityPolicy:
    """The same name everywhere, but for heartbeats, whose origin must show."""

    def __init__(self, separator: str, source_alias: str, heartbeats: str) -> None:
        self._default = DefaultPolicy(separator)
        self._alias = source_alias
        self._heartbeats = heartbeats

    def remote(self, alias: str, topic: str) -> str:
        return self._default.remote(alias, topic) if original(self._default, topic) == self._heartbeats else topic

    def source(self, topic: str) -> str | None:
        return self._default.source(topic) if original(self._default, topic) == self._heartbeats else self._alias

    def upstream(self, topic: str) -> str | None:
        return self._default.upstream(topic) if original(self._default, topic) == self._heartbeats else topic


def policy_of(config: MirrorConfig) -> Policy:
    """The policy that a mirror names."""
    if config.policy == IDENTITY_POLICY:
        return IdentityPolicy(config.separator, config.source_alias, config.values["heartbeats.topic"])
    return DefaultPolicy(config.separator)


def original(policy: Policy, topic: str) -> str:
    """The name a topic had where it was first written."""
    upstream = policy.upstream(topic)
    return topic if policy.source(topic) is None or upstream in (None, topic) else original(policy, str(upstream))


def is_cycle(policy: Policy, topic: str, target_alias: str) -> bool:
    """Has the topic come from the target, however many clusters ago?"""
    source, upstream = policy.source(topic), policy.upstream(topic)
    if source is None:
        return False
    if source == target_alias:
        return True
    return upstream is not None and upstream != topic and is_cycle(policy, upstream, target_alias)


def is_internal(topic: str) -> bool:
    """Does it belong to Kafka, to Kafka Connect, or to a mirror itself?"""
    return topic.startswith(("__", ".")) or topic.endswith(("-internal", ".internal"))


class Wanted:
    """Which names one list of regular expressions takes and another does not."""

    def __init__(self, include: Iterable[str], exclude: Iterable[str]) -> None:
        self._include = [compile_java(text) for text in include]
        self._exclude = [compile_java(text) for text in exclude]

    def __contains__(self, name: str) -> bool:
        wanted = any(pattern.fullmatch(name) for pattern in self._include)
        return wanted and not any(pattern.fullmatch(name) for pattern in self._exclude)


def mirrored_topics(config: MirrorConfig, topics: Iterable[str], engines_own: Sequence[str] = ()) -> dict[str, str]:
    """The topics of the source that are mirrored, and what each is called on the target.

    Left out is what would write to `engines_own` topics of the target, or go round in a circle.
    """
    policy, values = policy_of(config), config.values
    wanted = Wanted(values["topics"], values["topics.exclude"])
    heartbeats = values["heartbeats.topic"] if values["heartbeats.replication.enabled"] else None
    found: dict[str, str] = {}
    for topic in topics:
        if topic not in wanted and original(policy, topic) != heartbeats:
            continue
        remote = policy.remote(config.source_alias, topic)
        if not is_internal(topic) and not is_cycle(policy, topic, config.target_alias) and remote not in engines_own:
            found[topic] = remote
    return found

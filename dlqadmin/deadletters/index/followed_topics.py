"""The dead letter topics of a cluster: those of its settings, such as DLQ_TOPICS, and the rules of administrators."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dlqadmin.broker import clusters
from dlqadmin.broker.topic_patterns import is_name
from dlqadmin.deadletters.models import TopicRule


@dataclass(frozen=True, slots=True)
class FollowedTopics:
    """The dead letter topics, and those of them that the indexer reads.

    `patterns` are those of the cluster's settings. A rule about a topic takes precedence over them.
    """

    patterns: tuple[str, ...]
    added: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()

    def follows(self, topic: str) -> bool:
        """Return whether the indexer reads this topic."""
        return topic not in self.excluded and self.is_dead_letter_topic(topic)

    def is_dead_letter_topic(self, topic: str) -> bool:
        """Return whether settings or rules name this topic. It may be excluded from the index."""
        return topic in self.added or self.matching_pattern(topic) is not None

    def matching_pattern(self, topic: str) -> str | None:
        """Return the first pattern of the settings that matches the topic, or None."""
        return next((pattern for pattern in self.patterns if _matches(_client_pattern(pattern), topic)), None)

    @property
    def subscription(self) -> list[str]:
        """Return the topics in the client's syntax: names unchanged, all others as regular expressions."""
        names = [_client_pattern(pattern) for pattern in self.patterns if pattern not in self.excluded]
        return [*names, *sorted(self.added)]


def followed_topics() -> FollowedTopics:
    """Return the settings and rules of `clusters.current` as they are now. Queries the database.

    All rules count, whatever the request may reach: they also decide where no replay may write.
    """
    rules = TopicRule._base_manager.filter(cluster=clusters.current()).values_list("topic", "is_excluded")
    by_rule: dict[bool, set[str]] = {True: set(), False: set()}
    for topic, is_excluded in rules:
        by_rule[is_excluded].add(topic)
    return FollowedTopics(clusters.dead_letter_topics(), frozenset(by_rule[False]), frozenset(by_rule[True]))


def follows(topic: str) -> bool:
    """Return whether the indexer reads this topic. Queries the database."""
    return followed_topics().follows(topic)


def is_dead_letter_topic(topic: str) -> bool:
    """Return whether settings or rules name this topic, even if it is excluded from the index. Queries the database.

    An exclusion stops the indexer only. It does not let replays write to the topic, or pointers lead to it.
    """
    return followed_topics().is_dead_letter_topic(topic)


def _client_pattern(pattern: str) -> str:
    return pattern if is_name(pattern) else f"^{pattern.removeprefix('^')}"


def _matches(pattern: str, topic: str) -> bool:
    return re.search(pattern, topic) is not None if pattern.startswith("^") else pattern == topic

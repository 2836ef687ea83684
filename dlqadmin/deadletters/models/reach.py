"""The dead letters, counters and groups that the present request may reach, as conditions of their managers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec
from django.apps import apps
from django.db.models import Q, QuerySet

from dlqadmin.teams.reach import Reach, current_reach, remembered

NO_ROW = Q(pk__in=[])


class NamesInReach(msgspec.Struct, frozen=True):
    """Names of a cluster, or of all clusters: dead letters of one of these topics or connectors are in reach."""

    cluster: str | None
    topics: tuple[str, ...]
    connectors: tuple[str, ...]

    def condition(self, prefix: str) -> Q:
        """Return the condition on columns that begin with `prefix`."""
        found = Q(**{f"{prefix}topic__in": self.topics}) if self.topics else Q()
        if self.connectors:
            found |= Q(**{f"{prefix}connector__in": self.connectors})
        return found if self.cluster is None else found & Q(**{f"{prefix}cluster": self.cluster})


def names_in_reach() -> list[NamesInReach]:
    """Return the names that have dead letters within the limited reach of the request."""
    return remembered("names", _names)


def of_source(prefix: str = "") -> Q:
    """Return the condition on `topic`, `connector` and `cluster`, with a prefix that leads to their table."""
    found = Q()
    for names in names_in_reach():
        found |= names.condition(prefix)
    return found or NO_ROW


def fingerprints_in_reach() -> QuerySet[Any]:
    """Return the ids of fingerprints with dead letters in reach."""
    return _every("FingerprintSource").filter(of_source()).values("fingerprint_id")


def groups_in_reach() -> QuerySet[Any]:
    """Return the ids of groups with dead letters in reach."""
    return _every("Fingerprint").filter(pk__in=fingerprints_in_reach()).values("group_id")


def has_whole_groups(groups: Iterable[int]) -> bool:
    """Return whether no dead letter of these groups is out of reach."""
    return not split_groups(groups)


def split_groups(groups: Iterable[int]) -> set[int]:
    """Return those of these groups that have dead letters out of reach."""
    if not current_reach().is_limited:
        return set()
    theirs = _every("FingerprintSource").filter(fingerprint__group__in=list(groups)).exclude(of_source())
    return set(theirs.values_list("fingerprint__group", flat=True).distinct())


def split_fingerprints(fingerprints: Iterable[int]) -> set[int]:
    """Return those of these fingerprints that have dead letters out of reach."""
    if not current_reach().is_limited:
        return set()
    theirs = _every("FingerprintSource").filter(fingerprint__in=list(fingerprints)).exclude(of_source())
    return set(theirs.values_list("fingerprint_id", flat=True).distinct())


def has_whole_origins(names: Iterable[str]) -> bool:
    """Return whether no dead letter of these origin topics is out of a limited reach. False for an unknown name."""
    wanted = set(names)
    rows = _every("OriginSource").filter(origin_topic__in=wanted)
    known = set(rows.values_list("origin_topic", flat=True))
    return wanted <= known and not rows.exclude(of_source()).exists()


def regroupings_in_reach() -> QuerySet[Any]:
    """Return the ids of merges and splits that moved fingerprints in reach."""
    moves = _every("RegroupingMove").filter(fingerprint_id__in=fingerprints_in_reach())
    return moves.values("regrouping_id")


def of_topic(reach: Reach, model: str = "IndexPosition") -> Q:
    """Return the condition on `topic` and `cluster` of rows about a whole dead letter topic.

    `model` has a row for each topic in question.
    """

    def named(reach: Reach) -> dict[str, list[str]]:
        found = defaultdict(list)
        for cluster, topic in _every(model).values_list("cluster", "topic").distinct():
            if reach.has_topic(topic, cluster):
                found[cluster].append(topic)
        return found

    found = Q()
    for cluster, topics in remembered(f"topics of {model}", named).items():
        found |= Q(cluster=cluster, topic__in=topics)
    return found or NO_ROW


def _names(reach: Reach) -> list[NamesInReach]:
    """Return the names by cluster; for all clusters at once if no pattern names a cluster.

    If the topics alone lead to all dead letters in reach, no connectors are named, and the reverse: one list of names
    can use one index.
    """
    rows = _every("FingerprintSource").values_list("cluster", "topic", "connector").distinct()
    by_cluster: dict[str | None, list[tuple[str, str]]] = defaultdict(list)
    one_for_all = not any("/" in pattern for pattern in (*reach.topics, *reach.connectors))
    for cluster, topic, connector in rows:
        if reach.has_source(topic, connector, cluster):
            by_cluster[None if one_for_all else cluster].append((topic, connector))
    found = []
    for cluster, pairs in by_cluster.items():
        topics = {topic for topic, _ in pairs if reach.has_topic(topic, cluster or "")}
        connectors = {connector for _, connector in pairs if reach.has_connector(connector, cluster or "")}
        if all(topic in topics for topic, _ in pairs):
            connectors = set()
        elif all(connector in connectors for _, connector in pairs):
            topics = set()
        found.append(NamesInReach(cluster, tuple(sorted(topics)), tuple(sorted(connectors))))
    return found


def _every(model: str) -> QuerySet[Any]:
    """Return all rows of a model, unordered. The models import this module, so it asks Django for them."""
    rows: QuerySet[Any] = apps.get_model("deadletters", model)._base_manager.order_by()
    return rows

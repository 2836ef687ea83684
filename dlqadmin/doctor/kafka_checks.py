"""Checks of the Kafka cluster: connection, dead letter topics, rights, and the clock of its records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import msgspec
from django.conf import settings
from django.db import DatabaseError

from dlqadmin.broker import cluster_settings, clusters
from dlqadmin.broker.cluster_settings import ClusterSettings
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.clusters import connection_tests
from dlqadmin.clusters.connection_tests import ClusterExamination
from dlqadmin.deadletters.index.candidate_topics import candidates, newest_records
from dlqadmin.deadletters.index.followed_topics import FollowedTopics, followed_topics
from dlqadmin.doctor.check_results import CheckResult, error, ok, warning
from dlqadmin.doctor.service_checks import database_exists
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import from_ms

MOST_NAMES = 5
MOST_AHEAD = timedelta(seconds=60)
OLD = "older than 2.3"


def kafka_checks(now: datetime) -> Iterator[CheckResult]:
    """Yield the results for the own cluster, then for the others. A cluster that can't be reached has only one."""
    yield from _checks(cluster_settings.own(), now)
    for cluster in _others():
        with clusters.on(cluster.name):
            found = list(_checks(cluster, now))
        for one in found:
            yield msgspec.structs.replace(one, found=f"Cluster {cluster.name}: {one.found}")


def _checks(cluster: ClusterSettings, now: datetime) -> Iterator[CheckResult]:
    followed = _followed(cluster)
    found = connection_tests.examine(cluster, followed)
    yield connection(found, cluster)
    if found.trial.kind != "ok":
        return
    if cluster.dead_letter_topics:  # else replays only write to it
        yield topics(found, candidates(found.trial.topics, followed), cluster)
    yield from rights(found)
    if cluster.dead_letter_topics:
        yield record_times(found, now)


def connection(found: ClusterExamination, cluster: ClusterSettings) -> CheckResult:
    """Check that the cluster responds, and that it is new enough."""
    address = cluster.servers
    if found.trial.kind != "ok":
        detail = f" The client says: {found.trial.detail}." if found.trial.detail else ""
        return error(
            "kafka",
            f"{address} can't be used. {found.verdict}{detail}",
            _remedy(cluster, "Check --kafka and --kafka-config."),
        )
    release = found.trial.release
    words = f"{address}: {found.verdict} The brokers speak the protocol of Kafka {release or 'an unknown release'}."
    if release == OLD:
        return warning("kafka", words, "Upgrade the brokers: rights and replays need Kafka 2.5 or newer.")
    return ok("kafka", words)


def topics(found: ClusterExamination, possible: Sequence[str], cluster: ClusterSettings) -> CheckResult:
    """Check that there are dead letter topics."""
    dead = found.dead_letter_topics
    more = f" {counted(len(possible), 'other name')} may be one: {_listed(possible)}." if possible else ""
    if dead:
        return ok("topics", f"{counted(len(dead), 'dead letter topic')}: {_listed(dead)}.{more}")
    visible = sum(not name.startswith("__") for name in found.trial.topics)
    return warning(
        "topics",
        f"None of {counted(visible, 'topic')} has the name of a dead letter topic.{more}",
        _remedy(cluster, f"Name yours with --topics or DLQ_TOPICS, which is {','.join(settings.DLQ_TOPICS)}."),
    )


def rights(found: ClusterExamination) -> Iterator[CheckResult]:
    """Check the rights of the client. Yield a result for each that is missing."""
    for acl in found.acls:
        if acl.verdict == "missing":
            resource = f"{acl.need.kind} {acl.need.name}".strip()
            lacks = f"{found.principal} lacks {' and '.join(acl.missing)} on {resource}. {acl.need.why}."
            yield error("acls", lacks, f"Run: {acl.command}")
    granted = sum(acl.verdict == "ok" for acl in found.acls)
    unchecked = sum(acl.verdict == "not_checked" for acl in found.acls)
    yield ok(
        "acls",
        f"{found.principal} has {granted} of the rights that the dashboard needs; {unchecked} can't be checked without "
        "an effect. Settings → Clusters lists them all.",
    )


def record_times(found: ClusterExamination, now: datetime) -> CheckResult:
    """Check that no newest dead letter is from the future: its writer's clock, the broker's or ours is wrong."""
    newest: datetime | None = None
    try:
        for topic in found.dead_letter_topics[:MOST_NAMES]:
            for record in newest_records(topic, found.trial.topics[topic], 1):
                if record.timestamp is not None and (newest is None or from_ms(record.timestamp) > newest):
                    newest = from_ms(record.timestamp)
    except BrokerUnavailable as unavailable:
        return warning("records", f"The newest dead letters can't be read: {unavailable}.", "Grant Read on the topics.")
    if newest is None:
        return ok("records", "There is no dead letter whose time can be compared with the clock.")
    if newest - now > MOST_AHEAD:
        ahead = (newest - now).total_seconds()
        return warning(
            "records",
            f"The newest dead letter is {ahead:.0f} s ahead of this machine's clock.",
            "Synchronise the clocks of this machine, the brokers and the producers (NTP).",
        )
    return ok("records", f"The newest dead letter is of {newest:%Y-%m-%d %H:%M:%S} UTC.")


def _others() -> list[ClusterSettings]:
    """Return the other clusters that are enabled; without a database those of the environment."""
    if database_exists():
        with suppress(DatabaseError):
            return [one for one in cluster_settings.others().values() if one.is_enabled]
    return [cluster_settings.settings_of(name) for name in settings.OTHER_CLUSTERS]


def _remedy(cluster: ClusterSettings, of_own: str) -> str:
    if cluster.name == settings.CLUSTER:
        return of_own
    return "Check OTHER_CLUSTERS." if cluster.is_fixed else "Check Settings → Clusters."


def _followed(cluster: ClusterSettings) -> FollowedTopics:
    """Return the topics as settings and rules have them; without a database, as settings have them."""
    if database_exists():
        with suppress(DatabaseError):
            return followed_topics()
    return FollowedTopics(cluster.dead_letter_topics)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more

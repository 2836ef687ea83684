"""The overall status, with its reasons, from the facts about all parts. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from dlqadmin.connectors.documents import ShownState
from dlqadmin.connectors.states import HELD
from dlqadmin.overview.documents import OverallStatus
from dlqadmin.overview.facts import STOPPED_AFTER, SystemFacts
from dlqadmin.overview.index_lag import BEHIND_SECONDS, IndexLag
from dlqadmin.rest.problems import FULL_DISK
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso

UNSEALED_SECONDS = 60.0
WAITING_FOR = timedelta(seconds=60)  # tasks without a worker for a shorter time are normal


class StatusReason(NamedTuple):
    """A cause of a status other than `ok`, as a sentence."""

    status: Literal["degraded", "failing"]
    text: str


def reasons(facts: SystemFacts) -> list[StatusReason]:
    """Return why the system is not healthy; empty if it is. The reasons for `failing` come first."""
    found = [*_parts(facts), *_other_clusters(facts), *_connectors(facts), *_index(facts.lag), *_audit(facts)]
    return sorted(found, key=lambda reason: reason.status == "degraded")


def overall(found: Iterable[StatusReason]) -> OverallStatus:
    """Return the status for these reasons."""
    statuses = {reason.status for reason in found}
    return "failing" if "failing" in statuses else "degraded" if statuses else "ok"


def waits_long(shown: ShownState, now: datetime) -> bool:
    """Return whether a connector has been without a worker or tasks for over a minute.

    A state without a known beginning counts as long.
    """
    if shown.state not in ("unassigned", "no_tasks"):
        return False
    return shown.since is None or now - datetime.fromisoformat(shown.since) > WAITING_FOR


def healthy_parts(facts: SystemFacts) -> list[str]:
    """Return the parts that work, without the connectors."""
    is_indexed = facts.broker.reachable and not facts.indexer_stopped_since and not facts.is_indexer_unknown
    is_current = is_indexed and not facts.lag.behind and facts.lag.text.seconds <= BEHIND_SECONDS
    workers, celery = facts.connect_workers, facts.queues and all(row.alive for row in facts.queues)
    parts = [
        f"index {facts.lag.seconds:.1f} s behind" if is_current else "",
        counted(workers, "worker") if workers else "",
        counted(facts.broker.brokers, "broker") if facts.broker.reachable else "",
        counted(sum(row.alive for row in facts.queues), "Celery worker") if celery else "",
    ]
    return [part for part in parts if part]


def healthy_sentence(facts: SystemFacts, found: Iterable[StatusReason]) -> str:
    """Return a sentence that all parts are healthy; empty if there is a reason that they are not."""
    if any(found):
        return ""
    tasks = sum(shown.tasks.running for shown in facts.shown.values())
    parts = [
        counted(len(facts.shown), "connector") if facts.shown else "",
        counted(tasks, "task") if tasks else "",
        *(part for part in healthy_parts(facts) if not part.startswith("index")),
    ]
    words = ["index", *(part for part in parts if part)]
    listed = " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]
    return f"{listed[0].upper()}{listed[1:]} {'are' if len(words) > 1 else 'is'} healthy."


def _parts(facts: SystemFacts) -> Iterator[StatusReason]:
    if not facts.broker.reachable:
        yield StatusReason("failing", "Kafka does not respond.")
    for response in facts.connect:
        if not response.reachable:
            yield StatusReason("failing", response.sentence)
    if not facts.has_redis:
        yield StatusReason("failing", "Redis does not respond.")
    if facts.is_disk_full:
        yield StatusReason("failing", FULL_DISK)
    for row in facts.unserved_queues:
        yield StatusReason("failing", f"No Celery worker serves the queue {row.queue} ({row.purpose}).")
    for name in sorted({name for row in facts.queues if row.alive for name in row.silent}):
        yield StatusReason("degraded", f"The Celery worker {name} ended without notice.")
    if facts.beat_trouble:
        yield StatusReason("failing", f"{facts.beat_trouble}.")
    yield from _indexer(facts)


def _indexer(facts: SystemFacts) -> Iterator[StatusReason]:
    if facts.is_indexer_unknown:
        yield StatusReason("degraded", "The state of the indexer is unknown: it has not read any topic yet.")
    elif (since := facts.indexer_stopped_since) is None:
        return
    elif since > facts.now:
        text = f"The indexer was last active in the future, at {iso(since)}: a clock is or was wrong."
        yield StatusReason("failing", text)
    else:
        yield StatusReason("failing", f"The indexer has not been active since {iso(since)}.")


def _other_clusters(facts: SystemFacts) -> Iterator[StatusReason]:
    """Yield what is wrong with other Kafka clusters. The rest of the system works without them."""
    for name, other in facts.others.items():
        if not other.broker.reachable:
            yield StatusReason("degraded", f"The Kafka cluster {name} does not respond.")
        elif other.indexed_at is not None and facts.now - other.indexed_at > STOPPED_AFTER:
            yield StatusReason("degraded", f"The indexer of {name} has not been active since {iso(other.indexed_at)}.")
        elif other.lag.behind:
            behind = f"{counted(other.lag.records, 'record')} and {other.lag.seconds:.0f} s behind"
            yield StatusReason("degraded", f"The index of {name} is {behind}.")


def _connectors(facts: SystemFacts) -> Iterator[StatusReason]:
    for key, shown in facts.shown.items():
        if shown.state == "failed":
            yield StatusReason("failing", f"{key}: {_lower(shown.text)}.")
        elif key.is_query:
            if shown.state == "unknown":
                yield StatusReason("degraded", f"{key}: {_lower(shown.text)}.")
        elif shown.state in HELD or waits_long(shown, facts.now):
            yield StatusReason("degraded", f"{key}: {_lower(shown.text)}.")


def _index(lag: IndexLag) -> Iterator[StatusReason]:
    if lag.behind:
        yield StatusReason("degraded", f"The index is {counted(lag.records, 'record')} and {lag.seconds:.0f} s behind.")
    if lag.text.seconds > BEHIND_SECONDS:
        yield StatusReason("degraded", f"The word search is {lag.text.seconds:.0f} s behind.")


def _audit(facts: SystemFacts) -> Iterator[StatusReason]:
    if facts.audit.unsealed_seconds > UNSEALED_SECONDS:
        yield StatusReason("degraded", "New entries of the audit trail are not being sealed.")
    if facts.audit.shipping_trouble:
        yield StatusReason("degraded", f"The audit trail cannot be sent: {facts.audit.shipping_trouble}")


def _lower(text: str) -> str:
    return f"{text[0].lower()}{text[1:]}"

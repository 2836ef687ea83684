"""Findings about each part of the system. Pure functions of data read elsewhere."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import product
from typing import Any, Literal, get_args
from urllib.parse import urlencode

from django.conf import settings

from dlqadmin.broker import clusters
from dlqadmin.connectors.connect_clusters import ENGINE
from dlqadmin.connectors.documents import ConnectorDocument, ErrorBudgetDocument, ErrorLimit
from dlqadmin.connectors.states import HELD
from dlqadmin.deadletters.groups.summaries import GroupSummary
from dlqadmin.deadletters.payloads import quoting_text
from dlqadmin.deadletters.records.expiry import SOON, ExpiringTopic
from dlqadmin.overview.connector_texts import connector_page, first_line
from dlqadmin.overview.documents import AttentionKind
from dlqadmin.overview.facts import STOPPED_AFTER, SystemFacts
from dlqadmin.overview.findings import Finding
from dlqadmin.overview.index_lag import BEHIND_SECONDS
from dlqadmin.overview.verdict import waits_long
from dlqadmin.replays.models import Replay, ReplayStatus
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso
from engine.config.options import DURATIONS_MS

GroupFinding = Literal["regressed", "new", "escalating"]
GROUP_TEXTS: dict[GroupFinding, str] = {
    "new": "New: {n:,} in 24 h, first {first:%d %b %H:%M} UTC",
    "regressed": "Failed again after it was resolved: {n:,} in 24 h",
    "escalating": "Growing: {n:,} in 24 h",
}
BUDGETS: dict[str, tuple[AttentionKind, str]] = {
    "exhausted": ("budget_exhausted", ": the next error stops it"),
    "near": ("budget", " is close to its tolerance limit"),
}
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
WINDOWS = {milliseconds: name for name, milliseconds in DURATIONS_MS.items()}


def parts(facts: SystemFacts) -> Iterator[Finding]:
    """Yield the parts that do not work."""
    if not facts.broker.reachable:
        text = f"{settings.KAFKA_BOOTSTRAP_SERVERS} does not respond. The figures may be outdated."
        yield Finding("broker_down", "", "Kafka does not respond", text, None, "/connectors")
    yield from _other_clusters(facts)
    for response in facts.connect:
        if not response.reachable:
            text = response.trouble or "The list of connectors may be outdated, and connectors can't be controlled."
            subject = "" if response.cluster == ENGINE else response.cluster
            title = f"{response.title} does not respond"
            yield Finding("engine_down", subject, title, text, response.at, "/connectors")
    if not facts.has_redis:
        yield Finding("redis_down", "", "Redis does not respond", "Jobs and replays wait for it.", None, "/replays")
    for row in facts.unserved_queues:
        seen, text = _time(row.seen_at), f"Queue {row.queue}: {row.purpose}"
        yield Finding("worker_down", row.queue, f"No Celery worker serves {row.queue}", text, seen, "/replays")
    if facts.beat_trouble:
        text = "Metrics and outcomes are not updated, and lost jobs are not started again."
        yield Finding("worker_down", "beat", facts.beat_trouble, text, _time(facts.scheduler.seen_at), "/replays")
    if since := facts.indexer_stopped_since:
        text = "Nothing was indexed since then, so later errors are missing here."
        yield Finding("indexer_down", "", "The index is not being updated", text, since, "/records")
    elif facts.is_indexer_unknown and facts.followed:
        text = f"{counted(facts.followed, 'dead letter topic')} can be indexed, but no indexer has read any."
        yield Finding("indexer_down", "", "The indexer does not run", text, None, "/records")


def _other_clusters(facts: SystemFacts) -> Iterator[Finding]:
    for name, other in facts.others.items():
        if not other.broker.reachable:
            title = f"The Kafka cluster {name} does not respond"
            text = "Its errors are missing here until it responds. Other clusters are not affected."
            yield Finding("broker_down", name, title, text, None, "/settings/clusters")
        elif other.indexed_at is not None and facts.now - other.indexed_at > STOPPED_AFTER:
            title = f"The index of {name} is not being updated"
            text = "Nothing of it was indexed since then, so later errors are missing here."
            yield Finding("indexer_down", name, title, text, other.indexed_at, "/settings/clusters")


def connectors(rows: Iterable[ConnectorDocument], now: datetime) -> Iterator[Finding]:
    """Yield failed tasks and connectors, those without a worker, and those that nobody known paused.

    A stopped Spark query is no finding, because its own program stopped it. One that misses its reports is one.
    """
    for row in rows:
        shown, name = row.shown, str(row.key)
        if shown.state == "failed":
            yield from _failed(row, connector_page(row.key))
        elif row.query is not None:
            if row.query.is_silent:
                yield _connector("connector_waiting", row, f"{name} does not report", shown.text)
        elif shown.state in HELD and shown.by is None:
            title = f"{name} is {shown.state}"
            text = "The dashboard does not know by whom or why: the request did not go through it."
            yield _connector("connector_held", row, title, text)
        elif waits_long(shown, now):
            title = f"{name} does not run"
            yield _connector("connector_waiting", row, title, shown.text)


def budgets(rows: Iterable[ConnectorDocument]) -> Iterator[Finding]:
    """Yield tasks whose next error makes them fail, and tasks near a tolerance limit."""
    for row in rows:
        if row.has_ended:
            continue
        for task in row.tasks:
            if task.reported_at and task.budget.risk in BUDGETS:
                kind, said = BUDGETS[task.budget.risk]
                name = row.task_label(task.id)
                yield Finding(
                    kind,
                    name,
                    f"{name}{said}",
                    _limits_used(task.budget),
                    _time(task.reported_at),
                    connector_page(row.key),
                    count=max((one.used for one in (task.budget.total, task.budget.rate) if one), default=0),
                    share=max(map(_used_share, (task.budget.total, task.budget.rate))),
                    level=int(kind == "budget_exhausted"),
                    **_about("connector", row.name),
                )


def index_behind(facts: SystemFacts) -> Iterator[Finding]:
    """Yield findings if an index or the search text lags."""
    for name, other in facts.others.items():
        if other.broker.reachable and other.lag.behind:
            text = f"{other.lag.records:,} records, {other.lag.seconds:.0f} s behind"
            title, page = f"The index of {name} is behind", "/settings/clusters"
            yield Finding("index_behind", name, title, text, None, page, count=other.lag.records)
    lag = facts.lag
    if lag.behind:
        text = f"{lag.records:,} records, {lag.seconds:.0f} s behind"
        yield Finding("index_behind", "", "The index is behind", text, None, "/records", count=lag.records)
    if lag.text.seconds > BEHIND_SECONDS:
        waiting = counted(lag.text.records, "record")
        text = f"{waiting} can't be found by words yet, the oldest for {lag.text.seconds:.0f} s"
        yield Finding(
            "index_behind", "text", "The word search is behind", text, None, "/records", count=lag.text.records
        )


def retention_soon(rows: Iterable[ExpiringTopic], now: datetime) -> Iterator[Finding]:
    """Yield topics that may soon lose dead letters of unresolved groups, with the first time."""
    for row in rows:
        keeps = timedelta(milliseconds=row.keeps_ms)
        where = (
            {"topic": row.topic} if row.cluster == settings.CLUSTER else {"cluster": row.cluster, "topic": row.topic}
        )
        records = urlencode({**where, "topic": row.topic, "from": iso(now - keeps), "to": iso(now - keeps + SOON)})
        name = clusters.qualified(row.topic, row.cluster)
        title = f"{counted(row.records, 'dead letter')} may leave Kafka within {SOON // HOUR} h"
        text = f"Retention of {name}: {_duration_text(keeps)}. The index keeps its copy"
        page = f"/records?{records}"
        about = _about("topic", row.topic)
        yield Finding("retention_soon", name, title, text, row.first, page, count=row.records, **about)


def replays(rows: Iterable[tuple[Replay, int, int]], canaries: Mapping[int, int]) -> Iterator[Finding]:
    """Yield replays that paused by themselves, and replays with records that failed again.

    Each row contains the replay and its numbers of sent and failed records. `canaries` has the number of
    unsent records of each replay that its canary paused.
    """
    for replay, sent, failed in rows:
        page, subject, about = f"/replays/{replay.pk}", str(replay.pk), _about("replay", replay.pk)
        if replay.status == ReplayStatus.PAUSED and replay.trouble:
            is_canary = replay.pk in canaries
            title = f"{replay}: {replay.trouble}" if is_canary else f"{replay} paused because of a problem"
            text = f"{counted(canaries[replay.pk], 'record')} queued" if is_canary else replay.trouble
            kind: AttentionKind = "canary_paused" if is_canary else "replay_paused"
            at = getattr(replay, "paused_at", None) or replay.heartbeat
            yield Finding(kind, subject, title, text, at, page, count=failed, failed_at=at, **about)
        if failed:
            text = f"{failed:,} of {sent:,} sent records failed again"
            title = f"{replay}: {replay.title}"
            yield Finding("replay_failing", subject, title, text, replay.started_at, page, count=failed, **about)


def approval(replay: Replay, records: int, *, is_yours: bool) -> Finding:
    """Return a plan that waits for approval. `is_yours` if the signed-in person may approve it."""
    asker = replay.asked_by.get_username() if replay.asked_by else "somebody"
    text = f"{asker}: “{replay.reason}”" if replay.reason else asker
    return Finding(
        "approval_yours" if is_yours else "approval",
        f"{replay.pk} {replay.asked_digest}",
        f"{replay}: {replay.title}, {counted(records, 'record')}",
        text,
        replay.asked_at,
        f"/replays/{replay.pk}",
        count=records,
        by=asker,
        reason=replay.reason or None,
        **_about("replay", replay.pk),
    )


def groups(rows: Iterable[GroupSummary]) -> Iterator[Finding]:
    """Yield regressed, new and escalating groups. Muted and resolved groups are in no such state."""
    for kind, row in product(get_args(GroupFinding), rows):
        if row.state == kind:
            yield _group(kind, row)


def _group(kind: GroupFinding, row: GroupSummary) -> Finding:
    group = row.group
    return Finding(
        kind,
        str(group.pk),
        quoting_text(group.title),
        GROUP_TEXTS[kind].format(n=row.events, first=group.first_seen),
        group.regressed_at if kind == "regressed" else group.last_seen,
        f"/groups/{group.pk}",
        count=row.events,
        failed_at=group.regressed_at,
        active_at=group.last_seen,
        **_about("group", group.pk),
    )


def _failed(row: ConnectorDocument, page: str) -> Iterator[Finding]:
    failed = [task for task in row.tasks if task.state == "FAILED"]
    since, about = _time(row.shown.since), _about("connector", row.name)
    for task in failed:
        is_only = len(row.tasks) == 1 and row.query is None
        title = f"{row.key}: its only task failed" if is_only else f"{row.task_label(task.id)} failed"
        at = _time(task.state_since)
        waits = f"{counted(task.lag, 'record')} {'waits' if task.lag == 1 else 'wait'}. " if task.lag else ""
        yield Finding(
            "failed_task",
            f"{row.key} {task.id}",
            title,
            f"{waits}{first_line(task.trace)}",
            at or _time(task.reported_at),
            page,
            failed_at=at,
            is_read_only=row.query is not None,
            **about,
        )
    if not failed:
        title = f"{row.key} failed"
        yield Finding("failed_task", str(row.key), title, row.shown.text, since, page, failed_at=since, **about)


def _connector(kind: AttentionKind, row: ConnectorDocument, title: str, text: str) -> Finding:
    since, about = _time(row.shown.since), _about("connector", row.name)
    return Finding(kind, str(row.key), title, text, since, connector_page(row.key), count=row.lag or 0, **about)


def _about(object_type: str, object_id: object) -> dict[str, Any]:
    return {"object_type": object_type, "object_id": str(object_id)}


def _used_share(limit: ErrorLimit | None) -> float:
    return limit.used / limit.limit if limit and limit.limit > 0 else 0.0


def _limits_used(budget: ErrorBudgetDocument) -> str:
    """Return how much of each limit is used."""
    window = WINDOWS.get(budget.window_ms, f"{budget.window_ms:,} ms")
    rows = ((budget.total, "in total"), (budget.rate, f"within the last {window}"))
    limits = [(one, words) for one, words in rows if one and one.limit >= 0]
    return "; ".join(f"{one.used:,} of {one.limit:,} errors {words}, {one.left:,} left" for one, words in limits)


def _duration_text(keeps: timedelta) -> str:
    return f"{keeps.days} d" if keeps >= 2 * DAY else f"{keeps / HOUR:g} h"


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None

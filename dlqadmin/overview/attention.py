"""Findings that need an operator's attention. Pure functions of data read elsewhere."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from urllib.parse import urlencode

from dlqadmin.connectors.documents import ConnectorDocument, ErrorBudgetDocument
from dlqadmin.deadletters.records.expiry import SOON, ExpiringTopic
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.overview.documents import AttentionItem, AttentionKind
from dlqadmin.overview.health import BEHIND_SECONDS, IndexLag
from dlqadmin.replays.models import Replay, ReplayStatus
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso, iso_or_none
from engine.config.options import DURATIONS_MS

BUDGETS = {"exhausted": ": the next error stops it", "near": " is close to its tolerance limit"}
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
WINDOWS = {milliseconds: name for name, milliseconds in DURATIONS_MS.items()}


def item(kind: AttentionKind, title: str, text: str, at: datetime | None, href: str) -> AttentionItem:
    """Return a finding with a link to the relevant page."""
    return AttentionItem(kind=kind, title=title, text=text, at=iso_or_none(at), href=href)


def failed_tasks(snapshots: Mapping[str, list[TaskSnapshot]]) -> list[AttentionItem]:
    """Return the tasks that stopped, with the first line of their trace."""
    return [
        item("failed_task", f"{task} stopped", _first_line(row.status.get("trace")), row.reported_at, _page(row))
        for task, row in _named_tasks(snapshots)
        if row.state == "FAILED"
    ]


def budgets(connectors: Iterable[ConnectorDocument]) -> list[AttentionItem]:
    """Return tasks whose next error makes them fail, and tasks near a tolerance limit."""
    found = []
    for connector in connectors:
        for task in connector.tasks:
            if task.reported_at and (said := BUDGETS.get(task.budget.risk)):
                title, at = f"{connector.name}-{task.id}{said}", datetime.fromisoformat(task.reported_at)
                found.append(item("budget", title, _limits_used(task.budget), at, f"/connectors/{connector.name}"))
    return found


def index_behind(lag: IndexLag, stopped_since: datetime | None) -> list[AttentionItem]:
    """Return findings if the index lags, nobody runs it, or the search text lags."""
    if stopped_since:
        text = "Nothing was indexed since then, so later errors are missing here."
        return [item("index_behind", "The index is not being updated", text, stopped_since, "/records")]
    found = []
    if lag.behind:
        text = f"{lag.records:,} records, {lag.seconds:.0f} s behind"
        found.append(item("index_behind", "The index is behind", text, None, "/records"))
    if lag.text.seconds > BEHIND_SECONDS:
        waiting = counted(lag.text.records, "record")
        text = f"{waiting} can't be found by words yet, the oldest for {lag.text.seconds:.0f} s"
        found.append(item("index_behind", "The word search is behind", text, None, "/records"))
    return found


def retention_soon(rows: Iterable[ExpiringTopic], now: datetime) -> list[AttentionItem]:
    """Return topics that may soon lose dead letters of unresolved groups, with the first time."""
    found = []
    for row in rows:
        keeps = timedelta(milliseconds=row.keeps_ms)
        records = urlencode({"topic": row.topic, "from": iso(now - keeps), "to": iso(now - keeps + SOON)})
        title = f"{counted(row.records, 'dead letter')} may leave Kafka within {SOON // HOUR} h"
        text = f"Retention of {row.topic}: {_duration_text(keeps)}. The index keeps its copy"
        found.append(item("retention_soon", title, text, row.first, f"/records?{records}"))
    return found


def replays(rows: Iterable[tuple[Replay, int, int]]) -> list[AttentionItem]:
    """Return replays that paused by themselves, and replays with records that failed again.

    Each row contains the replay and its numbers of sent and failed records.
    """
    found = []
    for replay, sent, failed in rows:
        page = f"/replays/{replay.pk}"
        if replay.status == ReplayStatus.PAUSED and replay.trouble:
            title = f"{replay} paused because of a problem"
            found.append(item("replay_paused", title, replay.trouble, replay.heartbeat, page))
        if failed:
            text = f"{failed:,} of {sent:,} sent records failed again"
            found.append(item("replay_failing", f"{replay}: {replay.title}", text, replay.started_at, page))
    return found


def healthy_summary(
    snapshots: Mapping[str, list[TaskSnapshot]], workers: int, brokers: int, troubled: set[str], *, indexed: bool
) -> str:
    """Return a sentence that lists the healthy parts; empty if there are none."""
    failed = sum(row.state == "FAILED" for rows in snapshots.values() for row in rows)
    tasks = sum(len(rows) for rows in snapshots.values())
    parts = [
        "index" if indexed and not troubled & {"index_behind", "broker_down"} else "",
        "" if failed or not tasks else counted(tasks, "task"),
        "" if "engine_down" in troubled or not workers else counted(workers, "worker"),
        "" if "broker_down" in troubled else counted(brokers, "broker"),
    ]
    words = [part for part in parts if part]
    if not words:
        return ""
    listed = " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
    single = len(words) == 1 and (words[0] == "index" or words[0].startswith("1 "))
    return f"{listed[0].upper()}{listed[1:]} {('is' if single else 'are')} healthy."


def _named_tasks(snapshots: Mapping[str, list[TaskSnapshot]]) -> Iterable[tuple[str, TaskSnapshot]]:
    return ((f"{row.connector}-{row.task}", row) for rows in snapshots.values() for row in rows)


def _limits_used(budget: ErrorBudgetDocument) -> str:
    """Return how much of each limit is used."""
    window = WINDOWS.get(budget.window_ms, f"{budget.window_ms:,} ms")
    rows = ((budget.total, "in total"), (budget.rate, f"within the last {window}"))
    limits = [(one, words) for one, words in rows if one and one.limit >= 0]
    return "; ".join(f"{one.used:,} of {one.limit:,} errors {words}, {one.left:,} left" for one, words in limits)


def _duration_text(keeps: timedelta) -> str:
    return f"{keeps.days} d" if keeps >= 2 * DAY else f"{keeps / HOUR:g} h"


def _page(row: TaskSnapshot) -> str:
    return f"/connectors/{row.connector}"


def _first_line(trace: object) -> str:
    return str(trace).strip().partition("\n")[0][:300] if trace else "The task reported no stack trace."

"""alerts: the processor time that the evaluation of alert rules takes within a minute, idle and busy.

There are BENCH_RULES rules (500) of BENCH_TEAMS teams (40) over BENCH_GROUPS groups (2,000), in SQLite, whose
processor time counts too. A minute has 12 evaluations. In a busy one, each of them finds new records of a tenth of the
groups. The first evaluation of the process is not counted.

The numbers of records stay below the bounds of the rules, so the figures are about rules that do not fire.
BENCH_MINUTES (1) is the number of minutes of each kind. A run spends most of its time on the tables and the groups.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.results import BenchmarkResult, publish
from benchmarks.seed import connect

RULES = int(os.environ.get("BENCH_RULES", "500"))
TEAMS = int(os.environ.get("BENCH_TEAMS", "40"))
GROUPS = int(os.environ.get("BENCH_GROUPS", "2000"))
MINUTES = int(os.environ.get("BENCH_MINUTES", "1"))
TICKS, TICK_S = 12, 5
GOAL_S = 1.0


def run() -> list[BenchmarkResult]:
    """Evaluate, print and write the results."""
    with tempfile.TemporaryDirectory() as home:
        connect(f"sqlite:///{Path(home) / 'alerts.sqlite3'}")
        from dlqadmin.alerts.evaluation import RuleEvaluator

        start = _now()
        _fill(start)
        worker = RuleEvaluator()
        worker.run(start)
        idle = [_minute(worker, start + timedelta(minutes=n + 1), lambda _at: None) for n in range(MINUTES)]
        later = start + timedelta(minutes=MINUTES + 1)
        busy = [_minute(worker, later + timedelta(minutes=n), _arrive) for n in range(MINUTES)]
    return [
        publish(BenchmarkResult(f"alerts-{name}", "CPU seconds in 60 s", figures, None, GOAL_S, "lower"))
        for name, figures in (("idle", idle), ("busy", busy))
    ]


def _minute(worker: Any, start: datetime, arrive: Callable[[datetime], None]) -> float:
    """Return the processor seconds of the evaluations of one minute."""
    took = 0.0
    for tick in range(TICKS):
        at = start + timedelta(seconds=tick * TICK_S)
        arrive(at)
        before = time.process_time()
        worker.run(at)
        took += time.process_time() - before
    return took


def _now() -> datetime:
    from django.utils import timezone

    return timezone.now() - timedelta(minutes=2 * MINUTES + 2)


def _fill(now: datetime) -> None:
    """Write the teams, their groups and rules."""
    from dlqadmin.alerts.models import AlertRule
    from dlqadmin.teams.models import Team

    teams = [Team.objects.create(name=f"t{n}", topics=[f"t{n}.*"], created_at=now) for n in range(TEAMS)]
    _index(range(GROUPS), now - timedelta(hours=2))
    conditions: list[list[dict[str, Any]]] = [
        [{"kind": "new_group"}, {"kind": "group_regressed"}],
        [{"kind": "records", "more_than": 10**6, "within_s": 300}],
        [{"kind": "group_events", "more_than": 10**6, "within_s": 900}],
        [{"kind": "group_escalated"}, {"kind": "records", "more_than": 10**6, "within_s": 3600}],
    ]
    last = GROUPS + 1000
    own: dict[str, Any] = {"since": now, "from_group": last, "created_at": now, "updated_at": now}
    AlertRule.objects.bulk_create(
        AlertRule(name=f"r{n}", team=teams[n % TEAMS], conditions=conditions[n % 4], query="stage:TASK_PUT", **own)
        for n in range(RULES)
    )


_offsets: dict[str, int] = {}


def _arrive(at: datetime) -> None:
    second = int(at.timestamp()) // TICK_S
    _index(range(second % 10, GROUPS, 10), at - timedelta(seconds=1))


def _index(groups: range, at: datetime) -> None:
    """Index one dead letter of each of these groups, as the indexer does."""
    from dlqadmin.deadletters.index.message_parser import parse_message
    from dlqadmin.deadletters.index.writer import write
    from engine.record.record import RawRecord

    parsed = []
    for group in groups:
        topic = f"t{group % TEAMS}.orders.dlq"
        offset = _offsets[topic] = _offsets.get(topic, -1) + 1
        name = "".join(chr(97 + int(digit)) for digit in str(group))
        facts = {
            "connector.name": f"c{group % TEAMS}",
            "stage": "TASK_PUT",
            "exception.class.name": f"org.example.{name}Exception",
            "exception.message": f"column {name} must not be null",
        }
        headers = tuple((f"__connect.errors.{key}", text.encode()) for key, text in facts.items())
        ms = int(at.timestamp() * 1000)
        parsed.append(parse_message(RawRecord(topic, 0, offset, ms, "LOG_APPEND_TIME", b"k", b"{}", headers), at))
    write(parsed, "local", at)

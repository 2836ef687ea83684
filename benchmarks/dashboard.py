"""dashboard: response times of the screens' REST requests.

The index has BENCH_ROWS dead letters (1,000,000). The database is the PostgreSQL of `make seed`,
which is filled up to that number first, or SQLite with BENCH_DATABASE=sqlite.

A reader with a global role asks, and then one of three of forty teams, about what these teams own.
Each question is asked BENCH_ASKED times (30) with different values, after some uncounted requests
that warm up the server. The result is the 95th percentile.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from benchmarks.failures import FailureKind, kinds
from benchmarks.questions import questions
from benchmarks.results import BenchmarkResult, publish
from benchmarks.seed import HOME, connect, seed, server

ROWS = int(os.environ.get("BENCH_ROWS", "1000000"))
ASKED = int(os.environ.get("BENCH_ASKED", "30"))
WARM_UP = 3
DATABASE = os.environ.get("BENCH_DATABASE", "postgresql")
GOAL_MS, TEXT_GOAL_MS = 150.0, 500.0
NOWHERE = "127.0.0.1:1"  # the benchmark excludes figures of the broker and the engine
PAGES = 1000
TEAMS = 40


def run() -> list[BenchmarkResult]:
    """Ask every question, print and write the results."""
    with _database() as url:
        os.environ |= {"KAFKA_BOOTSTRAP_SERVERS": NOWHERE, "ENGINE_URL": f"http://{NOWHERE}", "KAFKA_TIMEOUT_S": "0.1"}
        connect(url)
        _fill()
        topics = sorted({kind.topic for kind in kinds()})
        own = topics[1::7]
        return [
            *_ask(_client(_global_reader()), kinds(), ""),
            *_ask(_client(_reader_of(own, topics)), [kind for kind in kinds() if kind.topic in own], "three-teams-"),
        ]


def _ask(get: Callable[[str], Mapping[str, Any]], every: Sequence[FailureKind], prefix: str) -> list[BenchmarkResult]:
    """Ask all questions about these kinds of failures."""
    results = []
    for name, ask in questions(get, random.Random(11), every).items():
        for _ in range(WARM_UP):
            get(ask())
        results.append(_publish(prefix + name, [_timed(get, ask()) for _ in range(ASKED)]))
    results.append(_publish(f"{prefix}page-1000", [_thousandth_page(get) for _ in range(3)]))
    return results


@contextmanager
def _database() -> Iterator[str]:
    if DATABASE == "sqlite":
        HOME.mkdir(parents=True, exist_ok=True)
        yield f"sqlite:///{HOME / 'index.sqlite3'}"
        return
    with server() as url:
        yield url


def _fill() -> None:
    from django.db.models import Sum

    from dlqadmin.deadletters.models import CountDay

    missing = ROWS - (CountDay.objects.aggregate(n=Sum("n"))["n"] or 0)
    if missing > 0:
        seed(missing)


def _global_reader() -> str:
    from django.contrib.auth.models import Group, User

    user, _ = User.objects.get_or_create(username="benchmark")
    for group in ("viewer", "payload reader"):
        user.groups.add(Group.objects.get_or_create(name=group)[0])
    return user.username


def _reader_of(own: Sequence[str], topics: Sequence[str]) -> str:
    """Return a member of the teams that own these topics. Each topic has a team, and further teams own no topic."""
    from django.contrib.auth.models import User
    from django.utils import timezone

    from dlqadmin.teams.models import Team, TeamRole

    user, _ = User.objects.get_or_create(username="benchmark of three teams")
    Team.objects.all().delete()
    owned = [*topics, *(f"unused-{number}" for number in range(TEAMS - len(topics)))]
    teams = Team.objects.bulk_create(
        Team(name=name, topics=[f"{name.removesuffix('.dlq')}*"], connectors=[], created_at=timezone.now())
        for name in owned
    )
    TeamRole.objects.bulk_create(
        TeamRole(team=team, user=user, role=role)
        for team in teams
        if team.name in own
        for role in ("viewer", "payload reader")
    )
    return user.username


def _client(name: str) -> Callable[[str], Mapping[str, Any]]:
    """Return a function that sends this person's GET request and returns the response."""
    from django.contrib.auth.models import User
    from rest_framework.test import APIClient

    client = APIClient(HTTP_HOST="localhost")

    def get(path: str) -> Mapping[str, Any]:
        client.force_authenticate(User.objects.get(username=name))  # with permissions that are read again
        response = client.get(f"/api/v1/{path}")
        if response.status_code != 200:
            raise RuntimeError(f"{path}: {response.status_code} {response.content[:300]!r}")
        answer: Mapping[str, Any] = response.json()
        return answer

    return get


def _timed(get: Callable[[str], Any], path: str) -> float:
    started = time.perf_counter()
    get(path)
    return (time.perf_counter() - started) * 1000


def _thousandth_page(get: Callable[[str], Mapping[str, Any]]) -> float:
    """Follow the cursor a thousand pages deep, and return the time of the last page (ms)."""
    path, cursor, took = "dead-letters?from=now-30d&limit=100", "", 0.0
    for _ in range(PAGES):
        started = time.perf_counter()
        answer = get(path + cursor)
        took = (time.perf_counter() - started) * 1000
        if answer["next"] is None:
            break
        cursor = "&" + urlencode({"cursor": answer["next"]})
    return took


def _publish(name: str, times: list[float]) -> BenchmarkResult:
    p95 = statistics.quantiles(times, n=20, method="inclusive")[-1]
    print(f"{name}: median {statistics.median(times):,.1f} ms", flush=True)
    goal = TEXT_GOAL_MS if name.removeprefix("three-teams-").startswith("text") else GOAL_MS
    return publish(BenchmarkResult(f"dashboard-{DATABASE}-{name}-p95", "ms", [p95], None, goal, "lower"))

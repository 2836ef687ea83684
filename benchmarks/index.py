"""index: the rate at which one `manage.py index_deadletters` indexes error contexts.

The first result is the rate from the topic to lists and facets. The second is the rate at which the
dead letters then become searchable by text.

The benchmark has its own broker and PostgreSQL. BENCH_RECORDS contexts are in the topic before it
starts. With BENCH_ON_TOP=1 the index begins as a copy of the database of `make seed`, otherwise
empty. Both rates are measured from the first committed batch.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from benchmarks import seed
from benchmarks.contexts import contexts
from benchmarks.ground import BenchmarkSetup, ground
from benchmarks.results import BenchmarkResult, publish
from benchmarks.rounds import records

TOPIC = "bench.dlq"
DIFFERENT = 20_000
LOOK_S = 0.1
GOAL, TEXT_GOAL = 10_000, 2_000
ON_TOP = os.environ.get("BENCH_ON_TOP") == "1"


def run() -> tuple[BenchmarkResult, BenchmarkResult]:
    """Index once, print and write the results."""
    many = records(200_000)
    with seed.scratch_database(copied=ON_TOP) as url, ground() as where:
        seed.connect(url)
        there = _indexed_count()
        _begin_partition()
        where.fill(TOPIC, contexts(min(many, DIFFERENT)), many)
        listed, searchable = _rates(where, url, many)
    name = f"index-on-{there}" if ON_TOP else "index"
    return (
        publish(BenchmarkResult(name, "error contexts/s", [listed], None, GOAL)),
        publish(BenchmarkResult(f"{name}-text", "texts/s", [searchable], None, TEXT_GOAL)),
    )


def _rates(where: BenchmarkSetup, url: str, many: int) -> tuple[float, float]:
    """Return the dead letters per second into the list, and then into the text index."""
    env = {
        **os.environ,
        "DATABASE_URL": url,
        "KAFKA_BOOTSTRAP_SERVERS": where.bootstrap,
        "DLQ_TOPICS": TOPIC,
        "LOCAL_DIR": str(where.folder),
    }
    with subprocess.Popen([sys.executable, "manage.py", "index_deadletters", "--once"], env=env, cwd=seed.ROOT) as one:
        first, began = _until(one, 1)
        _, listed = _until(one, many)
        waiting = _waiting()
        if one.wait() != 0 or _waiting():
            raise RuntimeError("the indexer did not finish")
        ended = time.monotonic()
    return (many - first) / (listed - began), waiting / (ended - listed)


def _until(program: subprocess.Popen[bytes], position: int) -> tuple[int, float]:
    """Wait until the index has reached `position`; return its position and the time."""
    from django.db.models import Sum

    from dlqadmin.deadletters.models import IndexPosition

    while program.poll() is None:
        at = IndexPosition.objects.filter(topic=TOPIC).aggregate(at=Sum("position"))["at"] or 0
        if at >= position:
            return at, time.monotonic()
        time.sleep(LOOK_S)
    raise RuntimeError("the indexer ended too early")


def _waiting() -> int:
    from dlqadmin.deadletters.index.word_index import text_backlog

    return text_backlog().records


def _begin_partition() -> None:
    """Let new rows go into the newest partition, which is empty, as they do after at most a million more."""
    from django.db import connection

    from dlqadmin.deadletters.index import partitions

    newest = partitions.partitions()[-1]
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('deadletters_deadletter_id_seq', %s)", [max(newest.first, partitions.last_id())])


def _indexed_count() -> int:
    """Return the number of dead letters in the index."""
    from django.db.models import Sum

    from dlqadmin.deadletters.models import CountDay

    return CountDay.objects.aggregate(n=Sum("n"))["n"] or 0

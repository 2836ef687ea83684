"""replay: the time from Run to the last outcome of many dead letters.

The replay has BENCH_ROWS dead letters (232,000) and no rate limit. All parts are real and run in
their own processes: broker, PostgreSQL, Redis, two Celery workers and beat, the indexer, and the
engine. The engine's sink reads the replayed records and writes them to /dev/null.

The anchor is a short loop that reads the same records and writes them to a topic in Kafka
transactions of 500, with its position. It has no plan, no ledger, no outcomes. The CPU seconds of
each process are printed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks import seed
from benchmarks.ground import PARTITIONS, BenchmarkSetup, ground
from benchmarks.ours import start_engine
from benchmarks.processes import ProcessUsage, family
from benchmarks.programs import run_program
from benchmarks.results import BenchmarkResult, publish
from benchmarks.sinks import sink
from demo.postgres import LocalPostgres
from dlqadmin.host.network import wait_until
from dlqadmin.host.redis_server import LocalRedis

ROWS = int(os.environ.get("BENCH_ROWS", "232000"))
SOURCE, TARGET, COPY, CONNECTOR = "bench.source", "bench.replayed", "bench.copied", "bench-sink"
GOAL_S = 20.0
CHUNK = 500
LOOK_S = 0.1
PATIENCE_S = 1800.0
READY_S = 120.0
CELERY = (sys.executable, "-m", "celery", "--quiet", "-A", "dlqadmin.celery")
THREADS = ("--pool", "threads", "--concurrency", "8", "--loglevel", "WARNING")
# Settings of a production server on such a machine. Committed data are on the disk.
DATABASE = {"shared_buffers": "1GB", "max_wal_size": "4GB", "checkpoint_timeout": "15min"}


def run() -> BenchmarkResult:
    """Copy, then replay; print and write the result."""
    server, redis = LocalPostgres(None, DATABASE).start(), LocalRedis().start()
    try:
        with ground() as where:
            for topic in (TARGET, COPY, f"{CONNECTOR}.dlq"):
                where.create(topic)
            env = _environment(where, server.url, redis.url)
            os.environ |= env
            seed.connect(server.url)
            seed.seed(ROWS, text=False)
            _fill(where)
            copied = _copy(where)
            print(f"raw transactional copy: {copied:.1f} s, {ROWS / copied:,.0f} records/s", flush=True)
            with _product(where, env) as pids:
                took = _replay(pids)
    finally:
        redis.stop()
        server.stop()
    return publish(BenchmarkResult("replay", "s from Run to the last outcome", [took], [copied], None, "lower"))


def _environment(where: BenchmarkSetup, database: str, redis: str) -> dict[str, str]:
    return {
        "DATABASE_URL": database,
        "REDIS_URL": redis,
        "KAFKA_BOOTSTRAP_SERVERS": where.bootstrap,
        "LOCAL_DIR": str(where.folder),
        "DLQ_TOPICS": f"{CONNECTOR}.dlq",
        "STATUS_TOPIC": f"{CONNECTOR}-status",
        "CONFIG_TOPIC": f"{CONNECTOR}-configs",
        "OFFSET_TOPIC": f"{CONNECTOR}-offsets",
        "OUTCOME_TOPIC": f"{CONNECTOR}-outcomes",
    }


def _fill(where: BenchmarkSetup) -> None:
    """Write the records of the dead letters to a topic."""
    from dlqadmin.deadletters.models import DeadLetterBody

    where.create(SOURCE)
    producer = Producer({"bootstrap.servers": where.bootstrap, "linger.ms": 20})
    for key, value in DeadLetterBody.objects.values_list("key", "value").iterator(chunk_size=5000):
        while True:
            try:
                producer.produce(SOURCE, None if value is None else bytes(value), None if key is None else bytes(key))
            except BufferError:
                producer.poll(0.05)
            else:
                break
    producer.flush()


def _copy(where: BenchmarkSetup) -> float:
    """Return the time that the loop takes (s)."""
    consumer = Consumer({"bootstrap.servers": where.bootstrap, "group.id": COPY, "enable.auto.commit": False})
    producer = Producer({"bootstrap.servers": where.bootstrap, "transactional.id": COPY, "compression.type": "lz4"})
    producer.init_transactions()
    consumer.assign([TopicPartition(SOURCE, number, 0) for number in range(PARTITIONS)])
    began, left = time.monotonic(), ROWS
    while left:
        messages = consumer.consume(min(CHUNK, left), 1.0)
        if not messages:
            continue
        producer.begin_transaction()
        for message in messages:
            producer.produce(COPY, message.value(), message.key())
        places = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(
            [place for place in places if place.offset >= 0], consumer.consumer_group_metadata()
        )
        producer.commit_transaction()
        left -= len(messages)
    took = time.monotonic() - began
    consumer.close()
    return took


@contextmanager
def _product(where: BenchmarkSetup, env: Mapping[str, str]) -> Iterator[Mapping[str, int]]:
    """Run all processes of the product, and yield their ids.

    It yields once the engine reads the target and the dashboard knows its tasks.
    """
    home = where.folder / "product"
    home.mkdir()
    beat = ["beat", "--schedule", str(home / "beat"), "--pidfile=", "--loglevel", "WARNING"]
    with ExitStack() as stack:
        engine = stack.enter_context(
            start_engine(
                home / "engine",
                where.bootstrap,
                CONNECTOR,
                sink(CONNECTOR, "FileStreamSink", topic=TARGET).replace(JSON, BYTES),
            )
        )
        env = {**env, "ENGINE_URL": f"http://127.0.0.1:{engine.port}"}
        os.environ |= env
        commands: dict[str, Sequence[str]] = {
            "worker": [*CELERY, "worker", "--hostname", "worker@%h", "--queues", "celery", *THREADS],
            "replayer": [*CELERY, "worker", "--hostname", "replayer@%h", "--queues", "replays", *THREADS],
            "beat": [*CELERY, *beat],
            "indexer": [sys.executable, "manage.py", "index_deadletters"],
        }
        pids = {"engine": engine.pid}
        for name, command in commands.items():
            pids[name] = stack.enter_context(run_program(command, home / f"{name}.log", env=env)).pid
        wait_until(_is_ready, "the engine's connector with the dashboard", READY_S)
        yield pids


JSON, BYTES = "connect.json.JsonConverter", "connect.converters.ByteArrayConverter"


def _is_ready() -> bool:
    from dlqadmin.metrics.models import TaskSnapshot

    return TaskSnapshot.objects.filter(connector=CONNECTOR, state="RUNNING").count() == 2


def _replay(pids: Mapping[str, int]) -> float:
    """Run a planned replay of all dead letters; return the time until all outcomes are known (s)."""
    from django.contrib.auth.models import User
    from django.utils import timezone

    from dlqadmin.replays.items import item_counters
    from dlqadmin.replays.jobs import controls
    from dlqadmin.replays.models import ItemState

    replay = _planned()
    person = User.objects.get_or_create(username="operator-1")[0]
    before = {name: _cpu(pid) for name, pid in pids.items()}
    began = time.monotonic()
    controls.run(replay, person, "the cause is fixed", "digest", timezone.now())
    ran, sent = time.monotonic() - began, 0.0
    while True:
        states = item_counters.states(replay.pk)
        if not sent and not states[ItemState.QUEUED] + states[ItemState.PLANNED]:
            sent = time.monotonic() - began
        if states[ItemState.PASSED] == ROWS:
            break
        if time.monotonic() - began > PATIENCE_S:
            raise RuntimeError(f"not every record has an outcome after {PATIENCE_S:g} s: {dict(states)}")
        time.sleep(LOOK_S)
    took = time.monotonic() - began
    print(f"run answered after {ran:.1f} s, all sent after {sent:.1f} s, all settled after {took:.1f} s", flush=True)
    for name, pid in pids.items():
        print(f"  {name:<9} {_cpu(pid) - before[name]:7.1f} s of CPU", flush=True)
    return took


def _planned() -> Any:
    """Create a replay of all dead letters in the state after planning."""
    from django.db import connection
    from django.utils import timezone

    from dlqadmin.replays.items import item_states
    from dlqadmin.replays.models import Replay, Selection

    now = timezone.now()
    selection = Selection.objects.create(
        created_at=now, filters={}, title="all", watermark=ROWS, count=ROWS, digest="digest"
    )
    replay = Replay.objects.create(
        selection=selection, title="all", target_topic=TARGET, rate=0, planned_at=now, created_at=now,
        plan={"runnable": True, "digest": "digest"},
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(ITEMS, [replay.pk, CONNECTOR, TARGET, now])
        cursor.execute("ANALYZE")
    item_states.created(replay)
    return replay


ITEMS = """
    INSERT INTO replays_replayitem (replay_id, ordinal, dead_letter_id, lineage, watched, target_topic, edited, state,
        reason, evidence, state_at, attempt, sent_digest, history)
    SELECT %s, row_number() OVER (ORDER BY id) - 1, id,
        topic || '/' || "partition" || '/' || "offset", %s, %s, false, 'planned', '', '', %s, 1, '', '[]'
    FROM deadletters_deadletter
"""


def _cpu(pid: int) -> float:
    return sum(usage.cpu_s for usage in _family(pid))


def _family(pid: int) -> Sequence[ProcessUsage]:
    return family(pid) if Path(f"/proc/{pid}").exists() else []

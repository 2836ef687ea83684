"""Sources that are delivered exactly once, on a real broker (KIP-618)."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import orjson
import pytest

from dlqadmin.host.network import wait_until
from engine.assembly.lease import run_lease
from engine.record.record import TopicPartition
from engine.worker_messages import Lease, LeaseEnd
from tests.broker.connector import read_all
from tests.broker.source import ExactlyOnce
from tests.broker.sources import FIBONACCI
from tests.broker.test_lease import run_in_child

PROGRAM = (
    "import sys, msgspec; from engine.assembly.lease import run_lease; from engine.ports import Lease;"
    "lease = msgspec.json.decode(sys.stdin.buffer.read(), type=Lease); print('ready', flush=True); run_lease(lease)"
)
SLOW = {"transforms": "slow", "transforms.slow.type": "tests.broker.steps.Slow"}
ABORTED = {n for a, b in ((1, 2), (5, 8), (21, 34), (89, 144)) for n in range(a + 1, b + 1)}


def following(broker: str, path: Path, **more: str) -> ExactlyOnce:
    """A source of a file."""
    made = ExactlyOnce(broker, {"connector.class": "FileStreamSource", "file": str(path), "topic": "later"})
    made.props |= {"topic": made.topic, **more}
    made.configure(1)
    return made


def counting(broker: str, tasks: int = 1, /, kind: str = "Counting", **more: str) -> ExactlyOnce:
    """A source of our own that counts."""
    made = ExactlyOnce(broker, {"connector.class": f"tests.broker.sources.{kind}", "topic": "later"}, tasks)
    made.props |= {"topic": made.topic, "count": "100", **more}
    made.configure(1)
    return made


def append(path: Path, begin: int, end: int) -> None:
    with path.open("a") as file:
        file.write("".join(f"{number}\n" for number in range(begin, end)))


def start_child(lease: Lease) -> subprocess.Popen[bytes]:
    """A worker in a process of its own, about to run the lease."""
    child = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(msgspec.json.encode(lease))
    child.stdin.close()
    assert child.stdout.readline() == b"ready\n"
    child.stdout.close()
    return child


def kill_until_done(source: ExactlyOnce, count: int, emitted: str) -> int:
    """Kill -9 workers in the middle of their work, until all records are there; how many were killed."""
    kills, dice = 0, random.Random(618)
    while len(written := committed(source, emitted)) < count:
        assert kills < 60, f"only {len(written)} of {count}"
        child = start_child(source.lease())
        before = len(written)
        late = time.monotonic() + 20
        while len(committed(source, emitted)) == before and child.poll() is None and time.monotonic() < late:
            time.sleep(0.01)
        time.sleep(dice.random() / 5)
        if child.poll() is None:
            child.send_signal(signal.SIGKILL)
            kills += 1
        child.wait(60)
    return kills


def committed(source: ExactlyOnce, topic: str) -> list[bytes | None]:
    """What a read_committed reader sees now, up to the first open transaction."""
    return [record.value for record in read_all(source.broker, TopicPartition(topic, 0))]


def test_lines_and_offsets_are_committed_together(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "in"
    append(path, 0, 5000)
    source = following(broker, path)
    report = source.run()
    assert (report.end, report.trace, report.progressed) == (LeaseEnd.CAUGHT_UP, None, True)
    assert source.emitted() == list(range(5000))
    assert source.offsets() == {f'["{source.name}",{{"filename":"{path}"}}]': {"position": path.stat().st_size}}
    sizes = [report.metrics[f"transaction-size-{name}"] for name in ("min", "max", "avg")]
    assert sizes == [1000, 2000, 1666]  # each poll was one: 2000 lines, 2000 and 1000
    append(path, 5000, 5100)
    assert source.run().metrics["records-delivered"] == 5100
    assert source.emitted() == list(range(5100))


def test_a_dead_letter_is_committed_with_the_records_around_it(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("good\nbad\nfine\n")
    source = following(broker, path, **{"transforms": "pick", "transforms.pick.type": "tests.broker.steps.Picky"})
    source.with_dead_letters()
    source.configure(2)
    report = source.run()
    assert (report.end, report.trace, source.values()) == (LeaseEnd.CAUGHT_UP, None, ["good", "fine"])
    [context] = source.contexts()
    assert context["record"]["source_offset"] == {"position": "9"}
    assert len(source.letters()) == report.metrics["records-dead-lettered"] == 1


def test_a_line_too_large_for_its_topic_is_the_only_one_that_is_not_written(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "in"
    lines = [f"{number}" for number in range(100)]
    lines[41] = "x" * 200_000
    path.write_text("".join(f"{line}\n" for line in lines))
    source = following(broker, path, **{"producer.override.compression.type": "none"}).with_dead_letters()
    source.props["topic"] = f"{source.topic}.small"
    source.admin.create_topic(source.props["topic"], 1, 1, {"max.message.bytes": "100000"})
    source.configure(2)
    report = source.run()
    assert (report.end, report.trace) == (LeaseEnd.CAUGHT_UP, None)
    assert [record.value for record in source.out(source.props["topic"])] == [
        line.encode() for line in lines if len(line) < 3
    ]
    assert len(source.letters()) == 1


@pytest.mark.parametrize("call", ["start", "poll", "commit_record", "commit"])
def test_a_worker_that_is_killed_at_any_call_of_its_source_doubles_nothing(
    broker: str, tmp_path: Path, call: str
) -> None:
    source = counting(broker, **{"die.in": call, "marker": str(tmp_path / "died")})
    assert run_in_child(source.lease()) == -signal.SIGKILL
    assert source.run().end is LeaseEnd.CAUGHT_UP
    assert source.emitted() == list(range(1, 101))


@pytest.mark.soak  # a series of kills; the test above is the short case
def test_workers_of_a_file_that_are_killed_again_and_again_double_no_line(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "in"
    append(path, 0, 4000)
    source = following(broker, path, **SLOW, **{"batch.size": "40"})
    assert kill_until_done(source, 4000, source.topic) >= 2
    assert source.emitted() == list(range(4000))
    assert source.run().metrics["records-delivered"] == 4000


@pytest.mark.parametrize(
    ("rows", "batch"), [pytest.param(2000, 100, id="once"), pytest.param(4000, 40, id="often", marks=pytest.mark.soak)]
)
def test_workers_of_a_table_that_are_killed_double_no_row(broker: str, tmp_path: Path, rows: int, batch: int) -> None:
    """A series of kills is for soak."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT)")
        database.executemany("INSERT INTO orders (name) VALUES (?)", [(f"item {n}",) for n in range(rows)])
    database.close()
    own = {"connector.class": "SqlSource", "connection.url": f"sqlite:///{path}", "tables": "orders"}
    source = ExactlyOnce(broker, own)
    source.props |= {"topic.prefix": f"{source.topic}-", "value.converter": "JsonConverter", **SLOW}
    source.props |= {"value.converter.schemas.enable": "false", "batch.max.rows": str(batch), "poll.interval.ms": "100"}
    topic = f"{source.topic}-orders"
    source.admin.create_topic(topic, 1, 1)
    source.configure(1)
    assert kill_until_done(source, rows, topic) >= 1
    assert [orjson.loads(value or b"")["id"] for value in committed(source, topic)] == list(range(1, rows + 1))


def test_a_zombie_that_wakes_after_its_successor_changes_nothing(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "in"
    append(path, 0, 600)
    source = following(broker, path, **SLOW, **{"batch.size": "50"})
    zombie = start_child(source.lease(budget_ms=60_000))
    wait_until(lambda: len(source.emitted()) >= 100, "The first", 60, 0.01)
    zombie.send_signal(signal.SIGSTOP)
    try:
        assert source.run(budget_ms=60_000).end is LeaseEnd.CAUGHT_UP
        assert source.emitted() == list(range(600))
    finally:
        zombie.send_signal(signal.SIGCONT)
    zombie.wait(60)
    assert source.emitted() == list(range(600))
    append(path, 600, 610)
    source.run()
    assert source.emitted() == list(range(610))


def test_a_task_that_is_not_let_in_yet_writes_nothing(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "in"
    append(path, 0, 5)
    source = following(broker, path)
    stale = source.lease()
    source.configure(2)
    [report] = run_lease(stale)
    assert (report.end, source.emitted()) == (LeaseEnd.FENCED, [])


@pytest.mark.parametrize(
    "boundary",
    [
        {"transaction.boundary": "poll"},
        {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "10000"},
    ],
    ids=["poll", "interval"],
)
def test_each_task_emits_its_numbers_without_gap_or_double(broker: str, boundary: dict[str, str]) -> None:
    """E-88, ExactlyOnceSourceIntegrationTest#testPollBoundary;
    E-89, ExactlyOnceSourceIntegrationTest#testIntervalBoundary: a lease that ends commits before its interval does."""
    source = counting(broker, 3, count="150", **boundary)
    for generation in (1, 2):
        source.configure(generation)
        reports = run_lease(source.lease())
        assert {(report.end, report.trace) for report in reports} == {(LeaseEnd.CAUGHT_UP, None)}
        transactions = {report.metrics["transaction-size-max"] for report in reports if report.progressed}
        assert transactions == (
            set() if generation == 2 else {10} if boundary["transaction.boundary"] == "poll" else {150}
        )
    seen: dict[bytes | None, list[int]] = {}
    for record in source.out():
        seen.setdefault(record.key, []).append(int(record.value or b""))
    assert seen == {key: list(range(1, 151)) for key in (b"0", b"1", b"2")}


def test_a_source_ends_its_transactions_where_it_wants(broker: str) -> None:
    """E-90, ExactlyOnceSourceIntegrationTest#testConnectorBoundary."""
    source = counting(broker, kind="Fibonacci", count="233", **{"transaction.boundary": "connector"})
    report = source.run()
    assert (report.end, report.trace) == (LeaseEnd.CAUGHT_UP, None)
    assert source.emitted() == [number for number in range(1, 234) if number not in ABORTED]
    offsets = [
        orjson.loads(record.value or b"null")["at"]
        for number in range(3)
        for record in read_all(broker, TopicPartition(source.offset_topic, number))
        if b"engine.task" not in (record.key or b"")
    ]
    assert offsets == list(FIBONACCI)  # Kafka's test reads as far as 89: all of them in order, aborted or not
    assert report.metrics["records-filtered"] == len(ABORTED)


def test_a_transaction_that_its_source_never_ends_is_read_again(broker: str) -> None:
    source = counting(broker, kind="Fibonacci", count="20", **{"transaction.boundary": "connector"})
    report = source.run(budget_ms=500)
    assert report.end in {LeaseEnd.BUDGET, LeaseEnd.CAUGHT_UP}
    assert source.emitted() == [1, 3, 4, 5, 9, 10, 11, 12, 13]
    source.props["count"] = "21"
    source.configure(2)
    source.run()
    assert source.emitted() == [1, 3, 4, 5, *range(9, 22)]


def test_a_task_that_writes_to_its_own_offsets_topic_fails_at_once(broker: str) -> None:
    """E-95, ExactlyOnceSourceIntegrationTest#testPotentialDeadlockWhenProducingToOffsetsTopic."""
    source = counting(broker, kind="IntoOffsets", **{"offsets.storage.topic": "later"})
    begun = time.monotonic()
    report = source.run()
    assert (report.end, time.monotonic() - begun < 30) == (LeaseEnd.FAILED, True), report.trace
    assert "the topic of its own offsets" in (report.trace or "")


def test_leases_with_open_transactions_beside_them_wait_and_lose_nothing(broker: str) -> None:
    source = counting(broker)
    source.admin.create_topic(source.offset_topic, 1, 1, {"cleanup.policy": "compact"})
    stalled = subprocess.Popen(
        [sys.executable, "-c", STALLED, json.dumps([broker, source.offset_topic])], stdout=subprocess.PIPE
    )
    assert stalled.stdout is not None
    assert stalled.stdout.readline() == b"open\n"
    stalled.stdout.close()
    try:
        report = source.run()
        assert report.end is LeaseEnd.PARKED
        assert "a transaction may be open there" in (report.trace or "")
    finally:
        stalled.kill()
        stalled.wait(10)
    wait_until(lambda: source.run().end is not LeaseEnd.PARKED, "The transaction's end", 60)
    assert source.emitted() == list(range(1, 101))


STALLED = """
import json, sys, time
import confluent_kafka as ck
broker, topic = json.loads(sys.argv[1])
options = {"bootstrap.servers": broker, "transactional.id": topic, "transaction.timeout.ms": 8000}
producer = ck.Producer(options)
producer.init_transactions(10)
producer.begin_transaction()
producer.produce(topic, b"{}", b"[]")
producer.flush(10)
print("open", flush=True)
time.sleep(60)
"""

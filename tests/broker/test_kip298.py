"""What KIP-298 promises, on a real broker: retries outlive workers, dead letters are written once and never lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import orjson
import pytest

from demo.broker import LocalBroker
from engine.assembly.lease import run_lease
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import admin_settings
from engine.record.record import TopicPartition
from engine.worker_messages import Lease, LeaseEnd, TaskReport
from tests.broker.connector import Connector, file_sink

LETTERS = "errors.deadletterqueue."
BUCKETS = ("records-delivered", "records-dead-lettered", "records-skipped", "records-filtered")
LEASE_IN_CHILD = (
    "import sys, msgspec; from engine.assembly.lease import run_lease; from engine.ports import Lease, TaskReport;"
    "reports = run_lease(msgspec.json.decode(sys.stdin.buffer.read(), type=Lease));"
    "sys.stdout.buffer.write(msgspec.json.encode(reports))"
)


def balance(report: TaskReport) -> tuple[int, ...]:
    return tuple(report.metrics[name] for name in BUCKETS)


def start_child(lease: Lease) -> subprocess.Popen[bytes]:
    """A worker of its own that runs the lease and writes its reports."""
    child = subprocess.Popen([sys.executable, "-c", LEASE_IN_CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    child.stdin.write(msgspec.json.encode(lease))
    child.stdin.close()
    child.stdin = None
    return child


def run_in_child(lease: Lease) -> TaskReport:
    written, _ = start_child(lease).communicate(timeout=60)
    (report,) = msgspec.json.decode(written, type=tuple[TaskReport, ...])
    return report


def wait_until(at_ms: int | None) -> None:
    assert at_ms is not None
    time.sleep(max(at_ms / 1000 - time.time(), 0))


def test_attempts_and_the_first_failure_outlive_leases_and_killed_workers(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out")).with_dead_letters(
        **{"errors.retry.limit": "4", "errors.retry.on": "all"}
    )
    connector.configure(1)
    connector.send([b"1", b"{", b"3"])
    report = connector.run()  # waits 300 and 600 ms itself, parks before 1 200
    assert (report.end, report.metrics["records-consumed"]) == (LeaseEnd.PARKED, 1)
    parked_at, retries = time.time() * 1000, report.metrics["total-retries"]
    assert retries >= 1
    wait_until(report.wake_at)
    killed = start_child(connector.lease())
    time.sleep(0.2)  # somewhere between its start and its next wait
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    report = run_in_child(connector.lease())
    while report.end is LeaseEnd.PARKED:
        wait_until(report.wake_at)
        report = run_in_child(connector.lease())
    assert (report.end, balance(report)) == (LeaseEnd.CAUGHT_UP, (2, 1, 0, 0))
    (context,) = connector.contexts()
    assert context["attempt"] == report.metrics["total-retries"] == 4
    assert context["first_failure_time"] < parked_at
    assert context["elapsed_ms"] >= (300 + 600 + 1200 + 2400) // 2  # half of each wait at the least


def test_a_failing_record_is_dead_lettered_once_however_often_its_task_is_restarted(
    broker: str, tmp_path: Path
) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out"))
    connector.props |= {f"{LETTERS}topic.name": connector.dlq, f"{LETTERS}include.messages": "true"}
    connector.configure(1)
    connector.send([b"1", b"{", b"3"])
    for _ in range(4):  # once, and three restarts
        report = connector.run()
        assert (report.end, report.positions) == (LeaseEnd.FAILED, {f"{connector.topic}-0": 1})
        connector.restart()
    assert sum(len(connector.read(TopicPartition(connector.dlq, number))) for number in range(5)) == 1
    connector.props["errors.tolerance"] = "all"
    connector.configure(2)
    report = connector.run()
    assert (report.end, balance(report)) == (LeaseEnd.CAUGHT_UP, (2, 1, 0, 0))
    assert sum(len(connector.read(TopicPartition(connector.dlq, number))) for number in range(5)) == 1
    assert (tmp_path / "out").read_text().splitlines() == ["1", "3"]


def test_a_dead_letter_that_can_not_be_written_fails_the_task_and_nothing_is_lost(
    broker: str, own_broker: LocalBroker, tmp_path: Path
) -> None:
    """Its cluster dies in the middle of a lease."""
    producer = f"{LETTERS}producer."
    connector = Connector(broker, file_sink(tmp_path / "out")).with_dead_letters(
        **{
            "errors.retry.limit": "1",
            f"{producer}bootstrap.servers": own_broker.bootstrap_servers,
            f"{producer}delivery.timeout.ms": "1500",
            f"{producer}request.timeout.ms": "1000",
            "transforms": "end",
            "transforms.end.type": "tests.broker.steps.EndProcess",
        }
    )
    assert own_broker.process is not None
    connector.props["transforms.end.pid"] = str(own_broker.process.pid)
    connector.configure(1)
    connector.send([b"1", b'"end"', b"{", b"3"])
    report = connector.run()
    assert (report.end, report.progressed, report.metrics["records-consumed"]) == (LeaseEnd.FAILED, False, 0)
    assert connector.dlq in str(report.trace)
    assert report.metrics["deadletterqueue-produce-failures"] == 1  # not 2, though it was tried twice
    own_broker.restart()
    for name in ("transforms", "transforms.end.type", "transforms.end.pid"):
        del connector.props[name]
    connector.configure(2)
    connector.restart()
    report = connector.run()
    assert (report.end, balance(report)) == (LeaseEnd.CAUGHT_UP, (3, 1, 0, 0))
    other = Connector(own_broker.bootstrap_servers, {})
    contexts = [orjson.loads(one.value or b"") for one in other.read(TopicPartition(connector.dlq, 0))]
    assert [context["record"]["offset"] for context in contexts] == [2]
    assert connector.admin.partitions(connector.dlq) is None  # nothing of it on the connector's own cluster


def test_more_replicas_than_brokers_are_capped_with_a_warning(
    broker: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out")).with_dead_letters()
    connector.props.pop(f"{LETTERS}topic.partitions")
    connector.run()
    assert f"topic {connector.dlq}: replication factor 3 capped to 1 brokers" in caplog.messages
    assert KafkaAdmin(admin_settings({"bootstrap.servers": broker})).partitions(connector.dlq) == 5


def test_a_record_larger_than_its_dead_letter_topic_takes_leaves_a_pointer(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out")).with_dead_letters()
    connector.admin.create_topic(connector.dlq, 1, 1, {"max.message.bytes": "20000"})
    connector.configure(1)
    connector.send([b'"' + b"x" * 100_000], key=b"k" * 30_000)
    report = connector.run()
    assert (report.end, balance(report)) == (LeaseEnd.CAUGHT_UP, (0, 1, 0, 0))
    (letter,), (context,) = connector.letters(), connector.contexts()
    assert (letter.key, context["truncated"]) == (None, "pointer")
    assert (context["original_record"]["value_size"], context["original_record"]["key_size"]) == (100_001, 30_000)
    assert orjson.loads(letter.value or b"")["index"] == 1


def test_a_dead_letter_is_no_larger_than_its_producer_takes(broker: str, tmp_path: Path) -> None:
    limit = {f"{LETTERS}producer.max.request.size": "20000"}
    connector = Connector(broker, file_sink(tmp_path / "out")).with_dead_letters(**limit)
    connector.configure(1)
    connector.send([b'"' + b"x" * 100_000])
    report = connector.run()
    assert (report.end, balance(report)) == (LeaseEnd.CAUGHT_UP, (0, 1, 0, 0))
    (letter,) = connector.letters()
    assert 0 < len(letter.value or b"") < 20_000


def test_a_dead_letter_cluster_that_is_away_is_waited_for_once_and_the_other_tasks_go_on(
    broker: str, tmp_path: Path
) -> None:
    away = {f"{LETTERS}producer.bootstrap.servers": "127.0.0.1:1"}
    connectors = [Connector(broker, file_sink(tmp_path / "out-0")).with_dead_letters(**away)]
    connectors += [Connector(broker, file_sink(tmp_path / f"out-{number}")) for number in (1, 2)]
    connectors[1].with_dead_letters(**away)
    for connector in connectors:
        connector.worker = connectors[0].worker
        connector.configure(1)
        connector.send([b"1"])
    tasks = tuple(task for connector in connectors for task in connector.lease().tasks)
    started = time.monotonic()
    reports = run_lease(Lease("pool", tasks, 1, 20_000, connectors[0].worker))
    took_s = time.monotonic() - started
    found = {report.connector: report for report in reports}
    ends = [found[connector.name].end for connector in connectors]
    assert ends == [LeaseEnd.PARKED, LeaseEnd.PARKED, LeaseEnd.CAUGHT_UP]
    assert took_s < 9  # five for the first, none for the second
    for connector in connectors[:2]:
        report = found[connector.name]
        assert f"dead letter topic {connector.dlq}: its cluster at 127.0.0.1:1 does not respond" in str(report.trace)
        assert (report.wake_at or 0) > time.time() * 1000 + 5_000


def test_letters_to_a_cluster_that_dies_park_their_task_and_are_written_when_it_is_back(
    broker: str, own_broker: LocalBroker, tmp_path: Path
) -> None:
    """Nobody says how often to try, nor for how long: the task goes on as long as a producer would by itself."""
    connector = Connector(broker, file_sink(tmp_path / "out")).with_dead_letters(
        **{
            f"{LETTERS}producer.bootstrap.servers": own_broker.bootstrap_servers,
            "transforms": "end",
            "transforms.end.type": "tests.broker.steps.EndProcess",
        }
    )
    other = Connector(broker, file_sink(tmp_path / "other"))
    other.worker = connector.worker
    assert own_broker.process is not None
    connector.props["transforms.end.pid"] = str(own_broker.process.pid)
    connector.configure(1)
    other.configure(1)
    connector.send([b"1", b'"end"', b"{", b"3"])
    other.send([b"1"])
    tasks = (*connector.lease().tasks, *other.lease().tasks)
    started = time.monotonic()
    found = {one.connector: one for one in run_lease(Lease("pool", tasks, 1, 20_000, connector.worker))}
    assert time.monotonic() - started < 15
    report = found[connector.name]
    assert (report.end, found[other.name].end) == (LeaseEnd.PARKED, LeaseEnd.CAUGHT_UP)
    assert (report.progressed, report.metrics["deadletterqueue-produce-failures"]) == (False, 0)
    assert "writing dead letters failed once" in str(report.trace)
    own_broker.restart()
    for name in ("transforms", "transforms.end.type", "transforms.end.pid"):
        del connector.props[name]
    report = connector.run()
    assert (report.end, balance(report)) == (LeaseEnd.CAUGHT_UP, (3, 1, 0, 0))
    assert report.metrics["total-retries"] == 1

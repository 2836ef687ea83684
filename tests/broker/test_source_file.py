from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from demo.broker import LocalBroker
from dlqadmin.host.network import free_ports
from engine.worker_messages import LeaseEnd, TaskReport
from tests.broker.source import SourceConnector

TRANSFORM = {"transforms": "pick", "transforms.pick.type": "tests.broker.steps.Picky"}


def connector(broker: str, path: Path, **more: str) -> SourceConnector:
    made = SourceConnector(broker, {"connector.class": "FileStreamSource", "file": str(path), "topic": "later"})
    made.props |= {"topic": made.topic, **more}
    made.configure(1)
    return made


def append(path: Path, *lines: str) -> None:
    with path.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines))


def test_a_file_arrives_line_by_line_and_the_lease_says_when_to_look_again(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "in"
    append(path, *(f"line {number}" for number in range(5000)))
    source = connector(broker, path)
    report = source.run()
    assert (report.end, report.trace, report.progressed) == (LeaseEnd.CAUGHT_UP, None, True)
    assert report.wake_at is not None
    assert source.values() == [f"line {number}" for number in range(5000)]
    assert report.metrics["records-consumed"] == report.metrics["records-delivered"] == 5000
    key = f'["{source.name}",{{"filename":"{path}"}}]'
    assert source.offsets() == {key: {"position": path.stat().st_size}}


def test_leases_that_end_in_order_lose_no_line_and_double_none(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "in"
    append(path, *(f"{number}" for number in range(1000)))
    slow = {"transforms": "slow", "transforms.slow.type": "tests.broker.steps.Slow", "batch.size": "50"}
    source = connector(broker, path, **slow)
    ends: list[LeaseEnd | None] = []
    while not ends or ends[-1] is not LeaseEnd.CAUGHT_UP:
        report = source.run(budget_ms=300)
        assert report.trace is None, report.trace
        ends.append(report.end)
    assert LeaseEnd.BUDGET in ends
    assert source.values() == [f"{number}" for number in range(1000)]
    assert report.metrics["records-consumed"] == report.metrics["records-delivered"] == 1000
    append(path, "later")
    assert source.run().end is LeaseEnd.CAUGHT_UP
    assert source.values()[-1] == "later"
    source.configure(2)
    append(path, "of another generation")
    assert source.run().metrics["records-consumed"] == 1002
    assert source.values()[1000:] == ["later", "of another generation"]


def test_a_failing_line_is_a_dead_letter_with_its_source_offset(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "in"
    append(path, "good", "bad", "fine")
    source = connector(broker, path, **TRANSFORM)
    source.with_dead_letters(**{"errors.deadletterqueue.context.headers.enable": "true"})
    source.configure(1)
    report = source.run()
    assert report.end is LeaseEnd.CAUGHT_UP
    assert source.values() == ["good", "fine"]
    [letter], [context] = source.letters(), source.contexts()
    assert letter.key is None
    assert context["record"]["source_partition"] == {"filename": str(path)}
    assert context["record"]["source_offset"] == {"position": "9"}
    assert context["record"]["value"] == {"schema": "STRING", "value": "bad"}
    assert "original_record" not in context
    assert [stage["type"] for stage in context["stages"]] == [
        "TASK_POLL", "TRANSFORMATION", "KEY_CONVERTER", "VALUE_CONVERTER", "HEADER_CONVERTER", "KAFKA_PRODUCE",
    ]  # fmt: skip
    assert context["stages"][context["index"]]["type"] == "TRANSFORMATION"
    names = {name.removeprefix("__connect.errors.") for name, _ in letter.headers}
    assert "stage" in names
    assert "topic" not in names  # it was never in Kafka
    assert report.metrics["records-dead-lettered"] == 1
    assert source.offsets() == {f'["{source.name}",{{"filename":"{path}"}}]': {"position": path.stat().st_size}}


def test_a_line_that_stops_the_task_is_dead_lettered_once_in_four_runs(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "in"
    append(path, "good", "bad", "fine")
    source = connector(broker, path, **TRANSFORM)
    source.with_dead_letters(**{"errors.tolerance": "none"})
    source.configure(1)
    for _ in range(4):
        report = source.run()
        assert report.end is LeaseEnd.FAILED
        assert "on source partition" in (report.trace or "")
        source.restart()
    assert source.values() == ["good"]
    assert len(source.letters()) == 1
    source.props["errors.tolerance"] = "all"
    source.configure(2)
    assert source.run().end is LeaseEnd.CAUGHT_UP
    assert source.values() == ["good", "fine"]
    assert len(source.letters()) == 1


def test_tolerance_is_counted_over_leases(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "in"
    append(path, "bad")
    limits = {"errors.tolerance.limit": "1", "errors.tolerance.rate.limit": "-1"}
    source = connector(broker, path, **TRANSFORM, **limits)
    assert source.run().tolerance["used"] == 1
    append(path, "bad")
    report = source.run()
    assert (report.end, report.tolerance["used"]) == (LeaseEnd.FAILED, 2)


@pytest.mark.parametrize("topic", ["no topic at all", "x" * 300])
def test_a_topic_that_cannot_be_written_is_an_error_of_each_record(broker: str, tmp_path: Path, topic: str) -> None:
    path = tmp_path / "in"
    append(path, "here", "there", "here")
    router = {"transforms": "route", "transforms.route.type": "tests.broker.steps.Route", "transforms.route.to": topic}
    source = connector(broker, path, **router).with_dead_letters()
    source.configure(1)
    report = source.run()
    assert (report.end, report.trace) == (LeaseEnd.CAUGHT_UP, None)
    assert source.values() == ["here", "here"]
    [context] = source.contexts()
    assert context["stages"][context["index"]]["type"] == "KAFKA_PRODUCE"
    assert context["record"]["topic"] == topic
    assert report.metrics["records-dead-lettered"] == 1


def test_a_topic_that_is_missing_fails_the_task_within_seconds_and_loses_nothing(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "in"
    append(path, "one", "two")
    source = connector(broker, path)
    source.props["topic"] = f"{source.topic}.later"
    source.configure(2)
    begun = time.monotonic()
    report = source.run(budget_ms=60_000)
    assert (report.end, time.monotonic() - begun < 30) == (LeaseEnd.FAILED, True)
    assert "KAFKA_PRODUCE (KafkaProducer) failed on source partition" in (report.trace or "")
    assert "UNKNOWN_TOPIC" in (report.trace or "")
    source.admin.create_topic(source.props["topic"], 1, 1)
    source.restart()
    assert source.run().end is LeaseEnd.CAUGHT_UP
    assert [record.value for record in source.out(source.props["topic"])] == [b"one", b"two"]


def test_a_line_too_large_for_its_topic_is_the_only_one_that_is_not_written(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "in"
    lines = [f"{number}" for number in range(100)]
    lines[41] = "x" * 2_000_000
    append(path, *lines)
    source = connector(broker, path, **{"producer.override.message.max.bytes": "30000000"}).with_dead_letters()
    source.props |= {"producer.override.compression.type": "none", "topic": f"{source.topic}.small"}
    source.admin.create_topic(source.props["topic"], 1, 1, {"max.message.bytes": "100000"})
    source.configure(1)
    report = source.run()
    assert report.end is LeaseEnd.CAUGHT_UP
    assert [record.value for record in source.out(source.props["topic"])] == [
        line.encode() for line in lines if len(line) < 3
    ]
    [context] = source.contexts()
    assert "MSG_SIZE_TOO_LARGE" in context["message"]
    assert (report.metrics["records-delivered"], report.metrics["records-dead-lettered"]) == (99, 1)


def test_a_connector_that_was_never_started_reads_what_kafka_connect_committed(broker: str, tmp_path: Path) -> None:
    path = tmp_path / "in"
    append(path, "one", "two", "three")
    source = connector(broker, path)
    source.admin.create_topic(source.offset_topic, 3, 1, {"cleanup.policy": "compact"})
    key = f'["{source.name}",{{"filename":"{path}"}}]'.encode()
    source.producer.produce(source.offset_topic, key, b'{"position":4}')
    source.producer.flush()
    source.run()
    assert source.values() == ["two", "three"]


def test_a_broker_that_is_killed_and_comes_back_costs_no_line(own_broker: LocalBroker, tmp_path: Path) -> None:
    path = tmp_path / "in"
    append(path, *(f"{number}" for number in range(1500)))
    slow = {"transforms": "slow", "transforms.slow.type": "tests.broker.steps.Slow", "batch.size": "50"}
    source = connector(own_broker.bootstrap_servers, path, **slow)
    source.worker["reconnect.backoff.max.ms"] = "200"

    def run_until_caught_up() -> TaskReport:
        while (report := source.run(budget_ms=60_000)).end is not LeaseEnd.CAUGHT_UP:
            assert report.end is LeaseEnd.PARKED, report.trace
            time.sleep(0.05)
        return report

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_until_caught_up)
        while len(source.values()) < 300:
            assert not running.done()
        own_broker.kill()
        own_broker.start()
        report = running.result(120)
    written = [int(value) for value in source.values()]
    assert sorted(set(written)) == list(range(1500))
    assert report.metrics["records-consumed"] == report.metrics["records-delivered"] == 1500


@pytest.mark.parametrize(("retries", "end"), [("0", LeaseEnd.FAILED), ("-1", LeaseEnd.PARKED)])
def test_a_write_that_times_out_fails_a_task_without_a_retry_budget(
    broker: str, tmp_path: Path, retries: str, end: LeaseEnd
) -> None:
    append(tmp_path / "in", "one", "two")
    # Nobody listens there, so the client repeats its requests until they time out.
    quick = {"bootstrap.servers": f"127.0.0.1:{free_ports(1)[0]}", "delivery.timeout.ms": "1000", "linger.ms": "0"}
    overrides = {f"producer.override.{name}": value for name, value in quick.items()}
    source = connector(broker, tmp_path / "in", **overrides, **{"errors.retry.limit": retries})
    source.worker["connector.client.config.override.policy"] = "All"
    report = source.run(budget_ms=3000)
    assert report.end is end, report.trace
    assert "KAFKA_PRODUCE" in (report.trace or "")
    assert ("_MSG_TIMED_OUT" in (report.trace or "")) is (end is LeaseEnd.FAILED)
    assert source.offsets() == {}

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from engine.assembly.lease import run_lease
from engine.config.topic import Leader, TargetState, leader_record
from engine.worker_messages import Lease, LeaseEnd
from tests.broker.connector import Connector, file_sink
from tests.broker.steps import DyingSink


def balance(metrics: dict[str, int]) -> tuple[int, ...]:
    names = ("records-consumed", "records-delivered", "records-dead-lettered", "records-skipped", "records-filtered")
    return tuple(metrics[name] for name in names)


def test_a_lease_delivers_what_is_there_and_commits_it(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out"), partitions=2)
    connector.send([b'{"a":1}', b'{"a":2}'])
    connector.send([b'{"a":3}'], partition=1)
    report = connector.run()
    assert (report.end, report.progressed, balance(report.metrics)) == (LeaseEnd.CAUGHT_UP, True, (3, 3, 0, 0, 0))
    assert report.positions == report.ends == {f"{connector.topic}-0": 2, f"{connector.topic}-1": 1}
    assert sorted((tmp_path / "out").read_text().splitlines()) == ['{"a":1}', '{"a":2}', '{"a":3}']


def test_bad_records_become_dead_letters_with_key_headers_and_context(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out")).with_dead_letters()
    headers = (("h", b"1"), ("h", None))
    connector.send([b'{"a":1}', b'{"a: 10}'], key=b"\x00key", headers=headers)
    report = connector.run()
    assert balance(report.metrics) == (2, 1, 1, 0, 0)
    (letter,) = connector.letters()
    (context,) = connector.contexts()
    assert (letter.key, letter.headers, letter.timestamp) == (b"\x00key", headers, context["time_of_error"])
    assert (context["index"], context["task_id"], context["record"]["offset"]) == (1, f"{connector.name}-0", 1)
    assert report.stage_failures["1:VALUE_CONVERTER:JsonConverter"] == 1


def test_context_headers_are_kafka_connects(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out")).with_dead_letters(
        **{"errors.deadletterqueue.context.headers.enable": "true"}
    )
    connector.send([b"{"], headers=(("mine", b"1"),))
    connector.run()
    headers = dict(connector.letters()[0].headers)
    assert headers["mine"] == b"1"
    assert (headers["__connect.errors.stage"], headers["__connect.errors.task.id"]) == (b"VALUE_CONVERTER", b"0")


def test_the_next_lease_goes_on_where_the_last_one_ended(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out")).with_dead_letters()
    connector.send([b"1", b"{"])
    connector.run()
    connector.send([b"2", b"{"])
    report = connector.run()
    assert (balance(report.metrics), report.tolerance["used"]) == ((4, 2, 2, 0, 0), 2)
    assert len(connector.letters()) == 2


def test_a_failed_task_reports_its_trace_and_restarting_reads_the_record_again(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out"))
    connector.send([b"1", b"{", b"3"])
    report = connector.run()
    assert (report.end, report.positions) == (LeaseEnd.FAILED, {f"{connector.topic}-0": 1})
    assert "VALUE_CONVERTER" in str(report.trace)
    connector.with_dead_letters()
    connector.configure(2)
    connector.restart()
    assert balance(connector.run().metrics) == (3, 2, 1, 0, 0)


def test_null_keys_values_and_ten_megabytes_pass(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out")).with_dead_letters()
    connector.send([None], key=None)
    connector.send([b'"' + b"x" * 10_000_000 + b'"', b'"' + b"x" * 10_000_000])
    report = connector.run()
    assert (report.end, balance(report.metrics)) == (LeaseEnd.CAUGHT_UP, (3, 2, 1, 0, 0))
    assert "truncated" in connector.contexts()[0]


@pytest.mark.parametrize("change", ["generation", "leader", "target"])
def test_a_lease_that_is_no_longer_valid_does_nothing(broker: str, tmp_path: Path, change: str) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out"))
    connector.send([b"1"])
    stale = connector.lease()
    if change == "generation":
        connector.configure(2)
    elif change == "leader":
        connector.write(leader_record(Leader(2, "other", 0)))
    else:
        connector.target(TargetState.PAUSED)
    (report,) = run_lease(stale)
    assert report.end is (LeaseEnd.STOPPED if change == "target" else LeaseEnd.FENCED)
    assert not (tmp_path / "out").exists()


def test_a_stop_is_seen_in_the_middle_of_a_lease(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out"))
    connector.props["transforms"] = "slow"
    connector.props["transforms.slow.type"] = "tests.broker.steps.Slow"
    connector.configure(1)
    connector.send([b"1"] * 3000)
    threading.Timer(1.0, lambda: connector.target(TargetState.PAUSED)).start()
    started = time.monotonic()
    report = connector.run(budget_ms=60_000)
    assert (report.end, time.monotonic() - started < 30) == (LeaseEnd.STOPPED, True)
    consumed = report.metrics["records-consumed"]
    assert 0 < consumed < 3000
    assert report.positions == {f"{connector.topic}-0": consumed}


def test_a_long_back_off_parks_and_wakes(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out")).with_dead_letters(
        **{"errors.retry.limit": "5", "errors.retry.on": "all"}
    )
    connector.send([b"1", b"{", b"3"])
    looked_early = False
    while (report := connector.run(budget_ms=140)).end is not LeaseEnd.CAUGHT_UP:
        if report.end is LeaseEnd.BUDGET:
            continue
        assert (report.end, report.metrics["records-consumed"]) == (LeaseEnd.PARKED, 1)
        assert report.wake_at is not None
        if report.wake_at / 1000 - time.time() > 2:  # so at the fifth retry at the latest
            early = connector.run()
            assert (early.end, early.wake_at) == (LeaseEnd.PARKED, report.wake_at)
            looked_early = True
        time.sleep(max(report.wake_at / 1000 - time.time(), 0))
    assert looked_early
    assert balance(report.metrics) == (3, 2, 1, 0, 0)
    assert connector.contexts()[0]["attempt"] == 5


def test_offsets_that_were_committed_and_are_gone_fail_the_task(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out"))
    connector.send([b"1"])
    report = connector.run(has_committed=True)
    assert (report.end, "no offset for" in str(report.trace)) == (LeaseEnd.FAILED, True)


def test_a_pooled_lease_serves_all_its_tasks_and_a_failing_one_leaves_the_others(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "a"))
    other = Connector(broker, file_sink(tmp_path / "b"))
    other.worker = connector.worker
    other.configure(1)
    connector.send([b"1", b"{"])
    other.send([b"1", b"2"])
    tasks = (*connector.lease().tasks, *other.lease().tasks)
    reports = run_lease(Lease("pool", tasks, 1, 20_000, connector.worker))
    ends = {report.connector: report.end for report in reports}
    assert ends == {connector.name: LeaseEnd.FAILED, other.name: LeaseEnd.CAUGHT_UP}


def test_a_crash_between_delivery_and_commit_loses_nothing(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out")).with_dead_letters()
    connector.props |= {"connector.class": "tests.broker.steps.DyingSink", "marker": str(tmp_path / "died")}
    connector.configure(1)
    connector.send([b"1", b"{", b"2"])
    assert run_in_child(connector.lease()) == DyingSink.EXIT_CODE
    assert (tmp_path / "out").read_text().splitlines() == ["1", "2"]
    assert connector.committed()[connector.partitions[0]].offset == 0  # type: ignore[union-attr]  # it is committed
    report = connector.run()
    assert (report.end, balance(report.metrics)) == (LeaseEnd.CAUGHT_UP, (3, 2, 1, 0, 0))
    assert (tmp_path / "out").read_text().splitlines() == ["1", "2", "1", "2"]


def run_in_child(lease: Lease) -> int:
    """Run the lease in a process of its own; its exit code."""
    program = (
        "import sys, msgspec; from engine.assembly.lease import run_lease; from engine.ports import Lease;"
        "run_lease(msgspec.json.decode(sys.stdin.buffer.read(), type=Lease))"
    )
    command = [sys.executable, "-c", program]
    return subprocess.run(command, input=msgspec.json.encode(lease), check=False).returncode

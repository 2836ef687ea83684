"""Sources that somebody else wrote: whatever they do, the worker lives and nothing is lost."""

from __future__ import annotations

from pathlib import Path

from engine.assembly.lease import run_lease
from engine.worker_messages import LeaseEnd
from tests.broker.source import SourceConnector
from tests.broker.steps import DyingSource
from tests.broker.test_lease import run_in_child


def unready(broker: str, tmp_path: Path, **more: str) -> SourceConnector:
    own = {"connector.class": "tests.broker.steps.Unready", "ready": str(tmp_path / "ready"), "topic": "later"}
    source = SourceConnector(broker, own)
    source.props |= {"topic": source.topic, "value.converter": "JsonConverter", **more}
    source.configure(1)
    return source


def test_a_worker_that_dies_before_the_commit_loses_no_line(broker: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("one\ntwo\nthree\nfour\n")
    own = {"connector.class": "tests.broker.steps.DyingSource", "marker": str(tmp_path / "died"), "batch.size": "2"}
    source = SourceConnector(broker, own | {"file": str(tmp_path / "in"), "topic": "later"})
    source.props["topic"] = source.topic
    source.worker["offset.flush.interval.ms"] = "60000"
    source.configure(1)
    assert run_in_child(source.lease()) == DyingSource.EXIT_CODE
    assert source.values() == ["one", "two"]
    report = source.run()
    assert report.end is LeaseEnd.CAUGHT_UP
    assert source.values() == ["one", "two", "one", "two", "three", "four"]
    assert report.metrics["records-consumed"] == report.metrics["records-delivered"] == 4


def test_a_poll_that_waits_is_parked_and_keeps_its_attempts(broker: str, tmp_path: Path) -> None:
    source = unready(broker, tmp_path, **{"errors.retry.limit": "3"})
    first = source.run(budget_ms=100)
    while first.end is LeaseEnd.BUDGET:  # a machine so busy that the budget was over before the first poll
        first = source.run(budget_ms=100)
    assert (first.end, first.progressed) == (LeaseEnd.PARKED, False)
    assert first.wake_at is not None
    assert first.trace == "TASK_POLL (tests.broker.steps.Unready) failed once; waiting to retry"
    (tmp_path / "ready").touch()
    report = source.run(budget_ms=5000)
    while report.end is LeaseEnd.PARKED:
        report = source.run(budget_ms=5000)
    assert report.end is LeaseEnd.CAUGHT_UP
    assert report.metrics["records-delivered"] == 1
    assert report.metrics["total-retries"] == 1


def test_keys_headers_and_time_stamps_arrive_as_the_source_gave_them(broker: str, tmp_path: Path) -> None:
    (tmp_path / "ready").touch()
    source = unready(broker, tmp_path, **{"value.converter.schemas.enable": "false"})
    source.run()
    [record] = source.out()
    assert (record.key, record.value, record.timestamp) == (b"k", b'{"a":1}', 1234)
    assert record.headers == (("one", b"1"), ("two", b"x"), ("one", None))


def test_a_source_that_cannot_start_fails_its_task_with_its_own_trace(broker: str, tmp_path: Path) -> None:
    report = unready(broker, tmp_path, broken="yes").run()
    assert report.end is LeaseEnd.FAILED
    assert "the source could not start" in (report.trace or "")
    assert "nothing to start with" in (report.trace or "")


def test_an_older_generation_polls_nothing(broker: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("one\n")
    source = SourceConnector(broker, {"connector.class": "FileStreamSource", "file": str(tmp_path / "in")})
    source.props["topic"] = source.topic
    source.configure(2)
    lease = source.lease()
    source.configure(3)
    [report] = run_lease(lease)
    assert (report.end, source.values()) == (LeaseEnd.FENCED, [])

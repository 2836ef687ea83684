"""A stream under its standing lease: followed by what it commits, and none the worse for `kill -9`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.spark.engine_process import Engine, Topics, alive, descendants, kill_worker

RECORDS = 800  # for each kill


class Counting:
    """A slow stream over good and bad records, and what must have become of them."""

    def __init__(self, engine: Engine, topics: Topics, home: Path, records: int = RECORDS) -> None:
        self.engine = engine
        self.topics = topics
        self.records = records
        self.bad = set(range(7, records, 50))
        self.name = f"counting-{home.name}"
        self.topic, self.output = topics.create(), topics.create()
        self.pid_file = home / "pid"

    def begin(self) -> None:
        self.engine.put(
            self.name,
            connector__class="stream",
            topics=self.topic,
            key__converter="StringConverter",
            value__converter="JsonConverter",
            value__converter__schemas__enable="false",
            processors="count",
            processors__count__type="tests.spark.processors.SlowCount",
            processors__count__ms="2",
            processors__count__pid__file=str(self.pid_file),
            processing__exception__handler="LogAndContinueProcessingExceptionHandler",
            errors__deadletterqueue__topic__name=f"{self.topic}.dlq",
            sinks="out",
            sinks__out__topic=self.output,
            sinks__out__parents="count",
        )

    def send(self, numbers: Iterable[int]) -> None:
        values = [b'{"n":%d%s}' % (n, b',"bad":true' if n in self.bad else b"") for n in numbers]
        self.topics.write(self.topic, values)

    def await_consumed(self, count: int) -> None:
        self.engine.until(
            lambda: self.engine.metric(self.name, "records-consumed") >= count, f"{count} records are consumed"
        )

    def check(self) -> None:
        """Nothing is missing, each record counts once, and the processors' memory began anew."""
        rows = self.topics.read(self.output)
        assert {row["n"] for row in rows} == set(range(self.records)) - self.bad
        letters = self.topics.read(f"{self.topic}.dlq")
        assert {row["original_record"]["offset"] for row in letters} == self.bad
        [task] = self.engine.tasks(self.name)
        assert (task["kind"], self.engine.states(self.name)) == ("stream", ["RUNNING"])
        metrics = task["metrics"]
        assert metrics["records-consumed"] == self.records
        assert metrics["records-delivered"] == self.records - len(self.bad)
        assert metrics["records-dead-lettered"] == metrics["dropped-records-total"] == len(self.bad)
        assert [name for name, count in task["stage_dropped"].items() if count] == ["2:PROCESSOR:count"]
        assert max(row["seen"] for row in rows) < self.records


@pytest.mark.parametrize("kills", [1, pytest.param(4, marks=pytest.mark.soak)])  # soak: kills in series
def test_a_killed_worker_loses_nothing_and_the_stream_goes_on(
    engine: Engine, topics: Topics, tmp_path: Path, kills: int
) -> None:
    records = kills * RECORDS
    counting = Counting(engine, topics, tmp_path, records)
    counting.begin()
    counting.send(range(records - 200))
    for number in range(kills):
        counting.await_consumed(number * RECORDS + 100)
        engine.until(counting.pid_file.exists, "the processor has started")
        lost = engine.lost_leases()
        kill_worker(engine, counting.pid_file)
        counting.pid_file.unlink()
        engine.await_lost(lost + 1)
    counting.await_consumed(records - 200)
    counting.send(range(records - 200, records))
    counting.await_consumed(records)
    counting.check()


def test_a_stream_is_paused_and_resumed_and_keeps_its_place(engine: Engine, topics: Topics, tmp_path: Path) -> None:
    counting = Counting(engine, topics, tmp_path)
    counting.begin()
    counting.send(range(400))
    counting.await_consumed(400)
    pid = int(counting.pid_file.read_text())
    engine.http.put(f"/connectors/{counting.name}/pause")
    engine.until(lambda: engine.states(counting.name) == ["PAUSED"], "the stream is paused")
    counting.send(range(400, RECORDS))
    engine.http.put(f"/connectors/{counting.name}/resume")
    counting.await_consumed(RECORDS)
    counting.check()
    assert engine.process is not None
    assert not alive(pid) or pid in descendants(engine.process.pid)

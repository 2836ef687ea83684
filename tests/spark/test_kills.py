"""`kill -9` in the middle of a lease: nothing is missing, and the counts go on where they were."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.spark.engine_process import Engine, Topics, alive, descendants, file_sink, kill_worker

RECORDS = 1200  # for each kill


class Journey:
    """A slow connector over good and bad records, and what must have become of them."""

    def __init__(self, engine: Engine, topics: Topics, home: Path, records: int = RECORDS) -> None:
        self.engine = engine
        self.topics = topics
        self.name = f"journey-{home.name}"
        self.records = records
        self.bad = set(range(7, records, 40))
        self.topic = topics.create(2)
        self.file = home / "sink.txt"
        self.pid_file = home / "pid"
        values = [b'{"n": ' + str(n).encode() + (b"" if n in self.bad else b"}") for n in range(records)]
        topics.write(self.topic, values, partitions=2)

    def begin(self) -> None:
        more = {
            "transforms": "slow",
            "transforms__slow__type": "tests.spark.steps.Slow",
            "transforms__slow__ms": "1",
            "transforms__slow__pid__file": str(self.pid_file),
            "errors__tolerance__limit": "1000",
            "errors__tolerance__rate__limit": "-1",
            "errors__deadletterqueue__topic__name": f"{self.topic}.dlq",
            "errors__deadletterqueue__include__messages": "true",
        }
        self.engine.put(self.name, **file_sink(self.topic, self.file, **more))

    def await_lines(self, lines: int) -> None:
        self.engine.until(lambda: self.lines() >= lines, f"{lines} lines are written")

    def lines(self) -> int:
        return self.file.read_bytes().count(b"\n") if self.file.exists() else 0

    def check(self) -> None:
        self.engine.until(lambda: self.engine.caught_up(self.name), "the task has caught up")
        written = {orjson.loads(line)["n"] for line in self.file.read_bytes().splitlines()}
        assert written == set(range(self.records)) - self.bad
        letters = self.topics.read(f"{self.topic}.dlq")
        places = {(row["original_record"]["partition"], row["original_record"]["offset"]) for row in letters}
        assert places == {(n % 2, n // 2) for n in self.bad}
        [task] = self.engine.tasks(self.name)
        assert task["metrics"]["records-consumed"] == self.records
        assert task["metrics"]["records-delivered"] == self.records - len(self.bad)
        assert task["metrics"]["records-dead-lettered"] == len(self.bad)
        assert task["tolerance"]["used"] == len(self.bad)


@pytest.mark.parametrize("kills", [1, pytest.param(4, marks=pytest.mark.soak)])  # soak: kills in series
def test_a_killed_worker_loses_nothing(engine: Engine, topics: Topics, tmp_path: Path, kills: int) -> None:
    journey = Journey(engine, topics, tmp_path, kills * RECORDS)
    journey.begin()
    for number in range(kills):
        journey.await_lines(number * RECORDS + 400)
        lost = engine.lost_leases()
        kill_worker(engine, journey.pid_file)
        engine.await_lost(lost + 1)
    journey.check()
    assert engine.states(journey.name) == ["RUNNING"]


def test_a_killed_driver_loses_nothing(second_engine: Engine, second_topics: Topics, tmp_path: Path) -> None:
    journey = Journey(second_engine, second_topics, tmp_path)
    journey.begin()
    journey.await_lines(400)
    assert second_engine.process is not None
    below = descendants(second_engine.process.pid)
    second_engine.kill()
    second_engine.start()
    journey.check()
    assert not [pid for pid in below if alive(pid)]

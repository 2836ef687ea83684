"""`kill -9` in the middle of a lease: nothing is missing, and the counts go on where they were."""

from __future__ import annotations

from pathlib import Path

import orjson

from tests.spark.engine_process import Engine, Topics, alive, descendants, file_sink, kill_worker

RECORDS = 2500
BAD = set(range(7, RECORDS, 40))


class Journey:
    """A slow connector over good and bad records, and what must have become of them."""

    def __init__(self, engine: Engine, topics: Topics, home: Path) -> None:
        self.engine = engine
        self.topics = topics
        self.name = f"journey-{home.name}"
        self.topic = topics.create(2)
        self.file = home / "sink.txt"
        self.pid_file = home / "pid"
        values = [b'{"n": ' + str(n).encode() + (b"" if n in BAD else b"}") for n in range(RECORDS)]
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
        assert written == set(range(RECORDS)) - BAD
        letters = self.topics.read(f"{self.topic}.dlq")
        places = {(row["original_record"]["partition"], row["original_record"]["offset"]) for row in letters}
        assert places == {(n % 2, n // 2) for n in BAD}
        [task] = self.engine.tasks(self.name)
        assert task["metrics"]["records-consumed"] == RECORDS
        assert task["metrics"]["records-delivered"] == RECORDS - len(BAD)
        assert task["metrics"]["records-dead-lettered"] == len(BAD)
        assert task["tolerance"]["used"] == len(BAD)


def test_a_killed_worker_loses_nothing(engine: Engine, topics: Topics, tmp_path: Path) -> None:
    journey = Journey(engine, topics, tmp_path)
    journey.begin()
    for lines in (400, 1200):
        journey.await_lines(lines)
        lost = engine.lost_leases()
        kill_worker(engine, journey.pid_file)
        engine.until(lambda lost=lost: engine.lost_leases() == lost + 1, "the lease is lost")
    journey.check()
    assert engine.states(journey.name) == ["RUNNING"]


def test_a_killed_driver_loses_nothing(own_engine: Engine, topics: Topics, tmp_path: Path) -> None:
    own_engine.start()
    journey = Journey(own_engine, topics, tmp_path)
    journey.begin()
    journey.await_lines(1000)
    assert own_engine.process is not None
    below = descendants(own_engine.process.pid)
    own_engine.kill()
    own_engine.process = None
    own_engine.start()
    journey.check()
    assert not [pid for pid in below if alive(pid)]
    assert own_engine.stop() == 0

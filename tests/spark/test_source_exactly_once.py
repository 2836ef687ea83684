"""A source that is delivered exactly once, under the herder: workers are killed, and the driver copies its offsets."""

from __future__ import annotations

from pathlib import Path

import orjson

from engine.record.record import TopicPartition
from tests.broker.connector import read_all
from tests.spark.engine_process import Engine, Topics, kill_worker
from tests.spark.test_source import append, source

LINES = 800


def test_a_killed_worker_doubles_no_line_and_the_driver_copies_the_offsets(
    second_engine: Engine, second_topics: Topics, tmp_path: Path
) -> None:
    servers, topics = second_engine.bootstrap_servers, second_topics
    name, topic, file = f"exact-{tmp_path.name}", topics.create(), tmp_path / "in"
    append(file, 0, LINES)
    slow = {
        "transforms": "slow",
        "transforms__slow__type": "tests.spark.steps.Slow",
        "transforms__slow__ms": "2",
        "transforms__slow__pid__file": str(tmp_path / "pid"),
        "batch__size": "50",
    }
    second_engine.put(name, **source(topic, file, offsets__storage__topic=f"own-{topic}", **slow))
    second_engine.until(lambda: topics.size(topic) >= 200, "200 lines are written")
    lost = second_engine.lost_leases()
    kill_worker(second_engine, tmp_path / "pid")
    second_engine.await_lost(lost + 1)
    second_engine.until(lambda: second_engine.metric(name, "records-delivered") >= LINES, "all lines are through")
    written = [int(orjson.loads(record.value or b"")) for record in read_all(servers, TopicPartition(topic, 0))]
    assert written == list(range(LINES))
    [task] = second_engine.tasks(name)
    assert task["delivery"] == "exactly_once"
    key, copy = f'["{name}",{{"filename":"{file}"}}]'.encode(), {"position": file.stat().st_size}

    def copied() -> bool:
        rows = [
            orjson.loads(record.value or b"null")
            for record in read_all(servers, TopicPartition(second_engine.offset_topic, 0))
            if record.key == key
        ]
        return rows[-1:] == [copy]

    second_engine.until(copied, "its last offset is in the worker's topic, too")

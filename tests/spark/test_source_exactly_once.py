"""A source that is delivered exactly once, under the herder: workers are killed, and the driver copies its offsets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from engine.record.record import TopicPartition
from tests.broker.connector import read_all
from tests.spark.engine_process import Engine, Topics, kill_worker
from tests.spark.test_source import append, source

LINES = 1200


@pytest.fixture
def exact(broker: str, tmp_path: Path) -> Iterator[Engine]:
    """An engine whose sources are delivered exactly once."""
    engine = Engine(tmp_path / "engine", broker)
    with engine.properties.open("a") as options:
        options.write(f"exactly.once.source.enabled=true\noffset.storage.topic=offsets-{tmp_path.name}\n")
    yield engine.start()
    engine.close()


def test_a_killed_worker_doubles_no_line_and_the_driver_copies_the_offsets(
    exact: Engine, broker: str, tmp_path: Path
) -> None:
    topics = Topics(broker)
    name, topic, file = f"exact-{tmp_path.name}", topics.create(), tmp_path / "in"
    append(file, 0, LINES)
    slow = {
        "transforms": "slow",
        "transforms__slow__type": "tests.spark.steps.Slow",
        "transforms__slow__ms": "2",
        "transforms__slow__pid__file": str(tmp_path / "pid"),
        "batch__size": "50",
    }
    exact.put(name, **source(topic, file, offsets__storage__topic=f"own-{topic}", **slow))
    exact.until(lambda: len(topics.read(topic)) >= 200, "200 lines are written")
    lost = exact.lost_leases()
    kill_worker(exact, tmp_path / "pid")
    exact.until(lambda: exact.lost_leases() == lost + 1, "the lease is lost")
    exact.until(lambda: exact.metric(name, "records-delivered") >= LINES, "all lines are through")
    written = [int(orjson.loads(record.value or b"")) for record in read_all(broker, TopicPartition(topic, 0))]
    assert written == list(range(LINES))
    [task] = exact.tasks(name)
    assert task["delivery"] == "exactly_once"
    key, copy = f'["{name}",{{"filename":"{file}"}}]'.encode(), {"position": file.stat().st_size}

    def copied() -> bool:
        rows = [
            orjson.loads(record.value or b"null")
            for number in range(25)
            for record in read_all(broker, TopicPartition(f"offsets-{tmp_path.name}", number))
            if record.key == key
        ]
        return rows[-1:] == [copy]

    exact.until(copied, "its last offset is in the worker's topic, too")

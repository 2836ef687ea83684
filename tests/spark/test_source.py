"""A source under the herder: it wakes by itself, survives `kill -9`, and fails like any other connector."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.spark.engine_process import Engine, Topics, kill_worker

LINES = 800


def source(topic: str, file: Path, **more: str) -> dict[str, str]:
    return {
        "connector__class": "FileStreamSource",
        "file": str(file),
        "topic": topic,
        "key__converter": "StringConverter",
        "value__converter": "JsonConverter",
        "value__converter__schemas__enable": "false",
        **more,
    }


def has_failed(engine: Engine, name: str, restarts: int) -> bool:
    return engine.states(name) == ["FAILED"] and engine.tasks(name)[0]["restarts"] == restarts


def append(file: Path, first: int, count: int) -> None:
    with file.open("a") as out:
        out.write("".join(f"{number}\n" for number in range(first, first + count)))


def test_a_file_is_followed_as_it_grows(engine: Engine, topics: Topics, tmp_path: Path) -> None:
    name, topic, file = f"follow-{tmp_path.name}", topics.create(), tmp_path / "in"
    engine.put(name, **source(topic, file))
    for first in (0, 100, 200):
        append(file, first, 100)
        engine.await_delivered(name, first + 100)
    assert topics.read(topic) == [f"{number}" for number in range(300)]
    assert engine.states(name) == ["RUNNING"]
    assert engine.http.get(f"/connectors/{name}/status").json()["type"] == "source"
    assert engine.tasks(name)[0]["kind"] == "source"


def test_a_killed_worker_loses_no_line(engine: Engine, topics: Topics, tmp_path: Path) -> None:
    name, topic, file = f"killed-{tmp_path.name}", topics.create(), tmp_path / "in"
    append(file, 0, LINES)
    slow = {
        "transforms": "slow",
        "transforms__slow__type": "tests.spark.steps.Slow",
        "transforms__slow__ms": "2",
        "transforms__slow__pid__file": str(tmp_path / "pid"),
        "batch__size": "50",
    }
    engine.put(name, **source(topic, file, **slow))
    engine.until(lambda: topics.size(topic) >= 300, "300 lines are written")
    lost = engine.lost_leases()
    kill_worker(engine, tmp_path / "pid")
    engine.await_lost(lost + 1)
    engine.until(lambda: engine.metric(name, "records-delivered") >= LINES, "all lines are through")
    written = topics.read(topic)
    assert sorted(set(map(int, written))) == list(range(LINES))
    assert len(written) < LINES + 300  # only what was not committed yet was written twice
    [task] = engine.tasks(name)
    assert task["metrics"]["records-consumed"] == task["metrics"]["records-delivered"] == LINES


def test_a_failed_source_is_restarted_and_dead_letters_its_line_once(
    engine: Engine, topics: Topics, tmp_path: Path
) -> None:
    name, topic, file = f"failing-{tmp_path.name}", topics.create(), tmp_path / "in"
    file.write_text("good\nbad\nfine\n")
    picky = {
        "transforms": "pick",
        "transforms__pick__type": "tests.broker.steps.Picky",
        "errors__deadletterqueue__topic__name": f"{topic}.dlq",
        "errors__deadletterqueue__include__messages": "true",
    }
    engine.put(name, **source(topic, file, **picky))
    engine.until(lambda: engine.states(name) == ["FAILED"], "it has failed")
    for restarts in (1, 2):
        assert engine.http.post(f"/connectors/{name}/tasks/0/restart").status_code == 204
        engine.until(partial(has_failed, engine, name, restarts + 1), "it has failed again")
    engine.put(name, **source(topic, file, errors__tolerance="all", **picky))
    engine.until(lambda: engine.metric(name, "records-consumed") == 3, "all lines are through")
    assert topics.read(topic) == ["good", "fine"]
    [letter] = topics.read(f"{topic}.dlq")
    assert letter["record"]["source_offset"] == {"position": "9"}

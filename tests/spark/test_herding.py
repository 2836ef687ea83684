"""One engine, several connectors, and an operator at the REST API."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.spark.engine_process import Engine, Topics, file_sink

GOOD = [b'{"n": %d}' % number for number in range(200)]


def test_two_connectors_run_at_once(engine: Engine, topics: Topics, tmp_path: Path) -> None:
    names = {f"{side}-{tmp_path.name}": topics.create(3) for side in ("left", "right")}
    for name, topic in names.items():
        topics.write(topic, GOOD, partitions=3)
        engine.put(name, **file_sink(topic, tmp_path / name, tasks__max="2"))
    for name in names:
        engine.until(partial(engine.caught_up, name), f"{name} has caught up")
        assert engine.metric(name, "records-delivered") == len(GOOD)
        assert engine.states(name) == ["RUNNING", "RUNNING"]
        assert len((tmp_path / name).read_bytes().splitlines()) == len(GOOD)


def test_a_record_that_kills_the_interpreter_fails_its_task_alone(
    engine: Engine, topics: Topics, tmp_path: Path
) -> None:
    deadly, sibling = f"deadly-{tmp_path.name}", f"sibling-{tmp_path.name}"
    poison, wholesome = topics.create(), topics.create()
    topics.write(poison, [*GOOD, b'{"n": 0, "die": true}', *GOOD])
    transform = {"transforms": "die", "transforms__die__type": "tests.spark.steps.Deadly"}
    engine.put(deadly, **file_sink(poison, tmp_path / "deadly", **transform))
    engine.put(sibling, **file_sink(wholesome, tmp_path / "sibling"))
    topics.write(wholesome, GOOD)
    engine.until(lambda: engine.states(deadly) == ["FAILED"], "the deadly task has failed")
    [task] = engine.tasks(deadly)
    assert "5 leases in a row were lost" in task["trace"]
    assert "Python worker exited unexpectedly" in task["trace"]
    engine.until(lambda: engine.caught_up(sibling), "the sibling has caught up")
    assert engine.states(sibling) == ["RUNNING"]
    assert engine.metric(sibling, "records-delivered") == len(GOOD)


def test_a_paused_connector_rests_until_it_is_resumed(engine: Engine, topics: Topics, tmp_path: Path) -> None:
    name, topic = f"pausing-{tmp_path.name}", topics.create()
    topics.write(topic, GOOD)
    engine.put(name, **file_sink(topic, tmp_path / "sink"))
    engine.until(lambda: engine.caught_up(name), "it has caught up")
    assert engine.http.put(f"/connectors/{name}/pause").status_code == 202
    engine.until(lambda: engine.states(name) == ["PAUSED"], "it is paused")
    topics.write(topic, GOOD)
    engine.until(lambda: engine.tasks(name)[0]["lag"] == len(GOOD), "the lag is seen")
    assert engine.metric(name, "records-delivered") == len(GOOD)
    assert engine.http.put(f"/connectors/{name}/resume").status_code == 202
    engine.until(lambda: engine.metric(name, "records-delivered") == 2 * len(GOOD), "it goes on")
    assert engine.http.delete(f"/connectors/{name}").status_code == 204
    assert name not in engine.http.get("/connectors").json()


def test_a_failed_task_waits_for_the_operator_and_reports_its_record_once(
    engine: Engine, topics: Topics, tmp_path: Path
) -> None:
    name, topic = f"failing-{tmp_path.name}", topics.create()
    topics.write(topic, [*GOOD, b"{", *GOOD])
    dead_letters = {"errors__deadletterqueue__topic__name": f"{topic}.dlq"}
    engine.put(name, **file_sink(topic, tmp_path / "sink", **dead_letters))
    engine.until(lambda: engine.states(name) == ["FAILED"], "it has failed")
    assert engine.tasks(name)[0]["positions"] == {f"{topic}-0": len(GOOD)}
    assert engine.http.post(f"/connectors/{name}/tasks/0/restart").status_code == 204
    assert engine.tasks(name)[0]["restarts"] == 2
    engine.until(lambda: engine.states(name) == ["FAILED"], "it has failed again")
    engine.put(name, **file_sink(topic, tmp_path / "sink", errors__tolerance="all", **dead_letters))
    engine.until(lambda: engine.caught_up(name), "it has caught up")
    assert engine.metric(name, "records-delivered") == 2 * len(GOOD)
    assert len(topics.read(f"{topic}.dlq")) == 1


def test_a_topic_that_grows_gets_a_new_generation(engine: Engine, topics: Topics, tmp_path: Path) -> None:
    name, first = f"growing-{tmp_path.name}", topics.create()
    second = topics.create()
    topics.write(first, GOOD)
    config = file_sink("", tmp_path / "sink", topics__regex=f"{first}|{second}", tasks__max="2")
    engine.put(name, **{key: value for key, value in config.items() if key != "topics"})
    topics.write(second, GOOD)
    engine.until(lambda: engine.metric(name, "records-delivered") == 2 * len(GOOD), "both topics are read")
    assert len(engine.tasks(name)) == 2


def test_a_wrong_connector_is_refused_with_every_problem(engine: Engine) -> None:
    body = {"connector.class": "FileStreamSnik", "topics": "t", "tasks.max": "many", "errors.tolerence": "all"}
    answer = engine.http.put("/connectors/wrong/config", json=body)
    assert answer.status_code == 400
    for fragment in ("FileStreamSink", "tasks.max", "errors.tolerance"):
        assert fragment in answer.json()["message"]
    assert "wrong" not in engine.http.get("/connectors").json()

"""Log lines of the driver and of the workers, as an operator of a local master reads them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.spark.engine_process import Engine, Topics, file_sink

TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"


def test_users_lines_and_the_end_of_a_task_say_when_where_and_why(
    engine: Engine, topics: Topics, tmp_path: Path
) -> None:
    name, topic = f"talks-{tmp_path.name}", topics.create()
    topics.write(topic, [b'"good"', b'"bad"'])
    talking = {
        "transforms": "talk",
        "transforms__talk__type": "tests.spark.steps.Talking",
        "errors__log__enable": "true",
        "errors__log__include__messages": "true",
    }
    engine.put(name, **file_sink(topic, tmp_path / "out", **talking))
    engine.until(lambda: engine.states(name) == ["FAILED"], "the task fails")
    task = re.escape(f"[{name}|task-0]")

    def lines(pattern: str) -> list[tuple[str, ...]]:
        log = (engine.home / "engine.log").read_text(errors="replace")
        return re.findall(rf"^{TIME} {pattern}$", log, re.MULTILINE)

    def users() -> list[tuple[str, ...]]:
        return lines(rf"(\w+) tests\.spark\.steps: {task} (.*)")

    # A worker's lines pass through Spark's JVM, so they may be later than the state of the task.
    engine.until(lambda: len(users()) >= 2, "the worker's lines are in the log")
    assert users()[:2] == [("INFO", "saw good"), ("INFO", "saw bad")]  # no DEBUG by default
    engine.until(
        lambda: lines(rf'ERROR engine\.record_errors: {task} {{.*"message":"bad".*'), "the error is in the log"
    )
    ends = lines(rf"ERROR engine\.task_failures: {task} (.*)\n(.*)\n  at (.*)")
    assert [(first, second) for first, second, _ in ends] == [(expected_end(name, topic), "ValueError: bad")]
    assert ends[0][2].startswith("tests/spark/steps.py:apply:")


def expected_end(name: str, topic: str) -> str:
    """Return the first line of the failure, with stage and coordinates."""
    stage = "TRANSFORMATION (tests.spark.steps.Talking)"
    return f"task {name}-0 failed: Tolerance exceeded: {stage} failed on {topic}-0 at offset 1: bad"

"""The REST API answers as Kafka Connect 4.1 did when its answers were recorded."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.rest.answers import answers
from tests.conformance.rest.judgement import judge, recorded
from tests.conformance.rest.requests import CORE_STEPS
from tests.spark.engine_process import Engine


def test_requests_that_start_no_task_are_answered_as_by_kafka_connect(tmp_path: Path, broker: str) -> None:
    engine = Engine(tmp_path / "engine", broker, files=tmp_path).start()
    try:
        ours = {name: one.document() for name, one in answers(engine.http, tmp_path, CORE_STEPS).items()}
    finally:
        engine.close()
    judgement = judge(recorded(), ours)
    assert not judgement.unknown, "\n".join(judgement.lines())
    assert len(ours) > 200

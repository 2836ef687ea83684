"""How large the steps of a sink's task are."""

from __future__ import annotations

import pytest

from engine.assembly.clients import Opening
from engine.assembly.plan import validate
from engine.assembly.sink import Claimed, sink_task
from engine.config.worker import parse_worker
from engine.kafka.clock import WorkerClock
from engine.pipeline.commit import DurableThenCommit
from engine.pipeline.sink_task import CAREFUL_RECORDS, CHUNK_RECORDS, SinkTask
from engine.pipeline.task_state import restore
from engine.ports import TaskConfig
from engine.reporting.replayed import ReplayReporter
from tests.fakes import Consumer, Producer, Sink


@pytest.mark.parametrize(("careful", "records"), [(False, CHUNK_RECORDS), (True, CAREFUL_RECORDS)])
def test_after_an_abort_a_task_goes_in_small_steps(careful: bool, records: int) -> None:
    worker, clock, consumer = parse_worker({}), WorkerClock(), Consumer()
    properties = {"name": "c", "topics": "t", "connector.class": "FileStreamSink", "file": "out"}
    plan, config = validate(properties, worker), TaskConfig("c", 0, 1, {}, ())
    opening = Opening(config, plan, worker, clock, lambda _: 0, careful=careful)
    state = restore([], task=0, generation=1, restarts=0, stages=plan.stages)
    replayed = ReplayReporter(open_producer=Producer, topic="o", connector="c", task=0, clock=clock, jitter=lambda: 1.0)
    commit = DurableThenCommit(lambda: None, lambda: None, lambda: None, consumer)
    task = sink_task(opening, Claimed(consumer, {}, state, None, replayed), Sink(), commit).task
    assert isinstance(task, SinkTask)
    assert task.chunk_records == records

"""The steps of a sink's task: how large they are, and who gets values whose parts are unread."""

from __future__ import annotations

from typing import Any

import pytest

from engine.assembly.validation import validate
from engine.connectors.file.sink import FileSink
from engine.kafka.clock import WorkerClock
from engine.pipeline.commit import DurableThenCommit
from engine.pipeline.sink_task import CAREFUL_RECORDS, CHUNK_RECORDS, SinkTask
from engine.pipeline.task_state import restore
from engine.record.record import RawRecord
from engine.record.unread import Unread
from engine.steps.predicates import HasHeaderKey
from engine.steps.transforms.drop_headers import DropHeaders
from engine.tasks.clients import TaskOpening
from engine.tasks.sink import ClaimedSink, reading_steps, sink_task
from engine.worker_messages import TaskConfig
from tests.engine.pipeline.rig import replay_reporter
from tests.fakes import Consumer, Producer, Sink
from tests.support.permissions import open_worker

JSON = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}


class Looking(DropHeaders):
    """Somebody else's transform, which may look at every part."""


class LookingPredicate(HasHeaderKey):
    """Somebody else's predicate."""


@pytest.mark.parametrize(("careful", "records"), [(False, CHUNK_RECORDS), (True, CAREFUL_RECORDS)])
def test_after_an_abort_a_task_goes_in_small_steps(careful: bool, records: int) -> None:
    worker, clock, consumer = open_worker({}), WorkerClock(), Consumer()
    properties = {"name": "c", "topics": "t", "connector.class": "FileStreamSink", "file": "out"}
    plan, config = validate(properties, worker), TaskConfig("c", 0, 1, {}, ())
    opening = TaskOpening(config, plan, worker, clock, lambda _: 0, careful=careful)
    state = restore([], task=0, generation=1, restarts=0, stages=plan.stages)
    replayed = replay_reporter(Producer, clock)
    commit = DurableThenCommit(lambda: None, lambda: None, lambda: None, consumer)
    task = sink_task(opening, ClaimedSink(consumer, {}, state, None, replayed), Sink(), commit).task
    assert isinstance(task, SinkTask)
    assert task.chunk_records == records


def value_at_the_sink(sink: object, **transform: str) -> Any:
    """What is put of `{"a": 1}`, the properties of one transform given."""
    properties = {"name": "c", "topics": "t", "connector.class": "FileStreamSink", "file": "out", **JSON}
    if transform:
        properties |= {"transforms": "t", "predicates": "p", "predicates.p.name": "h"}
        properties |= {"predicates.p.type": transform.pop("test", "HasHeaderKey")}
        properties |= {f"transforms.t.{name}": value for name, value in transform.items()}
    worker = open_worker({})
    opening = TaskOpening(
        TaskConfig("c", 0, 1, {}, ()), validate(properties, worker), worker, WorkerClock(), lambda _: 0
    )
    given: Any = RawRecord("t", 0, 0, 0, "CREATE_TIME", None, b'{"a": 1}')
    for _, step in reading_steps(opening, sink):
        given = step(given)
    return given.value


def test_a_sink_that_takes_unread_parts_gets_them() -> None:
    value = value_at_the_sink(FileSink(), type="InsertField$Value", **{"static.field": "b", "static.value": "x"})
    assert [type(part) for part in value.values()] == [Unread, str]
    assert type(value_at_the_sink(FileSink(), type="DropHeaders", headers="h", predicate="p")["a"]) is Unread


@pytest.mark.parametrize(
    ("sink", "transform"),
    [
        (None, {}),
        (Sink(), {}),
        (type("Derived", (FileSink,), {})(), {}),
        (FileSink(), {"type": "Flatten$Value"}),
        (FileSink(), {"type": f"{__name__}.Looking", "headers": "h"}),
        (FileSink(), {"type": f"{__name__}.Looking", "headers": "h", "predicate": "p"}),
        (FileSink(), {"type": "DropHeaders", "headers": "h", "predicate": "p", "test": f"{__name__}.LookingPredicate"}),
    ],
)
def test_who_does_not_say_so_never_sees_an_unread_part(sink: object, transform: dict[str, str]) -> None:
    assert value_at_the_sink(sink, **transform) == {"a": 1}

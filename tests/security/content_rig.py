"""Tasks over fakes whose every record fails, and all that anybody could read of it afterwards."""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec
import orjson
import pytest

from engine.assembly.validation import validate
from engine.config.topic import ConfigState, ConnectorState
from engine.herder.snapshot import HerderSnapshot
from engine.herder.state import HerderState, ReportedFigures, TaskRun
from engine.herder.status import status_changes, status_values
from engine.pipeline.commit import DurableThenCommit, flush_letters
from engine.pipeline.lease import Deadline, run_tasks
from engine.pipeline.opened_task import OpenTask
from engine.pipeline.produce_stage import RecordWriter
from engine.pipeline.source_commit import DurableThenOffsets
from engine.pipeline.source_task import SourceTask
from engine.pipeline.task_state import TaskState, restore
from engine.ports import Producer as ProducerPort
from engine.record.record import RawRecord, Record, TopicPartition
from engine.reporting.deadletter import DeadLetterReporter
from engine.reporting.replay_outcomes import ReplayReporter
from engine.rest import bodies, prometheus
from engine.steps.registry import build_transform
from engine.tasks.clients import TaskOpening, build_guard
from engine.tasks.sink import ClaimedSink, sink_task
from engine.tasks.source import writing_steps
from engine.worker_messages import Lease, LeaseEnd, TaskConfig
from tests.engine.pipeline.test_lease import tail
from tests.fakes import BatchingProducer, Clock, Consumer, OffsetStore, Producer, Sink, Source
from tests.support.permissions import open_worker

SECRET = "Xq7Zr9Kw2Lm4Vt8Np3Hd"
NUMBER = 739_184_620_517  # a secret that is a number
P0 = TopicPartition("t", 0)
FLAGS = ("errors.log.include.messages", "errors.deadletterqueue.include.messages")
PROPERTIES = {
    "name": "c",
    "key.converter": "StringConverter",
    "value.converter": "JsonConverter",
    "value.converter.schemas.enable": "false",
    "errors.log.enable": "true",
    "errors.log.include.configs": "true",
    "errors.deadletterqueue.topic.name": "dlq",
    "errors.deadletterqueue.include.configs": "true",
    "errors.deadletterqueue.context.headers.enable": "true",
}
SINK = {**PROPERTIES, "connector.class": "FileStreamSink", "topics": "t"}
SOURCE = {**PROPERTIES, "connector.class": "FileStreamSource", "topic": "t", "file": "f"}
PIECE = 7  # characters of the secret that are not to be found anywhere


def forms() -> Iterator[bytes]:
    """The secrets as they may stand somewhere: plain, base64 wherever it begins, hexadecimal, UTF-16, backwards."""
    for secret in (SECRET.encode(), str(NUMBER).encode(), NUMBER.to_bytes(8)):
        for skipped in range(3):
            yield base64.b64encode(bytes(skipped) + secret)[(0, 2, 3)[skipped] : -4]
        yield secret.hex().encode()
        yield secret.hex().upper().encode()
        yield secret[::-1]
    for text in (SECRET, str(NUMBER)):
        yield text.encode()
        yield text.encode("utf-16-le")[:-1]
        yield from (text[at : at + PIECE].encode() for at in range(len(text) - PIECE + 1))


FORMS = tuple(form for form in forms() if len(form) >= PIECE)


def leaks(text: bytes) -> list[bytes]:
    """The forms of a secret that stand in a text, also where something stands between its characters."""
    dense = re.sub(rb"[^A-Za-z0-9]", b"", text)
    return [form for form in FORMS if form in text or form in dense]


@dataclass
class Doors:
    """All that can be read after a task has failed, by the door."""

    letters: Producer = field(default_factory=Producer)
    outcomes: Producer = field(default_factory=Producer)
    told: dict[str, bytes] = field(default_factory=dict)

    def texts(self, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> dict[str, bytes]:
        out, err = capfd.readouterr()
        found = {"log": caplog.text.encode(), "stdout": out.encode(), "stderr": err.encode(), **self.told}
        for name, producer in (("letter", self.letters), ("outcome", self.outcomes)):
            found[name] = b"\n".join(map(_bytes, producer.records))
        return found


def _bytes(row: Any) -> bytes:
    """A record of Kafka as its bytes: topic, key, value, then names and values of headers."""
    topic, key, value, headers, _ = row
    parts = [topic.encode(), key or b"", value or b""]
    return b"\n".join([*parts, *(part for name, data in headers for part in (name.encode(), data or b""))])


class World:
    """One connector with its options, whose tasks run once; `doors` holds what came of it."""

    def __init__(self, properties: Mapping[str, str], flags: Mapping[str, str]) -> None:
        self.properties = {**properties, **flags}
        self.clock = Clock()
        self.doors = Doors()
        self.task = TaskConfig("c", 0, 1, self.properties, (P0,))

    @cached_property
    def opening(self) -> TaskOpening:
        plan = validate(self.properties, open_worker())
        clock: Any = self.clock
        return TaskOpening(self.task, plan, open_worker(), clock, lambda _: 10**9)

    def letters(self, state: TaskState) -> DeadLetterReporter:
        """The reporter, as `open_dead_letters` makes it of the options."""
        errors = self.opening.plan.config.errors
        return DeadLetterReporter(
            producer=self.doors.letters, topic=errors.dlq_topic, include_configs=errors.dlq_include_configs,
            include_messages=errors.dlq_include_messages, context_headers=errors.dlq_context_headers,
            max_bytes=10**6, metrics=state.metrics, retry=self.opening.retry, clock=self.clock,
            jitter=lambda: 0.0, patience_ms=lambda _: 10**9,
        )  # fmt: skip

    def state(self) -> TaskState:
        return restore([], task=0, generation=1, restarts=0, stages=self.opening.plan.stages)

    def sink(self, raws: Sequence[RawRecord], sink: Any = None) -> OpenTask:
        """A sink's task, as a lease opens it."""
        sink, state, consumer = sink or Sink(), self.state(), Consumer(raws, None)
        letters = self.letters(state)
        replayed = ReplayReporter(
            open_producer=lambda: self.doors.outcomes, topic="o", connector="c", task=0, clock=self.clock,
            jitter=lambda: 0.0,
        )  # fmt: skip
        claimed = ClaimedSink(consumer, {P0: 0}, state, letters, replayed)

        def report() -> None:
            assert replayed.flush()

        commit = DurableThenCommit(sink.flush, lambda: flush_letters(letters, state), report, consumer)
        return sink_task(self.opening, claimed, sink, commit)

    def source(self, source: Any, producer: ProducerPort | None = None) -> OpenTask:
        """A source's task; `source` is started."""
        state, config = self.state(), self.opening.plan.config
        letters = self.letters(state)
        guard = build_guard(self.opening, state, letters)
        transforms = [build_transform(step, config.predicates) for step in config.transforms]
        task = SourceTask(
            source=source,
            steps=writing_steps(config, transforms),
            writer=RecordWriter(
                producer or BatchingProducer(1000, lambda _: False), guard, len(self.opening.plan.stages) - 1
            ),
            guard=guard,
            commit=DurableThenOffsets(lambda: flush_letters(letters, state), OffsetStore()),
            state=state,
            clock=self.clock,
        )
        return OpenTask(self.task, task, self.opening.plan.tolerance, lambda: None)

    def run(self, open_task: Callable[[], OpenTask]) -> LeaseEnd | None:
        """A lease of the task; its report goes to the status topic, REST and Prometheus."""
        lease = Lease("l", (self.task,), 1, 10**9, {})
        deadline = Deadline(self.clock, 10**9)
        reports = run_tasks(lease, tail("c", self.clock), self.clock, lambda _task, _careful: open_task, deadline)
        [report] = reports
        figures = ReportedFigures(report.metrics, report.stage_failures, report.tolerance)
        run = TaskRun(
            self.task, figures=figures, trace=report.trace if report.end is LeaseEnd.FAILED else None,
            parked_until=report.wake_at, parked_reason=report.trace,
        )  # fmt: skip
        view = HerderSnapshot(
            "w", config=ConfigState({"c": ConnectorState(properties={})}), state=HerderState(1, {run.key: run})
        )
        current = {key: body for key, (_, body) in status_values(view, {}).items()}
        rest = [bodies.status(view, "c"), bodies.metrics(view, "c"), bodies.health(view)]
        self.doors.told |= {
            "report": msgspec.json.encode(report),
            "status": b"\n".join(value or b"" for _, value in status_changes({}, current, 0)),
            "rest": orjson.dumps(rest),
            "metrics": prometheus.render(view, 0),
        }
        return report.end


def flags(log: bool, letters: bool) -> dict[str, str]:
    """The two options."""
    return dict(zip(FLAGS, (str(log).lower(), str(letters).lower()), strict=True))


def raw(
    value: bytes | None, key: bytes | None = None, headers: tuple[tuple[str, bytes | None], ...] = (), **more: Any
) -> RawRecord:
    """A record on its topic. It was replayed, and bears the secret in a header too."""
    given = (*headers, ("ssn", SECRET.encode()), ("dlq.replay.id", b"7"), ("dlq.replay.item", b"7-1"))
    return RawRecord("t", 0, 0, more.get("timestamp", 1_000), "CREATE_TIME", key, value, given)


class Polled(Source):
    """A source that answers with these records once."""

    def __init__(self, *records: Record) -> None:
        super().__init__(0)
        self.records = list(records)

    def poll(self) -> list[Record]:
        self.trouble()
        polled, self.records = self.records, []
        return polled


def polled(value: Any, schema: Any = None, **more: Any) -> Record:
    """A record as a source polls it."""
    place: dict[str, Any] = {"source_partition": {"file": "f"}, "source_offset": {"next": 1}}
    return Record(
        "t", 0, more.pop("timestamp", 1_000), more.pop("key", None), value, value_schema=schema, **place, **more
    )


@contextmanager
def all_logs(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Every logger as talkative as it may be."""
    with caplog.at_level(logging.DEBUG):
        yield

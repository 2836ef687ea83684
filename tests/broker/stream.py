"""A stream on a real broker: its lease stands in a thread until it is told to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import uuid4

import orjson

from engine.assembly.lease import run_lease
from engine.config.topic import TargetState, TaskEntry, commit_record, connector_record, count_record, task_record
from engine.errors import RetriableError
from engine.record.record import RawRecord, TopicPartition
from engine.worker_messages import ConnectorKind, Lease, TaskReport
from tests.broker.connector import Connector
from tests.broker.processors import Keeping

TIMEOUT_S = 60


class Stream(Connector):
    """A stream with one task and a topic for each of `outputs`; `$name` in its options stands for such a topic."""

    def __init__(
        self,
        broker: str,
        props: Mapping[str, str],
        outputs: Iterable[str] = ("out",),
        partitions: int = 1,
        **topic: str,
    ) -> None:
        mark = uuid4().hex[:8]
        self.outputs = {name: f"{name}-{mark}" for name in outputs}
        filled = {key: self.outputs[value[1:]] if value.startswith("$") else value for key, value in props.items()}
        super().__init__(broker, {"connector.class": "stream", **filled}, partitions)
        for name in self.outputs.values():
            self.admin.create_topic(name, 1, 1, {key.replace("_", "."): value for key, value in topic.items()})

    @property
    def transactional(self) -> bool:
        return self.props.get("processing.guarantee", "at_least_once") != "at_least_once"

    def configure(self, generation: int) -> None:
        self.generation = generation
        self.write(connector_record(self.name, self.props))
        entry = TaskEntry(
            generation, self.props, self.partitions, ConnectorKind.STREAM, exactly_once=self.transactional
        )
        self.write(task_record(self.name, 0, entry))
        self.write(commit_record(self.name, 1, generation))
        if self.transactional:
            self.write(count_record(self.name, 1))

    def lease(self, budget_ms: int = 20_000, **more: Any) -> Lease:
        return super().lease(budget_ms, **{"kind": ConnectorKind.STREAM, "exactly_once": self.transactional, **more})

    def run_until(self, check: Callable[[], object]) -> TaskReport:
        """One lease in a thread of its own until the check holds; the task may end before it does."""
        self.target(TargetState.STARTED)
        lease = self.lease()
        reports: list[Any] = []
        thread = threading.Thread(target=lambda: reports.extend(run_lease(lease)), daemon=True)
        thread.start()
        late = time.monotonic() + TIMEOUT_S
        while thread.is_alive() and not check():
            assert time.monotonic() < late, "the check did not hold in time"
            time.sleep(0.05)
        self.target(TargetState.PAUSED)
        thread.join(TIMEOUT_S)
        (report,) = reports
        return report  # type: ignore[no-any-return]  # it crossed a process

    def has_committed(self, offset: int, partition: int = 0) -> bool:
        try:
            found = self.committed()[self.partitions[partition]]
        except RetriableError:
            return False  # the group's coordinator moves in
        return found is not None and found.offset >= offset

    def send_at(self, *rows: tuple[int, Any]) -> None:
        """Records with these timestamps and JSON values."""
        for timestamp, value in rows:
            self.producer.produce(self.topic, b"k", orjson.dumps(value), (), timestamp, 0)
        self.producer.flush()

    def output(self, name: str = "out") -> list[RawRecord]:
        return self.read(TopicPartition(self.outputs[name], 0))

    def values(self, name: str = "out") -> list[Any]:
        return [orjson.loads(record.value or b"null") for record in self.output(name)]

    def told(self) -> list[tuple[Any, Any, Exception]]:
        """What its handlers of class Keeping were told."""
        return [row[1:] for row in Keeping.told if row[0] == self.name]


def nodes(**types: str) -> dict[str, str]:
    """Processors of tests.broker.processors by name: `name="Type < parent, parent"`."""
    props = {"processors": ",".join(types)}
    for name, text in types.items():
        kind, _, parents = text.partition("<")
        props[f"processors.{name}.type"] = f"tests.broker.processors.{kind.strip()}"
        if parents.strip():
            props[f"processors.{name}.parents"] = parents.strip()
    return props

"""A herder that only remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from engine.config.topic import (
    ConfigState,
    TargetState,
    TaskEntry,
    commit_record,
    connector_record,
    fold_all,
    target_record,
    task_record,
)
from engine.errors import ConfigError, EngineError
from engine.herder.fold import fold_config
from engine.herder.offset_changes import OffsetRow
from engine.herder.snapshot import ConnectorFacts, HerderSnapshot
from engine.herder.state import HerderState, ReportedFigures
from engine.record.record import TopicPartition
from engine.record.stage import Stage, StageType

T = TypeVar("T")
PROPERTIES = {"name": "c", "topics": "t", "connection.url": "postgresql://u:hidden@h/d", "db.password": "hidden"}
PARTITION = TopicPartition("t", 0)


class Herder:
    def __init__(self) -> None:
        self.config = fold_all(
            ConfigState(),
            [
                connector_record("c", PROPERTIES),
                task_record("c", 0, TaskEntry(1, PROPERTIES, (PARTITION,))),
                commit_record("c", 1, 1),
            ],
        )
        self.asked: list[tuple[Any, ...]] = []
        self.refusal: EngineError | None = None
        self.later: EngineError | None = None  # what becomes of a change of offsets that was taken on
        self.standby: str | None = None
        self.failed = False
        self.trouble: str | None = None

    def view(self) -> HerderSnapshot:
        state = fold_config(HerderState(epoch=1), self.config, 0)
        figures = ReportedFigures(
            {"records-consumed": 7, "total-record-failures": 2}, {"1:VALUE_CONVERTER:Json:x": 2}, {}
        )
        tasks = {
            key: type(task)(
                task.config,
                task.target,
                positions={PARTITION: 5},
                figures=figures,
                trace="Traceback …" if self.failed else None,
                parked_reason=self.trouble,
            )
            for key, task in state.tasks.items()
        }
        facts = {"c": ConnectorFacts(stages=(Stage(StageType.TASK_PUT, "SqlSink"),))}
        state = HerderState(1, tasks)
        if self.standby == "nobody":
            return HerderSnapshot("w:1", standby=True, config=self.config, state=state)
        if self.standby is not None:
            return HerderSnapshot("w:1", standby=True, leader_url=self.standby)
        return HerderSnapshot(
            "w:1", ready=True, config=self.config, state=state, ends={PARTITION: 12}, facts=facts, slots=8
        )

    def put(
        self, name: str, properties: Mapping[str, str], *, create: bool = False, target: TargetState | None = None
    ) -> Future[bool]:
        def change() -> bool:
            new = self.view().connector(name) is None
            self.config = fold_all(self.config, [connector_record(name, properties)])
            return new

        return self._ask(("put", name, dict(properties), create, *([] if target is None else [target])), change)

    def patch(self, name: str, changes: Mapping[str, str | None]) -> Future[None]:
        return self._ask(("patch", name, dict(changes)), lambda: None)

    def reset_topics(self, name: str) -> Future[None]:
        return self._ask(("reset topics", name), lambda: None)

    def set_cluster_log_level(self, logger: str, level: str) -> Future[None]:
        return self._ask(("log level", logger, level), lambda: None)

    def delete(self, name: str) -> Future[None]:
        return self._ask(("delete", name), lambda: None)

    def set_target(self, name: str, target: TargetState) -> Future[None]:
        def change() -> None:
            self.config = fold_all(self.config, [target_record(name, target)])

        return self._ask(("target", name, target), change)

    def restart(self, name: str, *, tasks: bool = False, only_failed: bool = False) -> Future[None]:
        return self._ask(("restart", name, tasks, only_failed), lambda: None)

    def restart_task(self, name: str, task: int) -> Future[None]:
        return self._ask(("restart", name, task), lambda: None)

    def offsets(self, name: str) -> list[OffsetRow]:
        return [({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": 5})]

    def change_offsets(self, name: str, rows: Sequence[OffsetRow] | None) -> Future[Future[None]]:
        done: Future[None] = Future()
        if self.later is None:
            done.set_result(None)
        else:
            done.set_exception(self.later)
        return self._ask(("offsets", name, rows), lambda: done)

    def run(self, name: str, properties: Mapping[str, str], body: Mapping[str, Any]) -> dict[str, Any]:
        """Rehearse a put, as PutRehearsals does."""
        self.asked.append(("put rehearsal", name, dict(properties), dict(body)))
        return {"connector": name, "records": [{"state": "ok"} for _ in body["records"]]}

    def _ask(self, what: tuple[Any, ...], call: Callable[[], T]) -> Future[T]:
        self.asked.append(what)
        future: Future[T] = Future()
        if self.refusal:
            future.set_exception(self.refusal)
        else:
            future.set_result(call())
        return future


def examine(properties: Mapping[str, str]) -> ConnectorFacts:
    if "tasks.max" in properties and not properties["tasks.max"].isdecimal():
        raise ConfigError((("tasks.max", properties["tasks.max"], "is no number"), ("topics", None, "is required")))
    ignored = "producer.override.transactional.id"
    return ConnectorFacts(
        warnings=tuple((name, text, "is ignored") for name, text in properties.items() if name == ignored)
    )

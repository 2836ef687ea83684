"""The records of the config topic and their folded state. Pure. The herder writes, every worker reads.

The topic has one compacted partition. Keys: `connector-<c>`, `task-<c>-<n>`, `commit-<c>`, `tasks-count-<c>`,
`target-state-<c>`, `restart-<c>`, `leader`, `logger-cluster-<logger>`.

Task records count only after the commit record of their generation, so a reader never sees half a generation. The
generation numbers of a name never decrease, even if the connector is deleted and created again. For this the commit
record outlives the connector. Its task count record does too (KIP-618, task count records), because the tasks of a
deleted connector may have zombies. Compaction keeps the last record of each key at its own offset, so every reader sees
these two in the same order.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec
import orjson

from engine.record.record import TopicPartition
from engine.worker_messages import ConnectorKind, TaskConfig

log = logging.getLogger(__name__)

TOPIC_CONFIG = {"cleanup.policy": "compact"}
# Copies of offsets keep the times of their originals, and later reads compare these times.
OFFSETS_TOPIC_CONFIG = {**TOPIC_CONFIG, "message.timestamp.type": "CreateTime"}
# Every lease reads the whole topic, and most records are the leader's heartbeats, so compaction must be frequent.
CONFIG_TOPIC_CONFIG = {
    **TOPIC_CONFIG,
    "segment.ms": "600000",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "3600000",
}
LEADER_KEY = "leader"
LOGGER_KEY = "logger-cluster-"
LEASE_KEY = b"lease"  # of the status topic: the progress of a running lease

KeyValue = tuple[bytes, bytes | None]


class TargetState(StrEnum):
    """The state that an operator wants for a connector."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class TaskEntry(msgspec.Struct, frozen=True):
    """A task record as written."""

    generation: int
    properties: dict[str, str]
    partitions: tuple[TopicPartition, ...]
    kind: ConnectorKind = ConnectorKind.SINK
    exactly_once: bool = False  # its producers are transactional: it may only run after older generations are fenced


class ConnectorState(msgspec.Struct, frozen=True):
    """The state of one connector name in the config topic.

    - `properties`: None when the connector was deleted or not created yet.
    - `tasks`: the tasks of `generation`. `pending` were written after its commit record.
    - `restarts`: operators' restarts of the whole connector; `task_restarts`: of single tasks.
    - `task_count`: how many transactional producers the generation that was last admitted may have left; None if there
      never was one.
    - `fenced`: the task count record came after the commit record, so no producer of an older generation can write.
    """

    properties: dict[str, str] | None = None
    generation: int = 0
    tasks: tuple[TaskEntry, ...] = ()
    pending: dict[int, TaskEntry] = {}
    target: TargetState = TargetState.STARTED
    restarts: int = 0
    task_restarts: dict[int, int] = {}
    task_count: int | None = None
    fenced: bool = False

    def restarts_of(self, task: int) -> int:
        """Return how often an operator restarted this task. The number never decreases."""
        return self.restarts + self.task_restarts.get(task, 0)


class Leader(msgspec.Struct, frozen=True):
    """The leader. `time` is the last heartbeat in ms, `url` is the URL of its REST API.

    `crowded`: tasks wait for a slot, so lingering leases have to end.
    """

    epoch: int = 0
    worker_id: str = ""
    time: int = 0
    url: str = ""
    crowded: bool = False


class LogLevel(msgspec.Struct, frozen=True):
    """The level of a logger in all drivers (KIP-976). `change` counts the changes."""

    level: str
    change: int = 0


class _PropertiesValue(msgspec.Struct):
    properties: dict[str, str]


class _TargetValue(msgspec.Struct):
    state: TargetState


class _RestartValue(msgspec.Struct):
    restarts: int
    tasks: dict[int, int] = {}


class _CommitValue(msgspec.Struct):
    tasks: int
    generation: int


class _CountValue(msgspec.Struct):
    tasks: int


class ConfigState(msgspec.Struct, frozen=True):
    """The config topic, folded up to some offset."""

    connectors: dict[str, ConnectorState] = {}
    leader: Leader = Leader()
    log_levels: dict[str, LogLevel] = {}  # by logger


def fold_config(state: ConfigState, key: bytes | None, value: bytes | None) -> ConfigState:
    """Return the state after one more record. Unknown and unreadable records change nothing."""
    try:
        return _fold(state, (key or b"").decode(errors="replace"), value)
    except (ValueError, TypeError) as error:
        log.warning("Ignored the record with key %r of the config topic, because it can't be read: %s", key, error)
        return state


def _fold(state: ConfigState, name: str, value: bytes | None) -> ConfigState:
    if name == LEADER_KEY:
        return _fold_leader(state, value)
    if name.startswith(LOGGER_KEY):
        return _fold_log_level(state, name.removeprefix(LOGGER_KEY), value)
    kind, connector, task = _parse(name)
    if kind is None:
        return state
    before = state.connectors.get(connector, ConnectorState())
    after = _fold_connector(before, kind, task, value or None)
    # The same object says that nothing changed: the herder then skips all connectors at once.
    if after == before:
        return state
    return msgspec.structs.replace(state, connectors={**state.connectors, connector: after})


def fold_all(state: ConfigState, records: Iterable[tuple[bytes | None, bytes | None]]) -> ConfigState:
    """Apply `fold_config` to many (key, value) rows."""
    for key, value in records:
        state = fold_config(state, key, value)
    return state


def task_configs(state: ConfigState, connector: str) -> tuple[TaskConfig, ...]:
    """Return the tasks of the connector's current generation."""
    entry = state.connectors.get(connector, ConnectorState())
    return tuple(
        TaskConfig(
            connector,
            number,
            task.generation,
            task.properties,
            task.partitions,
            entry.restarts_of(number),
            kind=task.kind,
            exactly_once=task.exactly_once,
        )
        for number, task in enumerate(entry.tasks)
    )


def owns(state: ConfigState, task: TaskConfig, leader_epoch: int) -> bool:
    """Return whether a lease may go on with this task.

    The leader, the generation and the restarts must be the same, and the task must still be meant to run. A task that
    writes transactions waits until the producers of older generations are fenced (KIP-618).
    """
    entry = state.connectors.get(task.connector)
    return (
        entry is not None
        and state.leader.epoch == leader_epoch
        and entry.properties is not None
        and entry.generation == task.generation
        and entry.target is TargetState.STARTED
        and entry.restarts_of(task.task) == task.restarts
        and (entry.fenced or not task.exactly_once)
    )


def connector_record(connector: str, properties: Mapping[str, str] | None) -> KeyValue:
    """Return the record of the connector's properties; None deletes it."""
    return _record(f"connector-{connector}", None if properties is None else {"properties": dict(properties)})


def task_record(connector: str, task: int, entry: TaskEntry | None) -> KeyValue:
    """Return the record of one task of a generation; None deletes it."""
    key = f"task-{connector}-{task}"
    if entry is None:
        return _record(key, None)
    partitions = [list(partition) for partition in entry.partitions]
    body = {
        "properties": entry.properties,
        "partitions": partitions,
        "generation": entry.generation,
        "kind": entry.kind,
        "exactly_once": entry.exactly_once,
    }
    return _record(key, body)


def commit_record(connector: str, tasks: int, generation: int) -> KeyValue:
    """Return the record that makes the task records of `generation` the connector's tasks."""
    return _record(f"commit-{connector}", {"tasks": tasks, "generation": generation})


def count_record(connector: str, tasks: int) -> KeyValue:
    """Return the record that lets the current generation run, after older ones are fenced.

    `tasks` is the number of its transactional producers.
    """
    return _record(f"tasks-count-{connector}", {"tasks": tasks})


def target_record(connector: str, target: TargetState | None) -> KeyValue:
    """Return the record of the target state; None deletes it."""
    return _record(f"target-state-{connector}", None if target is None else {"state": target})


def restart_record(connector: str, restarts: int, task_restarts: Mapping[int, int]) -> KeyValue:
    """Return the record of how often the connector and its tasks were restarted."""
    tasks = {str(task): count for task, count in task_restarts.items()}
    return _record(f"restart-{connector}", {"restarts": restarts, "tasks": tasks})


def leader_record(leader: Leader) -> KeyValue:
    """Return the leader's record: its claim and its heartbeat."""
    return _record(LEADER_KEY, msgspec.to_builtins(leader))


def log_level_record(logger: str, level: LogLevel) -> KeyValue:
    """Return the record of a logger's level in all drivers."""
    return _record(f"{LOGGER_KEY}{logger}", msgspec.to_builtins(level))


def _fold_log_level(state: ConfigState, logger: str, value: bytes | None) -> ConfigState:
    if value is None:
        return state
    levels = {**state.log_levels, logger: msgspec.json.decode(value, type=LogLevel)}
    return msgspec.structs.replace(state, log_levels=levels)


def _fold_leader(state: ConfigState, value: bytes | None) -> ConfigState:
    leader = msgspec.json.decode(value, type=Leader) if value else None
    return (
        # A record of a lower epoch was written by a driver that has been replaced.
        state if leader is None or leader.epoch < state.leader.epoch else msgspec.structs.replace(state, leader=leader)
    )


def _fold_connector(before: ConnectorState, kind: str, task: int | None, value: bytes | None) -> ConnectorState:
    replace, read = msgspec.structs.replace, msgspec.json.decode
    match kind:
        case "connector":
            return replace(before, properties=None if value is None else read(value, type=_PropertiesValue).properties)
        case "target-state":
            return replace(before, target=read(value, type=_TargetValue).state if value else TargetState.STARTED)
        case "restart" if value:
            restart = read(value, type=_RestartValue)
            return replace(before, restarts=restart.restarts, task_restarts=restart.tasks)
        case "task" if task is not None:
            pending = {number: entry for number, entry in before.pending.items() if number != task}
            if value is not None:
                pending[task] = read(value, type=TaskEntry)
            return replace(before, pending=pending)
        case "commit" if value:
            commit = read(value, type=_CommitValue)
            return _commit(before, commit.tasks, commit.generation)
        case "tasks-count":
            count = None if value is None else read(value, type=_CountValue).tasks
            return replace(before, task_count=count, fenced=count is not None)
    return before


def _commit(before: ConnectorState, count: int, generation: int) -> ConnectorState:
    written = tuple(before.pending[n] for n in range(count) if n in before.pending)
    # Part of a generation must never run, because it would leave partitions unread. In a compacted topic, a reader may
    # meet the commit record of a generation whose task records are partly replaced by later ones.
    is_complete = len(written) == count and all(entry.generation == generation for entry in written)
    tasks = written if is_complete else ()
    return msgspec.structs.replace(before, generation=generation, tasks=tasks, pending={}, fenced=False)


def _parse(name: str) -> tuple[str | None, str, int | None]:
    for kind in ("connector", "commit", "tasks-count", "target-state", "restart"):
        if name.startswith(f"{kind}-"):
            return kind, name.removeprefix(f"{kind}-"), None
    connector, dash, number = name.removeprefix("task-").rpartition("-")
    if name.startswith("task-") and dash and number.isdecimal():
        return "task", connector, int(number)
    return None, "", None


def _record(key: str, body: Mapping[str, Any] | None) -> KeyValue:
    return key.encode(), None if body is None else orjson.dumps(body)

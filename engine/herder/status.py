"""The status topic: the state of each connector and task, for the dashboard and the next leader."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import orjson
from msgspec.structs import replace

from engine.config.topic import LEASE_KEY, KeyValue
from engine.errors import EngineError
from engine.herder.fold import parse_positions
from engine.herder.snapshot import HerderSnapshot, connector_status, task_status
from engine.herder.state import HerderState, ReportedFigures, TaskRun, UsedTopic
from engine.herder.topic_log import Row, TopicLog
from engine.record import query_status
from engine.record.record import TopicPartition
from engine.worker_messages import LeaseProgress

log = logging.getLogger(__name__)

ENDS_MS = 5000  # minimum interval between reports that hold only new end offsets, which are most reports of busy topics
TOPIC, OF_CONNECTOR = "status-topic-", ":connector-"  # the parts of a key: a topic, and a connector that uses it
Statuses = dict[str, dict[str, Any]]
StatusValues = dict[str, tuple[tuple[Any, ...], dict[str, Any]]]


class StatusTopic:
    """The writer of the status topic. It writes changes; a key without an owner gets a tombstone."""

    def __init__(self, log: TopicLog) -> None:
        self._log = log
        self._written: Statuses = {}
        self._values: StatusValues = {}
        self._shown: HerderSnapshot | None = None
        # Ends that every status shows; None: some may show newer ones.
        self._ends: dict[TopicPartition, int] | None = None
        self._ends_at = 0  # when all new ends were last written (ms)

    def read(self) -> Statuses:
        """Return the last status of every key, as the former leader left it."""
        self._log.rewind()  # rows that passed while it last led were not kept
        self._written, self._shown = fold_statuses({}, self._log.read_to_end()), None
        return self._written

    def progress(self) -> list[LeaseProgress]:
        """Return the progress that running leases reported since the last call.

        Reports that can't be read now are repeated later.
        """
        values: list[bytes] = []
        try:
            for key, value in self._log.read_new():
                if key == LEASE_KEY and value is not None:
                    values.append(value)
        except EngineError as error:
            log.debug("progress reports of leases can't be read now: %s", error)
        return [progress for progress in map(_progress, values) if progress is not None]

    def publish(self, view: HerderSnapshot, now: int) -> None:
        """Write every changed status durably. A status with only new ends may be delayed."""
        with_ends = self._shown is None or now - self._ends_at >= ENDS_MS
        same = self._shown is not None and is_same_except_ends(self._shown, view)
        if same and (not with_ends or view.ends == self._ends):
            return
        self._values = status_values(view, self._values, with_ends=with_ends)
        current = {key: body for key, (_, body) in self._values.items()}
        rows = list(status_changes(self._written, current, now))
        if rows:
            # If this raises, `_written` still holds the old statuses, and the next call writes the changes again.
            self._log.append(rows)
            self._ends_at = now if with_ends else self._ends_at
        self._written, self._shown = current, view
        self._ends = view.ends if with_ends else None

    def close(self) -> None:
        self._log.close()


def is_same_except_ends(before: HerderSnapshot, after: HerderSnapshot) -> bool:
    """Return whether two views differ only in their ends. The cost does not grow with the number of tasks."""
    return (
        before.state.tasks is after.state.tasks
        and before.state.leases is after.state.leases
        and before.state.topics is after.state.topics
        and before.config.connectors is after.config.connectors
        and before.facts is after.facts
        and before.troubles == after.troubles
    )


def status_values(view: HerderSnapshot, before: StatusValues, *, with_ends: bool = True) -> StatusValues:
    """Return the status of every connector and task by key, each with its source value.

    Few of thousands of tasks change at a time, so unchanged ones keep their previous status. Without `with_ends`, tasks
    that have only new ends also keep it.
    """
    rows: StatusValues = {}
    held = {(task.connector, task.task) for task in view.state.leased_tasks()}
    for name in view.names():
        rows[f"status-connector-{name}"] = (), connector_status(view, name)
        facts = view.facts_of(name)
        for task in view.tasks(name):
            key = f"status-task-{name}-{task.config.task}"
            seen = (task, facts, view.worker_id, task.key in held), tuple(map(view.ends.get, task.partitions))
            known = before.get(key)
            is_current = known is not None and (known[0] == seen if with_ends else known[0][0] == seen[0])
            rows[key] = known if known is not None and is_current else (seen, task_status(view, task))
        for topic, used in view.state.topics.get(name, {}).items():
            rows[f"{TOPIC}{topic}{OF_CONNECTOR}{name}"] = (), _topic_status(name, topic, used)
    return rows


def status_changes(before: Statuses, after: Statuses, now: int) -> Iterator[KeyValue]:
    """Return the records that turn one set of statuses into the other."""
    for key, body in after.items():
        known = before.get(key, {})
        if body is not known and body != {name: value for name, value in known.items() if name != "time"}:
            yield key.encode(), orjson.dumps({**body, "time": now})
    for key in before.keys() - after.keys():
        yield key.encode(), None


def fold_statuses(before: Statuses, rows: Iterable[Row]) -> Statuses:
    """Return the last status by key.

    Reports of leases are not statuses. Those of Spark queries belong to the queries: a leader that kept them would
    write tombstones, because they have no connector.
    """
    after = dict(before)
    for key, value in rows:
        if key == LEASE_KEY or (key or b"").startswith(query_status.KEY):
            continue
        name = (key or b"").decode(errors="replace")
        if value is None:
            after.pop(name, None)
            continue
        try:
            after[name] = msgspec.json.decode(value, type=dict[str, Any])
        except (ValueError, TypeError) as error:
            log.warning("status record %s is malformed and is ignored: %s", name, error)
    return after


def restore_tasks(state: HerderState, statuses: Statuses) -> HerderState:
    """Return a new leader's state with the figures and failures that the former leader wrote.

    Positions are remembered for the connector, regardless of generation and task. A partition that was committed once
    makes a missing offset an error.
    """
    known = _positions(statuses)
    tasks = {
        key: _try_restore_task(task, statuses.get(f"status-task-{key[0]}-{key[1]}", {}), known.get(key[0], {}))
        for key, task in state.tasks.items()
    }
    return replace(state, tasks=tasks, topics=_topics(statuses))


def _topic_status(connector: str, topic: str, used: UsedTopic) -> dict[str, Any]:
    """Return the status of a topic in Kafka Connect's format (KIP-558)."""
    row = {"name": topic, "connector": connector, "task": used.task, "discoverTimestamp": used.discovered_ms}
    return {"topic": row}


def _topics(statuses: Statuses) -> dict[str, dict[str, UsedTopic]]:
    found: dict[str, dict[str, UsedTopic]] = {}
    for name, body in statuses.items():
        if not name.startswith(TOPIC):
            continue
        # A topic's name has no colon, so the first one ends it.
        topic, _, connector = name.removeprefix(TOPIC).partition(OF_CONNECTOR)
        try:
            used = UsedTopic(int(body["topic"]["task"]), int(body["topic"]["discoverTimestamp"]))
        except (KeyError, ValueError, TypeError) as error:
            log.warning("the stored status %s is malformed and is ignored: %s", name, error)
            continue
        found.setdefault(connector, {})[topic] = used
    return found


def _progress(value: bytes) -> LeaseProgress | None:
    try:
        return msgspec.json.decode(value, type=LeaseProgress)
    except msgspec.DecodeError as error:
        log.warning("a progress report of a lease is malformed and is ignored: %s", error)
        return None


def _positions(statuses: Statuses) -> dict[str, dict[TopicPartition, int]]:
    """Return every position of each connector in the statuses."""
    known: dict[str, dict[TopicPartition, int]] = {}
    for name, body in statuses.items():
        connector = name.removeprefix("status-task-").rpartition("-")[0]
        try:
            known.setdefault(connector, {}).update(parse_positions(body.get("positions", {})))
        except (ValueError, TypeError, AttributeError):
            continue  # reported when its task is recalled
    return known


def _restore_task(task: TaskRun, body: dict[str, Any], known: Mapping[TopicPartition, int]) -> TaskRun:
    own_positions = {partition: known[partition] for partition in task.config.partitions if partition in known}
    if not body:
        return replace(task, positions=own_positions)
    names = ("metrics", "stage_failures", "stage_dropped", "tolerance")
    parse_positions(body.get("positions", {}))  # raises for malformed positions
    figures = msgspec.convert({name: body.get(name, {}) for name in names}, ReportedFigures)
    same = body.get("generation") == task.config.generation
    failed = same and body.get("restarts") == task.config.restarts and body.get("state") == "FAILED"
    trace = (body.get("trace") or "the task failed without a trace") if failed else None
    return replace(task, positions=own_positions, figures=figures, trace=trace)


def _try_restore_task(task: TaskRun, body: dict[str, Any], known: Mapping[TopicPartition, int]) -> TaskRun:
    try:
        return _restore_task(task, body, known)
    except (ValueError, TypeError, AttributeError) as error:
        log.warning("the stored status of task %s is malformed and is ignored: %s", task.config.task_id, error)
        return task

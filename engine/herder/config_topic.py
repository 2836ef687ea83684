"""The connectors in the config topic. Only this module reads and writes that topic."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from engine.config.masking import masked_options
from engine.config.topic import (
    ConfigState,
    ConnectorState,
    KeyValue,
    Leader,
    LogLevel,
    TargetState,
    TaskEntry,
    commit_record,
    connector_record,
    count_record,
    fold_all,
    leader_record,
    log_level_record,
    restart_record,
    target_record,
    task_record,
)
from engine.errors import ConfigError, NotFound
from engine.herder.topic_log import TopicLog


class Connectors:
    """The folded state of the config topic.

    Every write is read back before it counts, so the topic stays the source of truth.
    """

    def __init__(self, log: TopicLog, worker_id: str, url: str = "") -> None:
        self._log = log
        self._worker_id = worker_id
        self._url = url
        self.state = self.before = ConfigState()  # `before`: the state when this driver last claimed the leadership
        self.epoch = 0
        self._crowded = False

    def claim(self, now: int) -> None:
        """Become the leader, with an epoch above all former epochs."""
        self.state = self.before = fold_all(self.state, self._log.read_to_end())
        self.epoch, self._crowded = self.state.leader.epoch + 1, False
        self._write(leader_record(Leader(self.epoch, self._worker_id, now, self._url)))

    def heartbeat(self, now: int) -> None:
        """Write the leader's heartbeat."""
        self._write_heartbeat(now, self._crowded)

    def report_crowded(self, crowded: bool, now: int) -> None:
        """Tell running leases that tasks wait for slots, or no longer do. Write only changes."""
        if crowded is not self._crowded:
            self._write_heartbeat(now, crowded)
            # Only after the write: if it fails, the next turn writes again.
            self._crowded = crowded

    def prove_leadership(self) -> None:
        """Write a record to prove the leadership. Only the leader can write; raises GenerationFenced otherwise."""
        self._write(leader_record(self.state.leader))

    def resign(self, now: int) -> None:
        """Give up the leadership without a successor. Every running lease sees it, commits and stops."""
        if self.is_leading():
            # A lease works only under the epoch that granted it, so a higher epoch ends all leases.
            self._write(leader_record(Leader(self.epoch + 1, "", now)))

    def refresh(self) -> None:
        """Read and fold the records written since the last call."""
        self.state = fold_all(self.state, self._log.tail())

    def is_leading(self) -> bool:
        """Return whether this driver's epoch is still the newest."""
        return self.state.leader.epoch == self.epoch

    def is_own(self, leader: Leader) -> bool:
        """Return whether the leader is this driver, possibly before a restart."""
        return (leader.worker_id, leader.url) == (self._worker_id, self._url)

    def read_to_end(self) -> None:
        """Read the topic to its current end. Raises RetriableError when that takes too long."""
        self.state = fold_all(self.state, self._log.read_to_end())

    def get(self, connector: str) -> ConnectorState:
        """Return the connector. Raises NotFound."""
        entry = self.state.connectors.get(connector)
        if entry is None or entry.properties is None:
            raise NotFound(f"Connector {connector} not found")
        return entry

    def exists(self, connector: str) -> bool:
        entry = self.state.connectors.get(connector)
        return entry is not None and entry.properties is not None

    def put(self, connector: str, properties: Mapping[str, str], target: TargetState | None = None) -> None:
        """Create or change a connector. A change restarts its tasks with fresh counters."""
        self._write(*self._put(connector, properties, target))

    def put_all(self, given: Mapping[str, Mapping[str, str]], initial_states: Mapping[str, TargetState]) -> None:
        """Create or change several connectors, by name, in one transaction. A new one begins in its initial state."""
        new = {name: state for name, state in initial_states.items() if not self.exists(name)}
        self._write(*(row for name, properties in given.items() for row in self._put(name, properties, new.get(name))))

    def delete(self, connector: str) -> None:
        """Delete the connector.

        The commit record stays, so that the generation numbers continue if the name is used again.
        """
        entry = self.get(connector)
        self._write(
            connector_record(connector, None),
            target_record(connector, None),
            *(task_record(connector, task, None) for task in range(len(entry.tasks))),
            commit_record(connector, 0, entry.generation + 1),
        )

    def set_target(self, connector: str, target: TargetState) -> None:
        """Set the target state: running, paused or stopped."""
        if self.get(connector).target is not target:
            self._write(target_record(connector, target))

    def restart(self, connector: str, tasks: Sequence[int]) -> None:
        """Restart these tasks."""
        entry = self.get(connector)
        if missing := [task for task in tasks if task >= len(entry.tasks)]:
            raise NotFound(f"Task {connector}-{missing[0]} not found")
        # A count, not a flag: a report tells by it whether its lease began before the restart.
        raised = {task: entry.task_restarts.get(task, 0) + 1 for task in tasks}
        self._write(restart_record(connector, entry.restarts, {**entry.task_restarts, **raised}))

    def new_generations(self, wanted: Mapping[str, Sequence[TaskEntry]]) -> None:
        """Replace the tasks of these connectors in one transaction.

        Readers see all tasks of a connector's new generation, or none.
        """
        self._write(*(row for connector, tasks in wanted.items() for row in self._generation(connector, tasks)))

    def set_log_level(self, logger: str, level: str) -> None:
        """Set the level of a logger in all drivers. Setting the same level again is a change too."""
        before = self.state.log_levels.get(logger)
        self._write(log_level_record(logger, LogLevel(level, 1 if before is None else before.change + 1)))

    def write_count(self, connector: str, tasks: int) -> None:
        """Write the task count record, which lets the current generation run.

        Earlier generations are fenced by then. The record holds the number of the generation's transactional producers.
        """
        self._write(count_record(connector, tasks))

    def close(self) -> None:
        self._log.close()

    def _write_heartbeat(self, now: int, crowded: bool) -> None:
        if self.is_leading():
            self._write(leader_record(Leader(self.epoch, self._worker_id, now, self._url, crowded)))

    def _put(
        self, connector: str, properties: Mapping[str, str], target: TargetState | None = None
    ) -> Iterator[KeyValue]:
        entry = self.state.connectors.get(connector, ConnectorState())
        if entry.properties == properties:
            return
        # In the same transaction as the properties, so that no task runs the new properties with the old counters.
        yield restart_record(connector, entry.restarts + 1, entry.task_restarts)
        if target:
            yield target_record(connector, target)
        yield connector_record(connector, properties)

    def _generation(self, connector: str, tasks: Sequence[TaskEntry]) -> Iterator[KeyValue]:
        entry = self.get(connector)
        for number, task in enumerate(tasks):
            yield task_record(connector, number, task)
        yield commit_record(connector, len(tasks), entry.generation + 1)
        # Tombstones: compaction would otherwise keep the tasks that the new generation no longer has.
        for number in range(len(tasks), len(entry.tasks)):
            yield task_record(connector, number, None)

    def _write(self, *rows: KeyValue) -> None:
        if rows:
            self._log.append(rows)
            # The topic decides, not what this driver believes: the rows read back are what workers and other drivers
            # see.
            self.state = fold_all(self.state, self._log.read_back(rows[-1]))


def refuse_masks(properties: Mapping[str, str], secrets: Collection[str] = ()) -> None:
    """Raise ConfigError if a masked value has no stored value to stand for."""
    left = masked_options(properties, secrets)
    if left:
        text = "is a masked value, but no stored value exists; write the real value"
        raise ConfigError(tuple((name, None, text) for name in left))

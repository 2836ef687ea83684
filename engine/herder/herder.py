"""The driver's main thread: lead or stand by.

The leader reads Kafka, plans, grants leases, folds results and publishes the state. The pure functions in the
neighbouring modules make every decision. This module holds only their order and their effects.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from msgspec.structs import replace

from engine.config.topic import LogLevel, TargetState
from engine.errors import EngineError, GenerationFenced, LeaderFailed, NotFound, NotLeading, RequestConflict
from engine.herder import fold
from engine.herder.config_topic import Connectors
from engine.herder.connector_problems import ConnectorProblems
from engine.herder.failure_log import FailureLog
from engine.herder.fencing import FencingRunner
from engine.herder.generations import GenerationCheck
from engine.herder.initial_connectors import InitialConnectors
from engine.herder.leadership import Leadership
from engine.herder.lease_results import LeaseResults
from engine.herder.mailbox import Mailbox
from engine.herder.offset_changes import OffsetChanges, OffsetRow
from engine.herder.offset_refresh import OffsetRefresh
from engine.herder.plan import delayed_tasks, is_crowded, overdue_leases, plan, unbegun_leases
from engine.herder.positions import GroupOffsets
from engine.herder.requests import ConfigRequests
from engine.herder.snapshot import HerderSnapshot, leader_snapshot, standby_snapshot
from engine.herder.state import HerderSettings, HerderState
from engine.herder.status import StatusTopic, restore_tasks
from engine.herder.task_positions import TaskPositionReader
from engine.herder.timer import Timer
from engine.herder.topics import ConnectorTopics
from engine.herder.validation_cache import Examine, Secrets, ValidationCache, no_secrets
from engine.ports import Admin, Fence, SourceOffsets, TaskRunner
from engine.record.record import TopicPartition
from engine.reporting.log_levels import LogLevels

log = logging.getLogger(__name__)
LEAD_PAUSE_MOST_MS = 60_000
T = TypeVar("T")


class Herder:
    """The herder. `run` needs its own thread; every other method is thread-safe.

    Requests return futures.
    """

    def __init__(
        self,
        *,
        connectors: Connectors,
        leadership: Leadership,
        status: StatusTopic,
        offsets: GroupOffsets,
        sources: SourceOffsets,
        admin: Admin,
        runner: TaskRunner,
        examine: Examine,
        fence: Fence,
        settings: HerderSettings,
        worker_id: str,
        now_ms: Callable[[], int],
        prepare: Callable[[], None],
        retention_ms: Callable[[], int | None] = lambda: None,
        initial: Sequence[Mapping[str, str]] = (),
        initial_states: Mapping[str, TargetState] = MappingProxyType({}),
        secrets: Secrets = no_secrets,
        log_levels: LogLevels | None = None,
    ) -> None:
        self._connectors = connectors
        self._leadership = leadership
        self._status = status
        self._topics = ConnectorTopics(admin)
        self._runner = runner
        self._validation = ValidationCache(examine, secrets)
        self._requests = ConfigRequests(connectors, self._validation)
        self._settings = settings
        self._now_ms = now_ms
        self._prepare, self._prepared = prepare, False
        self._initial = InitialConnectors(initial, connectors, initial_states)
        self._mailbox = Mailbox()
        self._stopping = threading.Event()
        self._state = HerderState()
        self._is_leading, self._problems = False, ConnectorProblems()
        self._lease_results = LeaseResults(offsets, settings, self._problems)
        self._lease_results.wake = self._wake
        self._generations = GenerationCheck(connectors, self._validation, self._topics, settings, self._problems)
        self._fencing = FencingRunner(fence, connectors, settings, self._problems)
        self._fencing.done = self._wake
        self._offset_changes = OffsetChanges(connectors, self._fencing, offsets, sources, admin.begin_offsets)
        self._position_reader = TaskPositionReader(offsets, settings, self._problems)
        self._offset_refresh = OffsetRefresh(offsets, retention_ms, settings)
        self._failures = FailureLog()
        self._log_levels = log_levels or LogLevels()
        self._applied_log_levels: Mapping[str, LogLevel] | None = None  # None: the topic was not read yet
        self._heartbeat_timer = Timer(settings.heartbeat_ms)
        self._progress_timer = Timer(settings.progress_ms)
        self._view = HerderSnapshot(worker_id, slots=settings.slots)
        self._lead_problem: str | None = None  # why the last attempt to lead failed
        self._lead_pause_ms = 0
        self._lead_after_ms = 0

    def view(self) -> HerderSnapshot:
        """Return the current view."""
        return self._view

    def put(
        self, name: str, properties: Mapping[str, str], *, create: bool = False, target: TargetState | None = None
    ) -> Future[bool]:
        """Create or change a connector. The result is True when it is new; then it begins in the target state.

        Raises ConfigError, or RequestConflict when `create` is set and the connector exists.
        """
        given = {**properties, "name": name}
        return self._ask(lambda: self._requests.put(self._view, name, given, create, target))

    def patch(self, name: str, changes: Mapping[str, str | None]) -> Future[None]:
        """Change some options of a connector; None removes an option. Raises ConfigError or NotFound."""
        return self._ask(lambda: self._requests.patch(self._view, name, changes))

    def delete(self, name: str) -> Future[None]:
        return self._ask(partial(self._connectors.delete, name))

    def set_target(self, name: str, target: TargetState) -> Future[None]:
        """Start (resume), pause or stop a connector."""
        return self._ask(partial(self._connectors.set_target, name, target))

    def restart(self, name: str, *, tasks: bool = False, only_failed: bool = False) -> Future[None]:
        """Restart a connector and, optionally, its tasks, with fresh tolerance counters."""
        return self._ask(lambda: self._requests.restart(self._view, name, tasks, only_failed))

    def restart_task(self, name: str, task: int) -> Future[None]:
        return self._ask(partial(self._requests.restart_task, name, task))

    def reset_topics(self, name: str) -> Future[None]:
        """Forget which topics a connector has used."""
        return self._ask(partial(self._forget_topics, name))

    def set_cluster_log_level(self, logger: str, level: str) -> Future[None]:
        """Set the level of a logger in all drivers of the cluster (KIP-976)."""
        return self._ask(partial(self._connectors.set_log_level, logger, level))

    def offsets(self, name: str) -> list[OffsetRow]:
        """Return the connector's committed offsets. Asks the brokers on the caller's thread."""
        entry = self._view.connector(name)
        if entry is None:
            raise NotFound(f"Connector {name} not found")
        return self._offset_changes.read(entry, name, self._view.facts_of(name))

    def change_offsets(self, name: str, rows: Sequence[OffsetRow] | None) -> Future[Future[None]]:
        """Set these offsets of a stopped connector, or reset all (None).

        The outer future completes when the change is accepted, the inner one when it is done.
        """
        return self._ask(lambda: self._offset_changes.begin(self._state, name, self._view.facts_of(name), rows))

    def stop(self) -> None:
        """Ask every lease to finish its chunk. `run` returns when all have ended."""
        self._stopping.set()
        self._wake()

    def run(self) -> None:
        """Lead or stand by until stopped."""
        while not self._stopping.is_set():
            self.serve(self.turn())
        self._wind_down()

    def is_leading(self) -> bool:
        return self._is_leading

    def turn(self) -> int:
        """Run one turn: read, decide, act. Return how long to wait for requests before the next turn (ms)."""
        try:
            self._is_leading = self._is_leading or self._try_to_lead()
            if self._is_leading:
                return self._take_turn()
            self._stand_by()
        except LeaderFailed as error:
            self._step_down()
            self._note_failed_lead(error)
        except GenerationFenced as error:
            log.warning("this driver no longer leads: %s", error)
            self._step_down()
        except EngineError as error:
            self._note_problem(error)
            return self._settings.trouble_ms
        return self._settings.poll_ms

    def serve(self, wait_ms: int) -> None:
        """Answer requests until the wait time is over or one request was answered."""
        self._mailbox.serve(wait_ms / 1000)

    def _try_to_lead(self) -> bool:
        """Begin to lead, if it is this driver's turn. Return whether it leads."""
        if not self._prepared:
            self._prepare()
            self._prepared = True
        now = self._now_ms()
        if now < self._lead_after_ms or not self._leadership.try_take(now):
            return False
        self._initial.write()
        # Another driver may have led since this driver last checked the connectors.
        self._generations.forget()
        # Leases from an earlier leadership of this driver may still run.
        state = HerderState(epoch=self._connectors.epoch, leases=self._state.leases)
        self._state = restore_tasks(fold.fold_config(state, self._connectors.state, now), self._status.read())
        self._failures.restore(self._state)
        self._lead_problem, self._lead_pause_ms = None, 0
        log.info("this driver leads with epoch %d and %d tasks", self._connectors.epoch, len(self._state.tasks))
        return True

    def _take_turn(self) -> int:
        now = self._now_ms()
        self._connectors.refresh()
        self._apply_log_levels()
        # Before every act. A driver that slept would be fenced at its next write, but a lease is granted without a
        # write.
        self._leadership.check(now)
        if self._heartbeat_timer.is_due(now):
            self._connectors.heartbeat(now)
        self._state = self._lease_results.settle(self._state, now)
        for progress in self._status.progress():
            self._state = fold.fold_lease_progress(self._state, progress, now)
        self._generations.turn(now)
        self._state = fold.fold_config(self._state, self._connectors.state, now)
        self._cancel(now)
        self._fencing.turn(self._state, now)
        for name in self._offset_changes.turn():
            self._state = fold.fold_changed_offsets(self._state, name)
        # Fencing writes task count records to the config topic, so fold it again before leases are granted.
        self._state = fold.fold_config(self._state, self._connectors.state, now)
        self._state = self._position_reader.locate(self._state, now)
        ends = self._topics.ends(task.config for task in self._state.tasks.values())
        self._offset_refresh.turn(self._state, now)
        self._grant(ends, now)
        if self._progress_timer.is_due(now):
            self._state = self._position_reader.follow(self._state, self._view, now)
        self._publish_view(ends, now)
        return self._wait_ms(ends, now)

    def _stand_by(self) -> None:
        """Follow the leader's address while another driver leads. Let the leases that still run here end."""
        now = self._now_ms()
        self._connectors.refresh()
        self._apply_log_levels()
        self._initial.stand_by()
        self._state = self._lease_results.settle(self._state, now)
        self._cancel(now)
        other = self._leadership.other_leader(now)
        if other is not None and not self._view.standby:
            log.info("standing by: %s leads", other.worker_id)
        self._view = standby_snapshot(self._view, other)
        if other is None and self._lead_problem is not None:
            self._view = replace(self._view, standby=False, trouble=self._lead_problem)

    def _step_down(self) -> None:
        self._is_leading = False
        self._leadership.release()
        self._generations.stop_watches()
        self._fencing.forget()
        self._offset_changes.forget()
        self._state = fold.fold_stepped_down(self._state, self._now_ms())
        self._view = replace(self._view, ready=False, standby=True, leader_url="")

    def _cancel(self, now: int) -> None:
        late = overdue_leases(self._state, now, self._settings)
        for lease_id in late:
            log.warning("lease %s did not end in time and was cancelled", lease_id)
            self._runner.cancel(lease_id)
        self._state = fold.fold_cancelled(self._state, late)

    def _grant(self, ends: Mapping[TopicPartition, int], now: int) -> None:
        leases = plan(self._state, ends, now, self._settings)
        self._state = fold.fold_granted(self._state, leases, now)
        self._offset_changes.note_granted(leases)
        for lease in leases:
            self._runner.submit(lease).add_done_callback(partial(self._lease_results.post, lease))
        # Spark may have no core for a granted lease, for example because lingering leases hold all of them.
        waiting = any(
            self._runner.is_waiting(lease_id) for lease_id in unbegun_leases(self._state, now, self._settings)
        )
        self._connectors.report_crowded(waiting or is_crowded(self._state, ends, now, self._settings), now)

    def _wait_ms(self, ends: Mapping[TopicPartition, int], now: int) -> int:
        """Return the time until the next turn (ms).

        It grows with the number of end offsets to read, but it never delays a task whose back-off ends.
        """
        settings, now_after_turn = self._settings, self._now_ms()
        wakes = (task.not_before - now_after_turn for task in delayed_tasks(self._state, ends, now))
        return max(settings.poll_ms, min([settings.poll_most_ms, settings.poll_each_ms * len(ends), *wakes]))

    def _wake(self) -> None:
        # An empty call ends the wait for requests, so the next turn begins at once.
        self._mailbox.ask(lambda: None)

    def _ask(self, call: Callable[[], T]) -> Future[T]:
        return self._mailbox.ask(partial(self._answer, call))

    def _answer(self, call: Callable[[], T]) -> T:
        """Execute a request and update the view before the caller gets the answer."""
        if self._view.standby:
            raise NotLeading(self._view.leader_url)
        if not self._view.ready:
            raise RequestConflict(self._view.trouble or "the engine is starting; try again soon")
        try:
            answer = call()
        except GenerationFenced as error:
            log.warning("this driver no longer leads: %s", error)
            self._step_down()
            raise NotLeading from error
        now = self._now_ms()
        self._state = fold.fold_config(self._state, self._connectors.state, now)
        self._publish_view(self._view.ends, now)
        return answer

    def _publish_view(self, ends: Mapping[TopicPartition, int], now: int) -> None:
        self._failures.turn(self._state)
        config = self._connectors.state
        facts = self._validation.all_facts(config.connectors)
        problems, checkpoints = self._problems.texts(facts), self._generations.checkpoints()
        self._view = leader_snapshot(self._view, config, self._state, dict(ends), facts, problems, checkpoints)
        self._status.publish(self._view, now)

    def _forget_topics(self, name: str) -> None:
        self._state = fold.fold_reset_topics(self._state, name)

    def _apply_log_levels(self) -> None:
        """Set the levels that were written for the whole cluster since this driver started."""
        levels = self._connectors.state.log_levels
        if self._applied_log_levels is not None and levels is not self._applied_log_levels:
            before = self._applied_log_levels
            for logger, change in levels.items():
                if before.get(logger) != change:
                    self._log_levels.set(logger, change.level)
        self._applied_log_levels = levels

    def _note_failed_lead(self, error: LeaderFailed) -> None:
        """Try to lead again later, ever less often: a missing right does not appear by itself."""
        self._lead_pause_ms = min(max(2 * self._lead_pause_ms, self._settings.trouble_ms), LEAD_PAUSE_MOST_MS)
        self._lead_after_ms = self._now_ms() + self._lead_pause_ms
        if self._lead_problem != str(error):
            log.warning("this driver can't lead; next attempt in %d ms: %s", self._lead_pause_ms, error)
        self._lead_problem = str(error)
        self._view = replace(self._view, standby=False, trouble=self._lead_problem)

    def _note_problem(self, error: EngineError) -> None:
        if self._view.trouble is None:
            log.warning("the herder can't continue; next attempt in %d ms: %s", self._settings.trouble_ms, error)
        self._view = replace(self._view, trouble=str(error))

    def _await_leases(self) -> None:
        deadline = self._now_ms() + self._settings.graceful_ms
        while self._state.leases and self._now_ms() < deadline:
            # Every lease that ends wakes the mailbox, so the driver stops soon after the last one.
            self._mailbox.serve(0.1)
            self._state = self._lease_results.settle(self._state, self._now_ms())

    def _wind_down(self) -> None:
        log.info("stopping: waiting for %d leases to end", len(self._state.leases))
        try:
            if self._is_leading:
                # Written while this driver can still write. Its leases, on whatever worker, then commit and stop at
                # once.
                self._connectors.resign(self._now_ms())
            self._await_leases()
            if self._is_leading:
                self._publish_view(self._view.ends, self._now_ms())
        except EngineError as error:
            log.warning("stopping: the final state was not written to Kafka: %s", error)
        self._mailbox.close()
        self._generations.close()
        self._fencing.close()
        self._leadership.close()
        self._connectors.close()
        self._status.close()

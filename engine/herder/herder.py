"""The driver's own thread: look at Kafka, plan, grant leases, fold what came back, say so.

Every decision is made by the pure functions beside this file; here are only their order and their effects.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from engine.config.options import stripped
from engine.config.topic import ConnectorState, TargetState
from engine.errors import Conflict, EngineError, RetriableError
from engine.herder import fold
from engine.herder.assignment import next_generation, source_generation
from engine.herder.connectors import Connectors, refuse_masks, unmask
from engine.herder.endings import Endings, Reports
from engine.herder.examination import Examination, Examine, Secrets, no_secrets
from engine.herder.mailbox import Mailbox
from engine.herder.plan import overdue, plan
from engine.herder.positions import GroupOffsets
from engine.herder.state import HerderState, Settings
from engine.herder.status import StatusTopic, recall
from engine.herder.timer import Timer
from engine.herder.topics import Topics
from engine.herder.troubles import Troubles
from engine.herder.view import View
from engine.ports import Admin, Kind, Lease, TaskRunner
from engine.record.record import TopicPartition

log = logging.getLogger(__name__)

T = TypeVar("T")


class Herder:
    """`run` in a thread of its own; everything else from any thread. Requests are answered as futures."""

    def __init__(
        self,
        *,
        connectors: Connectors,
        status: StatusTopic,
        offsets: GroupOffsets,
        admin: Admin,
        runner: TaskRunner,
        examine: Examine,
        settings: Settings,
        worker_id: str,
        now_ms: Callable[[], int],
        prepare: Callable[[], None],
        initial: Sequence[Mapping[str, str]] = (),
        secrets: Secrets = no_secrets,
    ) -> None:
        self._connectors = connectors
        self._status = status
        self._offsets = offsets
        self._topics = Topics(admin)
        self._runner = runner
        self._examination = Examination(examine, secrets)
        self._settings = settings
        self._now_ms = now_ms
        self._prepare = prepare
        self._initial = initial
        self._mailbox = Mailbox()
        self._stopping = threading.Event()
        self._state = HerderState()
        self._opened = False
        self._troubles = Troubles()
        self._endings = Endings(offsets, settings, self._troubles)
        self._sought: dict[str, dict[str, str]] = {}
        self._topics_timer = Timer(settings.topics_every_ms)
        self._growth_timer = Timer(settings.growth_every_ms)
        self._heartbeat_timer = Timer(settings.heartbeat_ms)
        self._recommit_timer = Timer(settings.recommit_ms)
        self._progress_timer = Timer(settings.progress_ms)
        self._view = View(worker_id, slots=settings.slots)

    def view(self) -> View:
        """What there is to see now."""
        return self._view

    def put(self, name: str, properties: Mapping[str, str], *, create: bool = False) -> Future[bool]:
        """Create or change a connector; True when it is new. ConfigError, or Conflict when `create` finds it there."""
        return self._ask(partial(self._put, name, {**properties, "name": name}, create))

    def delete(self, name: str) -> Future[None]:
        return self._ask(partial(self._connectors.delete, name))

    def set_target(self, name: str, target: TargetState) -> Future[None]:
        """Start (resume), pause or stop a connector."""
        return self._ask(partial(self._connectors.set_target, name, target))

    def restart(self, name: str, *, tasks: bool = False, only_failed: bool = False) -> Future[None]:
        """Restart a connector and, if asked, its tasks, with fresh tolerance counters."""
        return self._ask(partial(self._restart, name, tasks, only_failed))

    def restart_task(self, name: str, task: int) -> Future[None]:
        return self._ask(partial(self._connectors.restart, name, [task]))

    def stop(self) -> None:
        """Ask every lease to finish its chunk; `run` returns when all have."""
        self._stopping.set()

    def run(self) -> None:
        """Lead until stopped, or until another worker leads."""
        while not self._stopping.is_set() and self.leads():
            self.serve(self.turn())
        self._wind_down()

    def leads(self) -> bool:
        """True until a newer leader was seen."""
        return not self._opened or self._connectors.leads()

    def turn(self) -> int:
        """Look, decide, act, once; how long to wait for requests before the next turn (ms)."""
        try:
            if not self._opened:
                self._open()
            self._turn()
        except EngineError as error:
            self._troubled(error)
            return self._settings.trouble_ms
        return self._settings.poll_ms

    def serve(self, wait_ms: int) -> None:
        """Answer requests; at least until this time is over, or one was answered."""
        self._mailbox.serve(wait_ms / 1000)

    def _open(self) -> None:
        self._prepare()
        now = self._now_ms()
        self._connectors.claim(now)
        for properties in self._initial:
            self._connectors.put(properties["name"], stripped(properties))
        self._state = HerderState(epoch=self._connectors.epoch)
        self._state = recall(fold.fold_config(self._state, self._connectors.state, now), self._status.read())
        self._opened = True
        log.info("leading with epoch %d; %d tasks", self._connectors.epoch, len(self._state.tasks))

    def _turn(self) -> None:
        now = self._now_ms()
        self._connectors.refresh()
        if self._heartbeat_timer.due(now):
            self._connectors.heartbeat(now)
        self._state = self._endings.settle(self._state, now)
        self._reconcile(now)
        ends = self._topics.ends(task.config for task in self._state.tasks.values())
        self._cancel(now)
        self._grant(ends, now)
        if self._recommit_timer.due(now):
            self._offsets.recommit(self._state)
        if self._progress_timer.due(now):
            self._follow_standing(now)
        self._show(ends, now)

    def _reconcile(self, now: int) -> None:
        look, look_again = self._topics_timer.due(now), self._growth_timer.due(now)
        for name, entry in self._connectors.state.connectors.items():
            if entry.properties is None or self._examination.facts(name, entry.properties).trace is not None:
                continue
            changed = self._sought.get(name) != entry.properties
            if changed or look_again or (look and not entry.tasks):
                self._assign(name, entry, entry.properties)
        self._state = fold.fold_config(self._state, self._connectors.state, now)
        self._locate(now)

    def _locate(self, now: int) -> None:
        """Read the positions of tasks that are new here. Groups are asked alone; one that can't answer waits."""
        for task in [task for task in self._state.tasks.values() if not task.located and task.not_before <= now]:
            with self._troubles.kept(task.config.connector, f"offsets of task {task.config.task}"):
                positions = self._offsets.committed(task.config)
                self._state = fold.fold_positions(self._state, task.key, positions)
            if not self._state.tasks[task.key].located:
                self._state = fold.fold_unlocated(self._state, task.key, now, self._settings)
                return  # the next turn asks for the next one: time-outs must not add up

    def _assign(self, name: str, entry: ConnectorState, properties: dict[str, str]) -> None:
        facts = self._examination.facts(name, properties)
        tasks = None
        with self._troubles.kept(name, "its topics", RetriableError):
            if facts.kind is Kind.SOURCE:
                tasks = source_generation(entry, facts.task_configs)
            else:
                tasks = next_generation(entry, self._topics.partitions(properties), facts.kind)
        if tasks is not None:
            self._connectors.new_generation(name, tasks)
            self._troubles.forget(name)
            log.info("connector %s: generation %d, %d tasks", name, entry.generation + 1, len(tasks))
        self._sought[name] = properties

    def _follow_standing(self, now: int) -> None:
        """Standing leases do not report while they run; what they have committed says how they are."""
        for run in self._state.leases.values():
            for task in run.lease.tasks if run.lease.standing else ():
                current = self._state.tasks.get((task.connector, task.task))
                if current is None or current.config.generation != task.generation:
                    continue
                facts = self._view.facts_of(task.connector)
                with self._troubles.kept(task.connector, f"offsets of task {task.task}"):
                    positions, memory = self._offsets.progress(current.config, facts.stages)
                    self._state = fold.fold_progress(self._state, current.key, positions, memory, facts.tolerance, now)

    def _cancel(self, now: int) -> None:
        late = overdue(self._state, now, self._settings)
        for lease_id in late:
            log.warning("lease %s did not end in time: cancelled", lease_id)
            self._runner.cancel(lease_id)
        self._state = fold.fold_cancelled(self._state, late)

    def _grant(self, ends: Mapping[TopicPartition, int], now: int) -> None:
        leases = plan(self._state, ends, now, self._settings)
        self._state = fold.fold_granted(self._state, leases, now)
        for lease in leases:
            self._runner.submit(lease).add_done_callback(partial(self._post_end, lease))

    def _post_end(self, lease: Lease, reports: Reports) -> None:
        self._endings.post(lease, reports)
        self._mailbox.ask(lambda: None)

    def _ask(self, call: Callable[[], T]) -> Future[T]:
        return self._mailbox.ask(partial(self._answer, call))

    def _answer(self, call: Callable[[], T]) -> T:
        """Do what was asked, and let the view show it before the asker is told."""
        if not self._view.ready:
            raise Conflict("the engine is starting")
        answer = call()
        now = self._now_ms()
        self._state = fold.fold_config(self._state, self._connectors.state, now)
        self._show(self._view.ends, now)
        return answer

    def _put(self, name: str, properties: dict[str, str], create: bool) -> bool:
        exists = self._connectors.exists(name)
        if create and exists:
            raise Conflict(f"Connector {name} already exists")
        before = self._connectors.get(name).properties if exists else None
        kept = stripped(unmask(properties, before or {}, self._view.facts_of(name).secrets))
        refuse_masks(kept, self._examination.secrets(kept))
        self._examination.check(kept)
        self._connectors.put(name, kept)
        return not exists

    def _restart(self, name: str, tasks: bool, only_failed: bool) -> None:
        self._connectors.get(name)
        self._examination.forget(name)
        chosen = [task for task in self._view.tasks(name) if task.failed or not only_failed]
        if tasks and chosen:
            self._connectors.restart(name, [task.config.task for task in chosen])

    def _show(self, ends: Mapping[TopicPartition, int], now: int) -> None:
        config = self._connectors.state
        facts = {
            name: self._examination.facts(name, entry.properties)
            for name, entry in config.connectors.items()
            if entry.properties is not None
        }
        self._view = replace(
            self._view,
            ready=True,
            trouble=None,
            config=config,
            state=self._state,
            ends=dict(ends),
            facts=facts,
            troubles=self._troubles.texts(facts),
        )
        self._status.publish(self._view, now)

    def _troubled(self, error: EngineError) -> None:
        if self._view.trouble is None:
            log.warning("waiting: %s", error)
        self._view = replace(self._view, trouble=str(error))

    def _await_leases(self) -> None:
        deadline = self._now_ms() + self._settings.graceful_ms
        while self._state.leases and self._now_ms() < deadline:
            self._mailbox.serve(0.1)
            self._state = self._endings.settle(self._state, self._now_ms())

    def _wind_down(self) -> None:
        if not self._opened:
            return
        log.info("stopping, %d leases to finish", len(self._state.leases))
        try:
            self._connectors.resign(self._now_ms())
            self._await_leases()
            self._show(self._view.ends, self._now_ms())
        except EngineError as error:
            log.warning("stopped without a word to the brokers: %s", error)
        self._mailbox.close()
        self._connectors.close()
        self._status.close()

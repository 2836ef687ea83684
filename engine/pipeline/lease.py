"""A lease: polls its tasks in turn until each is caught up, out of time, stopped, parked or failed.

While no other task needs the slot, caught-up tasks stay open and wait for records.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from engine.config.topic import ConfigState
from engine.errors import Aborted, EngineError, GenerationFenced, RetriableError
from engine.pipeline.background_commits import BackgroundCommits
from engine.pipeline.claim import ConfigTail, end_of_ownership
from engine.pipeline.lease_linger import LeaseLinger
from engine.pipeline.opened_task import TROUBLE_PAUSE_MS, OpenTask, close, lease_end_of, report_of, report_unopened
from engine.pipeline.outcome import Failed, TaskEnding
from engine.pipeline.sink_task import COMMIT_INTERVAL_MS
from engine.ports import Clock
from engine.reporting.log_lines import in_task
from engine.worker_messages import Lease, LeaseEnd, TaskConfig, TaskReport

POLL_TIMEOUT_S = 0.1
LOOK_MS = 1  # time per task between two sweeps of a waiting pool; a poll costs a twentieth of it
MANY_RECORDS = 50  # a task that polls this many records at once has more to come
OPENING_THREADS = 8  # opening a sink is mostly waiting for brokers, so this many tasks open in parallel
COLLECT_INTERVAL_MS = 500
COLLECT_PAUSES = 20  # pause after a collection, as a multiple of its time, which grows with a stream's memory
Finish = Callable[[], OpenTask]  # runs on the lease's own thread, because a connector's resources may be bound to it
Open = Callable[[TaskConfig, bool], Finish]  # runs on any thread; True asks for small steps after an abort
ReportProgress = Callable[[Sequence[TaskReport]], None]  # reports what a lease has done so far; it never raises
NoteEnd = Callable[[TaskReport], None]  # called for the last report of each task; it never raises


class Deadline:
    """The end of a lease's time budget.

    It starts again once the tasks are open, so that opening them can't use it up.
    """

    def __init__(self, clock: Clock, budget_ms: int) -> None:
        self._clock = clock
        self._budget_ms = budget_ms
        self.start()

    def start(self) -> None:
        self.at_ms = self._clock.now_ms() + self._budget_ms


def run_tasks(
    lease: Lease,
    tail: ConfigTail,
    clock: Clock,
    open_task: Open,
    deadline: Deadline,
    report_progress: ReportProgress = lambda _: None,
    commit_interval_ms: int = COMMIT_INTERVAL_MS,
    note_end: NoteEnd = lambda _: None,
) -> tuple[TaskReport, ...]:
    """Claim and run each task of the lease; return one report each, in the order they ended.

    `report_progress` is called while the lease stays open beyond its budget, and when the idle tasks have committed.
    """
    running = _RunningLease(lease, tail, clock, open_task, deadline, report_progress, commit_interval_ms, note_end)
    return running.run()


class _RunningLease:
    """A lease in progress: its open tasks, and the reports of the ended ones."""

    def __init__(
        self,
        lease: Lease,
        tail: ConfigTail,
        clock: Clock,
        open_task: Open,
        deadline: Deadline,
        report_progress: ReportProgress,
        commit_interval_ms: int,
        note_end: NoteEnd,
    ) -> None:
        self._lease = lease
        self._tail = tail
        self._clock = clock
        self._open_task = open_task
        self._deadline = deadline
        self._report_progress = report_progress
        self._commit_interval_ms = commit_interval_ms
        self._note_end = note_end
        self._active: list[OpenTask] = []
        self._reports: list[TaskReport] = []
        self._collect_ms = 0
        self._commits = BackgroundCommits[TaskEnding | None]()

    def run(self) -> tuple[TaskReport, ...]:
        with ThreadPoolExecutor(OPENING_THREADS, thread_name_prefix="opening") as threads:
            begun = list(threads.map(self._claim, self._lease.tasks))
        for config, claimed in zip(self._lease.tasks, begun, strict=True):
            opened = self._finish(config, claimed)
            if isinstance(opened, OpenTask):
                self._active.append(opened)
            else:
                self._end(opened)
        try:
            self._run()
        finally:
            self._commits.close()
        return tuple(self._reports)

    def _run(self) -> None:
        self._deadline.start()
        now = self._clock.now_ms()
        self._linger = LeaseLinger(self._lease, now, self._commit_interval_ms)
        self._collect_ms = now + COLLECT_INTERVAL_MS
        while self._active:
            try:
                # Once per round, for all tasks: a task of a replaced generation must stop before it takes the next
                # chunk.
                state = self._tail.poll()
            except EngineError as error:
                if self._can_survive(error):
                    continue  # no task runs meanwhile, but a standing lease keeps its tasks' memory
                # A commit under way uses the clients that closing a task closes.
                self._await_commits()
                for opened in self._active:
                    self._end(self._close_after(opened, error))
                break
            if self._run_turns(state) or self._lease.standing:
                self._collect()

    def _run_turns(self, state: ConfigState) -> bool:
        """Give each task one turn; return whether any of them got records, as far as they report it."""
        now = self._clock.now_ms()
        stays = self._can_stay(state)
        waits = stays and self._linger.can_linger(now)
        is_over = not self._lease.standing and now >= self._deadline.at_ms
        # In a pool that waits, a poll that blocks for one task would delay the records of all others.
        # Otherwise a round of empty polls takes POLL_TIMEOUT_S in all, however many tasks there are.
        timeout_s = 0 if waits and len(self._active) > 1 else POLL_TIMEOUT_S / len(self._active)
        goes_on = waits and is_over and self._linger.can_renew(len(self._active), now)
        # Without a report the herder would take the lease for one that hangs, and cancel it.
        if goes_on or (waits and not is_over and self._linger.is_report_due(now)):
            self._report_all()
            is_over = False
        most = 0
        # A copy, because a turn removes a task that has ended, and replaces a task that was opened again.
        for opened in tuple(self._active):
            if not self._take_turn(opened, state, timeout_s, waits=waits and not is_over, is_over=is_over):
                continue
            count = opened.task.last_count
            if count is not None:
                self._linger.note_records(opened.config.task_id, count, now)
            most = max(most, 1 if count is None else count)
        if timeout_s == 0 and most < MANY_RECORDS:
            self._clock.wait(max(0, now + LOOK_MS * len(self._active) - self._clock.now_ms()))
        return most > 0

    def _can_stay(self, state: ConfigState) -> bool:
        """Return whether tasks may wait for more records.

        They may not if the slot is wanted, or if the leader waits for the reports of ended tasks.
        """
        return (
            self._lease.stay_ms > 0
            and not state.leader.crowded
            and not self._reports
            # Sources, mirrors and streams decide themselves when to run again; their count is None.
            and all(opened.task.last_count is not None for opened in self._active)
        )

    def _report_all(self) -> None:
        """Report progress of all tasks.

        If a task has ended, this is skipped: the lease ends soon and reports it.
        """
        # A commit on another thread changes the positions and figures that a report reads.
        self._await_commits()
        if self._reports:
            return
        self._deadline.start()
        self._linger.note_report()
        self._report_progress([report_of(opened, None, None, None, self._clock) for opened in self._active])

    def _await_commits(self) -> None:
        """Wait for the commits in progress and handle their results."""
        for opened in tuple(self._active):
            self._finish_commit(opened)

    def _can_survive(self, error: EngineError) -> bool:
        return self._lease.standing and isinstance(error, RetriableError) and not self._clock.wait(TROUBLE_PAUSE_MS)

    def _collect(self) -> None:
        """Collect garbage: exceptions and tracebacks form cycles, and automatic collection is off in a lease."""
        began_ms = self._clock.now_ms()
        if began_ms < self._collect_ms:
            return
        gc.collect()
        ended_ms = self._clock.now_ms()
        self._collect_ms = ended_ms + max(COLLECT_INTERVAL_MS, COLLECT_PAUSES * (ended_ms - began_ms))

    def _take_turn(self, opened: OpenTask, state: ConfigState, timeout_s: float, *, waits: bool, is_over: bool) -> bool:
        """Give a task its turn; return whether it had one.

        In a pool that waits for records, no task waits for another task's commit.
        """
        out_of_time = LeaseEnd.BUDGET if is_over else None
        stop = LeaseEnd.STOPPED if end_of_ownership(state, opened.config, self._lease.leader_epoch) else out_of_time
        is_patient = stop is not None or not waits or timeout_s > 0
        if not is_patient and self._commits.is_under_way(opened.config.task_id):
            return False
        if not self._finish_commit(opened):
            return False
        if not is_patient and opened.task.can_commit_in_background:
            self._commits.begin(opened.config.task_id, partial(_save, opened))
            return False
        self._run_turn(opened, lambda: _step_or_save(opened, stop, timeout_s, self._clock, waits=waits))
        return True

    def _finish_commit(self, opened: OpenTask) -> bool:
        """Wait for the task's commit, if there is one; return whether the task goes on after it."""
        return self._run_turn(
            opened, lambda: _report_if_ended(opened, self._commits.take(opened.config.task_id), self._clock)
        )

    def _run_turn(self, opened: OpenTask, turn: Callable[[], TaskReport | None]) -> bool:
        """Run one turn; return whether the task goes on unchanged. Otherwise it was reopened, or has its report."""
        made: OpenTask | TaskReport | None
        with in_task(opened.config.connector, opened.config.task):
            made = self._turn_result(opened, turn)
        if isinstance(made, OpenTask):
            self._active[self._active.index(opened)] = made
        elif made is not None:
            self._active.remove(opened)
            self._end(made)
        return made is None

    def _turn_result(self, opened: OpenTask, turn: Callable[[], TaskReport | None]) -> OpenTask | TaskReport | None:
        try:
            return turn()
        except Aborted as aborted:
            # A transaction does not tell which record the brokers reject. Small steps find it.
            return self._claim_again(opened, aborted)
        except Exception as error:  # noqa: BLE001, a sink flushes outside the guard
            return self._close_after(opened, error)

    def _end(self, report: TaskReport) -> None:
        self._reports.append(report)
        self._note_end(report)

    def _claim(self, config: TaskConfig, *, careful: bool = False) -> Finish | TaskReport:
        end = end_of_ownership(self._tail.state, config, self._lease.leader_epoch)
        if end is not None:
            return report_unopened(config, end)
        try:
            with in_task(config.connector, config.task):
                return self._open_task(config, careful)
        except Exception as error:  # noqa: BLE001, opening runs code of other packages: it must not end other tasks
            return report_unopened(config, *lease_end_of(config, error, self._clock))

    def _finish(self, config: TaskConfig, claimed: Finish | TaskReport) -> OpenTask | TaskReport:
        if isinstance(claimed, TaskReport):
            return claimed
        try:
            with in_task(config.connector, config.task):
                opened = claimed()
        except Exception as error:  # noqa: BLE001, as above
            return report_unopened(config, *lease_end_of(config, error, self._clock))
        parked = opened.task.state.parked
        # The task waits for its retry without a slot. The herder grants a lease when the time has come.
        if parked is not None and parked.until_ms > self._clock.now_ms():
            return close(opened, LeaseEnd.PARKED, parked.until_ms, opened.task.state.describe_parked(), self._clock)
        return opened

    def _claim_again(self, opened: OpenTask, aborted: Aborted) -> OpenTask | TaskReport:
        """Reopen the task at its last commit, in small steps. Park it if it already took small steps."""
        if opened.careful:
            return self._close_after(opened, aborted)
        with suppress(Exception):  # everything that must survive is committed
            opened.close()
        again = self._finish(opened.config, self._claim(opened.config, careful=True))
        self._deadline.start()  # else a chunk that takes as long as the budget would be aborted in every lease
        return again

    def _close_after(self, opened: OpenTask, error: Exception) -> TaskReport:
        return close(opened, *lease_end_of(opened.config, error, self._clock), self._clock)


def must_stop(lease: Lease, tail: ConfigTail, task: TaskConfig) -> bool:
    """Return whether a wait of the task must end.

    A standing lease keeps waiting while the config topic can't be read, and asks again soon.
    """
    try:
        state = tail.poll()
    except RetriableError:
        if not lease.standing:
            raise
        return False
    return end_of_ownership(state, task, lease.leader_epoch) is not None


def check_owned(lease: Lease, tail: ConfigTail, task: TaskConfig) -> None:
    """Read the config topic to its end. Raises GenerationFenced if the lease no longer owns the task (KIP-618)."""
    if end_of_ownership(tail.read_to_end(), task, lease.leader_epoch) is not None:
        raise GenerationFenced(f"{task.task_id} has a newer generation or leader, or must stop")


def _save(opened: OpenTask) -> TaskEnding | None:
    """Save on a thread of its own, whose log lines belong to the task too."""
    with in_task(opened.config.connector, opened.config.task):
        return opened.task.save()


def _step_or_save(
    opened: OpenTask, stop: LeaseEnd | None, timeout_s: float, clock: Clock, *, waits: bool
) -> TaskReport | None:
    task = opened.task
    ended = task.save() if stop is not None else task.step(timeout_s)
    # A task that catches up just as its budget ends must not be reported as behind: the next lease would be its own.
    may_catch_up = stop is None or (stop is LeaseEnd.BUDGET and task.last_count is not None)
    if ended is None and may_catch_up and not waits and task.is_idle():
        stop = LeaseEnd.CAUGHT_UP
        ended = task.save()
    if ended is not None:
        return _report_if_ended(opened, ended, clock)
    if stop is None:
        return None
    return close(opened, stop, task.wake_at() if stop is LeaseEnd.CAUGHT_UP else None, None, clock)


def _report_if_ended(opened: OpenTask, end: TaskEnding | None, clock: Clock) -> TaskReport | None:
    """Return the report of a task that ends by itself, or None if it goes on."""
    if end is None:
        return None
    if isinstance(end, Failed):
        return close(opened, LeaseEnd.FAILED, None, f"{end.message}\n{end.context.exception}", clock)
    if end.wake_at is None:
        return close(opened, LeaseEnd.STOPPED, None, None, clock)
    return close(opened, LeaseEnd.PARKED, end.wake_at, opened.task.state.describe_parked(), clock)

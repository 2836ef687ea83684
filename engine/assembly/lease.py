"""A lease in this process, as a Spark worker runs it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from engine.assembly.validation import plan_of_task
from engine.config.client_names import config_group
from engine.config.providers import ResolvedProperties
from engine.config.worker import WorkerConfig, parse_worker
from engine.connectors.kafka.task import open_topic_sink
from engine.connectors.mirror.task import open_mirror
from engine.errors import EngineError
from engine.kafka.client_options import consumer_settings
from engine.kafka.clock import WorkerClock
from engine.kafka.consumer import TopicReader
from engine.pipeline.claim import ConfigTail
from engine.pipeline.lease import Deadline, Finish, check_owned, must_stop, run_tasks
from engine.pipeline.opened_task import OpenTask, report_all_unopened, trouble_report
from engine.ports import Consumer
from engine.reporting.log_lines import log_task_failure
from engine.standalone.directory import CONFIG
from engine.standalone.file_topic import FileTopicReader
from engine.tasks.clients import COMMITTED_ONLY, TaskOpening, base
from engine.tasks.lease_progress import write_progress
from engine.tasks.memory import keep_freed
from engine.tasks.sink import claim_sink
from engine.tasks.source import open_source
from engine.tasks.stream import open_stream
from engine.tasks.target_offsets import open_sink_with_offsets
from engine.worker_messages import ConnectorKind, Lease, LeaseEnd, LeaseProgress, TaskConfig, TaskReport

POOLED_PATIENCE_MS = 50  # a longer wait would delay the other tasks of the lease
ALONE_PATIENCE_MS = 1000  # a longer wait parks the task and commits its count of failures, in case the worker is killed
FOR_EVER_MS = 2**62  # a stream waits in place, because its memory ends with its lease
Made = TypeVar("Made")


def open_sql_sink(opening: TaskOpening) -> OpenTask:
    """Open the task of a SqlSink.

    SQLAlchemy is imported only here, because it takes as long to load as all the rest.
    """
    from engine.connectors.sql import sink_task

    return sink_task.open_sql_sink(opening)


def _open_at_once(open_task: Callable[[TaskOpening], OpenTask]) -> Callable[[TaskOpening], Finish]:
    """Open the whole task on the lease's own thread."""
    return lambda opening: partial(open_task, opening)


OPENERS: dict[str, Callable[[TaskOpening], Finish]] = {
    ConnectorKind.SINK: claim_sink,
    ConnectorKind.SOURCE: _open_at_once(open_source),
    ConnectorKind.STREAM: _open_at_once(open_stream),
    "mirror": _open_at_once(open_mirror),
    "target offsets": _open_at_once(open_sink_with_offsets),
    "sql": _open_at_once(open_sql_sink),
    "topics": _open_at_once(open_topic_sink),
}


def run_lease(lease: Lease) -> tuple[TaskReport, ...]:
    """Run the lease in this process; return one report per task. Raises only bugs and what kills the worker."""
    keep_freed()
    gc.collect()
    gc.freeze()
    gc.disable()  # each commit collects; a collection in the middle of a chunk makes it four times slower
    try:
        worker = parse_worker(lease.worker)
        # Report the start: Spark may have kept the lease waiting for a core.
        write_progress(worker, LeaseProgress(lease.lease_id, ()))
        try:
            # One reader for all tasks of the lease.
            tail = _config_tail(worker)
        except EngineError as error:
            return report_all_unopened(lease.tasks, error, WorkerClock())
        deadline = Deadline(tail.clock, lease.budget_ms)

        patience_ms = longest_wait(lease, deadline)
        away: set[str] = set()
        hidden: dict[str, ResolvedProperties] = {}  # values from config providers, which must not appear in reports

        def open_task(task: TaskConfig, careful: bool) -> Finish:
            clock = WorkerClock(lambda: must_stop(lease, tail, task))
            admit = partial(check_owned, lease, tail, task)
            plan, resolved = plan_of_task(task.config, worker)
            hidden[task.task_id] = resolved
            pooled = len(lease.tasks) > 1
            return _open(
                TaskOpening(
                    task,
                    plan,
                    worker,
                    clock,
                    patience_ms,
                    admit,
                    careful=careful,
                    pooled=pooled,
                    away=away,
                    found=resolved,
                    tell_trouble=lambda reason: tell((trouble_report(task, reason),)),
                )
            )

        def tell(reports: Sequence[TaskReport]) -> None:
            write_progress(worker, LeaseProgress(lease.lease_id, hide_values(reports, hidden)))

        def note_end(report: TaskReport) -> None:
            # The lines of a local master's workers come out beside those of the driver, which logs the failure too.
            if report.end is LeaseEnd.FAILED and not worker.spark_master.startswith("local"):
                log_failure(report, hidden)

        interval_ms = worker.flush_interval_ms
        reports = run_tasks(lease, tail, tail.clock, open_task, deadline, tell, interval_ms, note_end)
        return hide_values(reports, hidden)
    finally:
        gc.enable()


def hide_values(reports: Sequence[TaskReport], found: Mapping[str, ResolvedProperties]) -> tuple[TaskReport, ...]:
    """Return the reports without values that a config provider gave to their tasks."""

    def safe(report: TaskReport) -> TaskReport:
        own = found.get(f"{report.connector}-{report.task}")
        if own is None or report.trace is None or not own.values:
            return report
        return replace(report, trace=own.hide(report.trace))

    return tuple(map(safe, reports))


def log_failure(report: TaskReport, found: Mapping[str, ResolvedProperties]) -> None:
    """Log why a task has failed, without values of config providers."""
    [safe] = hide_values((report,), found)
    log_task_failure(safe.connector, safe.task, safe.trace or "")


def longest_wait(lease: Lease, deadline: Deadline) -> Callable[[int], int]:
    """Return a function of the longest wait (ms) allowed within the lease at a given time."""
    most_ms = ALONE_PATIENCE_MS if len(lease.tasks) == 1 else POOLED_PATIENCE_MS
    return lambda now: FOR_EVER_MS if lease.standing else min(deadline.at_ms - now, most_ms)


_tails: dict[tuple[str, str], ConfigTail] = {}


def _config_tail(worker: WorkerConfig) -> ConfigTail:
    """Return this process's reader of the config topic, at its end.

    It is kept between leases, because it only moves forward.
    """
    key = (worker.run_directory or worker.bootstrap_servers, worker.config_topic)
    # Removed while it is in use, so that a reader that fails is not used again.
    tail = _tails.pop(key, None)
    if tail is None:
        tail = ConfigTail(_config_reader(worker), worker.config_topic, WorkerClock())
    tail.read_to_end()
    _tails[key] = tail
    return tail


def _config_reader(worker: WorkerConfig) -> Consumer:
    if worker.run_directory is not None:
        return FileTopicReader(Path(worker.run_directory, CONFIG))
    # An aborted record may be of a leader that was fenced while it wrote.
    layers = (base(worker), worker.consumer, {"fetch.min.bytes": "1"}, COMMITTED_ONLY)
    return TopicReader(consumer_settings(config_group(worker.group_id), *layers))


def _open(opening: TaskOpening) -> Finish:
    known = opening.plan.known
    finish = _close_on_error(opening, partial(OPENERS[known.opener or known.kind], opening))
    return partial(_close_on_error, opening, finish)


def _close_on_error(opening: TaskOpening, make: Callable[[], Made]) -> Made:
    try:
        return make()
    except BaseException:  # also when the worker is told to end: nothing may stay open
        with suppress(Exception):  # closing a half-opened task may fail; the first exception matters
            opening.closing.close()
        raise

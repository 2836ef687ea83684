"""A lease in this process: what a Spark worker runs."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from engine.assembly.clients import Opening, base
from engine.assembly.lease_telling import tell_progress
from engine.assembly.memory import keep_freed
from engine.assembly.mirror import open_mirror
from engine.assembly.plan import validate
from engine.assembly.sink import claim_sink
from engine.assembly.source import open_source
from engine.assembly.stream import open_stream
from engine.assembly.topic_sink import open_topic_sink
from engine.config.worker import WorkerConfig, parse_worker
from engine.errors import EngineError
from engine.kafka.clock import WorkerClock
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.settings import consumer_settings
from engine.leases import Kind, Lease, LeaseProgress, TaskConfig, TaskReport
from engine.pipeline.claim import ConfigTail
from engine.pipeline.lease import Deadline, Finish, check_owned, must_stop, run_tasks
from engine.pipeline.open_task import OpenTask, unopened

POOLED_PATIENCE_MS = 50  # a longer wait would hold up the other tasks of the lease
ALONE_PATIENCE_MS = 1000  # a longer one parks: how often was tried is committed, should the worker be killed
FOR_EVER_MS = 2**62  # a stream waits where it stands: its memory ends with its lease
Made = TypeVar("Made")


def open_sql_sink(opening: Opening) -> OpenTask:
    """Loads SQLAlchemy, which takes as long as all the rest."""
    from engine.assembly import sql_sink

    return sql_sink.open_sql_sink(opening)


def _whole(open_task: Callable[[Opening], OpenTask]) -> Callable[[Opening], Finish]:
    """All of it on the lease's own thread."""
    return lambda opening: partial(open_task, opening)


OPENERS: dict[str, Callable[[Opening], Finish]] = {
    Kind.SINK: claim_sink,
    Kind.SOURCE: _whole(open_source),
    Kind.STREAM: _whole(open_stream),
    "mirror": _whole(open_mirror),
    "sql": _whole(open_sql_sink),
    "topics": _whole(open_topic_sink),
}


def run_lease(lease: Lease) -> tuple[TaskReport, ...]:
    """Run the lease here and now; one report a task. Raises only what is a bug or kills the worker."""
    keep_freed()
    gc.collect()
    gc.freeze()
    gc.disable()  # each commit collects: a collection in the middle of a chunk costs a factor of four
    try:
        worker = parse_worker(lease.worker)
        tell_progress(worker, LeaseProgress(lease.lease_id, ()))  # it has begun: Spark may have let it wait for a core
        try:
            tail = _config_tail(worker)
        except EngineError as error:
            return unopened(lease.tasks, error, WorkerClock())
        deadline = Deadline(tail.clock, lease.budget_ms)

        patience_ms = patience(lease, deadline)
        away: set[str] = set()

        def open_task(task: TaskConfig, careful: bool) -> Finish:
            clock = WorkerClock(lambda: must_stop(lease, tail, task))
            admit = partial(check_owned, lease, tail, task)
            plan = validate(task.config, worker)
            pooled = len(lease.tasks) > 1
            return _open(
                Opening(task, plan, worker, clock, patience_ms, admit, careful=careful, pooled=pooled, away=away)
            )

        def tell(reports: Sequence[TaskReport]) -> None:
            tell_progress(worker, LeaseProgress(lease.lease_id, tuple(reports)))

        return run_tasks(lease, tail, tail.clock, open_task, deadline, tell, worker.flush_interval_ms)
    finally:
        gc.enable()


def patience(lease: Lease, deadline: Deadline) -> Callable[[int], int]:
    """How long a wait within the lease may last (ms), at any moment."""
    most_ms = ALONE_PATIENCE_MS if len(lease.tasks) == 1 else POOLED_PATIENCE_MS
    return lambda now: FOR_EVER_MS if lease.standing else min(deadline.at_ms - now, most_ms)


_tails: dict[tuple[str, str], ConfigTail] = {}


def _config_tail(worker: WorkerConfig) -> ConfigTail:
    """This process's reader of the config topic, at its end; it is kept, because it only ever goes forward."""
    key = (worker.bootstrap_servers, worker.config_topic)
    tail = _tails.pop(key, None)
    if tail is None:
        group = f"connect-{worker.group_id}-config"
        consumer = KafkaConsumer(consumer_settings(group, base(worker), worker.consumer, {"fetch.min.bytes": "1"}))
        tail = ConfigTail(consumer, worker.config_topic, WorkerClock())
    tail.read_to_end()
    _tails[key] = tail
    return tail


def _open(opening: Opening) -> Finish:
    known = opening.plan.known
    finish = _or_closed(opening, partial(OPENERS[known.opener or known.kind], opening))
    return partial(_or_closed, opening, finish)


def _or_closed(opening: Opening, make: Callable[[], Made]) -> Made:
    try:
        return make()
    except BaseException:
        with suppress(Exception):  # what could not be opened may not close either: the first trouble tells
            opening.closing.close()
        raise

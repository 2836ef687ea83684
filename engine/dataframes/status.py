"""Reports of a guarded query to the status topic, so that the dashboard shows it like a connector.

Reports are written only if the option `status.storage.topic` names the topic. A report that can't be written is
missing, and nothing else: the query goes on.
"""

from __future__ import annotations

import logging
import platform
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, PythonException
from pyspark.sql.streaming.query import StreamingQuery

from engine.config.masking import mask
from engine.dataframes.micro_batch import MicroBatches
from engine.dataframes.options import QueueOptions
from engine.errors import EngineError
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import QUICK, admin_settings, producer_settings
from engine.kafka.clock import WorkerClock
from engine.kafka.producer import KafkaProducer
from engine.record.query_status import QueryStage, QueryState, QueryStatus, encode
from engine.record.trace import describe
from engine.reporting.metrics import Metric
from engine.tasks.clients import base

EVERY_MS = 10_000
CLOSE_S = 15.0
COMPACTED = {"cleanup.policy": "compact"}
log = logging.getLogger(__name__)


class QueryReporter:
    """A thread that reports a query's state while it runs, and its end.

    `state` returns the present state, `lag` the records that are not read yet, and `failure` the error that has ended
    the query.
    """

    def __init__(
        self,
        options: QueueOptions,
        batches: MicroBatches,
        run: str,
        state: Callable[[], QueryState],
        lag: Callable[[], int | None],
        failure: Callable[[], BaseException | None],
        *,
        is_stream: bool,
    ) -> None:
        self._options = options
        self._batches = batches
        self._run = run
        self._state = state
        self._lag = lag
        self._failure = failure
        self._is_stream = is_stream
        self._clock = WorkerClock()
        self._started = self._clock.now_ms()
        self._ended = threading.Event()
        self._producer: KafkaProducer | None = None
        self._thread = threading.Thread(target=self._report_all, name=f"status-{options.name}", daemon=True)

    def start(self) -> None:
        """Begin to report."""
        self._thread.start()

    def close(self) -> None:
        """Report the end, unless the thread has done so."""
        self._ended.set()
        self._thread.join(CLOSE_S)

    def status(self, state: QueryState) -> QueryStatus:
        """Return the report of this moment."""
        batches, errors = self._batches, self._options.errors
        now, task = self._clock.now_ms(), batches.state.figures()
        return QueryStatus(
            name=self._options.name,
            state=state,
            time=now,
            run=self._run,
            started=self._started,
            every_ms=EVERY_MS,
            is_stream=self._is_stream,
            batch=batches.last_batch if self._is_stream else None,
            topics=tuple(sorted(batches.topics)),
            dlq_topic=errors.dlq_topic or None,
            lag=self._lag(),
            metrics=task.metrics,
            good=task.metrics[Metric.RECORDS_DELIVERED],
            filtered=task.metrics[Metric.RECORDS_FILTERED],
            stages=tuple(
                QueryStage(index, stage.type, stage.class_name, stage.name)
                for index, stage in enumerate(batches.settings.stages)
            ),
            stage_failures=task.stage_failures,
            tolerance=self._options.tolerance.used(batches.state.tolerance, now),
            last_failure=task.metrics[Metric.LAST_FAILURE_TIMESTAMP],
            options={
                name: value
                for name, value in mask(self._options.connector.properties).items()
                if name.startswith("errors.") or "exception.handler" in name
            },
            trace=_trace(self._failure()) if state is QueryState.FAILED else None,
            worker_id=platform.node(),
        )

    def _report_all(self) -> None:
        while self._report() is QueryState.RUNNING and not self._ended.wait(EVERY_MS / 1000):
            pass
        if self._ended.is_set():
            self._report()
        if self._producer is not None:
            with suppress(EngineError):
                self._producer.close()

    def _report(self) -> QueryState:
        """Write one report. Return the state in it."""
        state = QueryState.RUNNING
        try:
            state = self._state()
            status = self.status(state)
            if self._producer is None:
                self._producer = self._open()
            self._producer.produce(self._options.worker.status_topic, status.key, encode(status))
            self._producer.flush()
        except (EngineError, PySparkException, Py4JError, OSError) as error:  # Spark may have ended before its query
            log.warning("a report of the query %s was not written: %s", self._options.name, error)
        return state

    def _open(self) -> KafkaProducer:
        worker = self._options.worker
        admin = KafkaAdmin(admin_settings(base(worker), worker.admin))
        factor = worker.status_replication_factor
        admin.create_topic(worker.status_topic, worker.status_partitions, factor, COMPACTED)
        return KafkaProducer(producer_settings(base(worker), worker.producer, QUICK))


def stream_state(query: StreamingQuery, was_stopped: Callable[[], bool]) -> QueryState:
    """Return the state of a stream. `was_stopped` tells whether somebody stopped it before its end."""
    if query.isActive:
        return QueryState.RUNNING
    if query.exception() is not None:
        return QueryState.FAILED
    return QueryState.STOPPED if was_stopped() else QueryState.FINISHED


def stream_lag(query: StreamingQuery) -> int | None:
    """Return the records behind the last micro-batch, as Spark's Kafka source reports its offsets; None if unknown."""
    progress = query.lastProgress
    if progress is None:
        return None
    sources: Any = orjson.loads(progress.json if isinstance(progress.json, str) else orjson.dumps(dict(progress)))
    lags = [_lag(one.get("latestOffset"), one.get("endOffset")) for one in sources.get("sources", ())]
    known = [lag for lag in lags if lag is not None]
    return sum(known) if known else None


def _lag(latest: Any, end: Any) -> int | None:
    latest, end = _offsets(latest), _offsets(end)
    if latest is None or end is None:
        return None
    behind: int = sum(
        max(0, last - end.get(topic, {}).get(number, 0))
        for topic, partitions in latest.items()
        for number, last in partitions.items()
    )
    return behind


def _offsets(text: Any) -> Any:
    try:
        found = orjson.loads(text) if isinstance(text, str) else text
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and all(isinstance(row, dict) for row in found.values()) else None


def _trace(failure: BaseException | None) -> str | None:
    if failure is None:
        return None
    if isinstance(failure, PythonException):
        return _worker_sentence(str(failure))
    if isinstance(failure, PySparkException):  # its first line, because the rest is a stack of Java
        return str(failure).strip().splitlines()[0]
    return str(failure) if isinstance(failure, EngineError) else describe(failure, foreign=False).text


def _worker_sentence(text: str) -> str:
    """Return the class of a Python worker's exception. Only a module's name is added: a message may hold values."""
    _, _, trace = text.rpartition("Traceback (most recent call last):")
    raised = next((line for line in trace.splitlines() if line[:1].strip()), "an exception")
    class_name, _, _message = raised.partition(": ")
    shown = raised if class_name == ModuleNotFoundError.__name__ else class_name
    return f"A Python worker of Spark failed: {shown}. The driver's log has the traceback."

"""A guarded query while it runs: Spark's own streaming query, with our errors in place of its stack traces."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from engine.dataframes.letter_topic import LetterTopic
from engine.dataframes.micro_batch import REMIND_S, MicroBatches
from engine.dataframes.status import QueryReporter, stream_lag, stream_state
from engine.errors import EngineError
from engine.record.query_status import QueryState

log = logging.getLogger(__name__)


class GuardedQuery:
    """A running stream. Whatever it does not have is that of Spark's StreamingQuery."""

    def __init__(
        self, query: StreamingQuery, batches: MicroBatches, topic: LetterTopic | None, *, has_end: bool
    ) -> None:
        self.query = query
        self.batches = batches
        self._topic = topic
        self._was_stopped = not has_end  # Spark tells nobody that its own handle stopped the query
        self._reporter: QueryReporter | None = None
        if batches.options.reports_status:
            self._reporter = QueryReporter(
                batches.options,
                batches,
                str(query.runId),
                lambda: stream_state(query, lambda: self._was_stopped),
                lambda: stream_lag(query),
                lambda: batches.failure or query.exception(),
                is_stream=True,
            )
            self._reporter.start()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.query, name)

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802, Spark's name
        """Wait as Spark's query does. Raises LimitExceeded, or another error of the engine, in place of Spark's."""
        try:
            return self.query.awaitTermination() if timeout is None else self.query.awaitTermination(timeout)
        except PySparkException as error:
            self._raise(error)
        finally:
            self._close_if_ended()

    def processAllAvailable(self) -> None:  # noqa: N802, Spark's name
        """Wait until all records that are there now are processed. Raises as `awaitTermination` does."""
        try:
            self.query.processAllAvailable()
        except PySparkException as error:
            self._raise(error)
        finally:
            self._close_if_ended()

    def exception(self) -> Exception | None:
        """Return the error that ended the query, or None."""
        ended = self.query.exception()
        return None if ended is None else self._own(ended)

    def stop(self) -> None:
        """Stop the query."""
        self._was_stopped |= self.query.isActive
        try:
            self.query.stop()
        finally:
            self._close_if_ended()

    def _raise(self, error: PySparkException) -> NoReturn:
        """Raise our error alone: Spark's adds its plan and two stacks of the JVM to the same sentence."""
        own = self._own(error)
        if own is error:
            raise error
        raise own from None

    def _own(self, error: Exception) -> Exception:
        failure = self.batches.failure
        return failure if isinstance(failure, EngineError) else error

    def _close_if_ended(self) -> None:
        if self.query.isActive:
            return
        if self._topic is not None:
            try:
                self.batches.end()
            except EngineError as error:
                log.warning("the counters of %s are those of %d s before its end: %s", self.name, REMIND_S, error)
            with suppress(EngineError):
                self._topic.close()
            self._topic = None
        if self._reporter is not None:
            self._reporter.close()


def start_stream(
    rows: DataFrame, batches: MicroBatches, topic: LetterTopic | None, checkpoint: str, trigger: Mapping[str, Any]
) -> GuardedQuery:
    """Start the stream with this checkpoint."""
    context = rows.sparkSession.sparkContext

    def process(batch: DataFrame, number: int) -> None:
        batches.process(batch, number, str(context.getLocalProperty("sql.streaming.queryId")))

    query: StreamingQuery | None = None
    try:
        writer = rows.writeStream.queryName(batches.settings.name).option("checkpointLocation", checkpoint)
        if trigger:
            writer = writer.trigger(**trigger)
        query = writer.foreachBatch(process).start()
        batches.begin(str(query.id))  # before the first report
    except BaseException:
        if query is not None:
            query.stop()
        if topic is not None:
            topic.close()
        raise
    return GuardedQuery(query, batches, topic, has_end=bool(trigger.keys() & {"availableNow", "once"}))


def run_batch(rows: DataFrame, batches: MicroBatches, topic: LetterTopic | None) -> MicroBatches:
    """Run the rows as one micro-batch of a query of its own."""
    run = str(uuid.uuid4())
    state = QueryState.RUNNING
    reporter = QueryReporter(
        batches.options, batches, run, lambda: state, lambda: None, lambda: batches.failure, is_stream=False
    )
    if batches.options.reports_status:
        reporter.start()
    try:
        batches.process(rows, 0, run)
        state = QueryState.FINISHED
    except BaseException:
        state = QueryState.FAILED
        raise
    finally:
        if batches.options.reports_status:
            reporter.close()
        if topic is not None:
            topic.close()
    return batches

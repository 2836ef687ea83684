"""A dead letter queue for DataFrames: KIP-298's error policies around functions, expectations and writes.

dlq = DeadLetterQueue(spark, topic="orders.dlq", options={"bootstrap.servers": "…", "errors.tolerance.limit": 100})
query = dlq.guard(orders, parse_order, schema="id long, total decimal(10,2)").then(save).start("checkpoints/orders")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from pyspark import SparkContext, SparkFiles
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from engine.config.connector import ConnectorConfig
from engine.dataframes import envelope
from engine.dataframes.converters import stages_of
from engine.dataframes.expectations import expectation_stage
from engine.dataframes.figures import PartitionFigures
from engine.dataframes.functions import FunctionKind, ResultColumns, check_function, name_of, parse_schema
from engine.dataframes.guarded_put import GuardedPut, Put
from engine.dataframes.guarded_query import GuardedQuery, run_batch, start_stream
from engine.dataframes.letter_topic import LetterTopic
from engine.dataframes.micro_batch import MicroBatches, Write
from engine.dataframes.options import parse_options, parse_steps
from engine.dataframes.stage import GuardedStage, GuardSettings
from engine.errors import ConfigError
from engine.record.stage import Stage, StageType
from engine.spark.package import archive_name, build_archive
from engine.tasks.dead_letters import DEFAULT_MAX_MESSAGE_BYTES

ROWS_OF_A_PUT = 1_000


@dataclass(frozen=True)
class _FunctionStep:
    function: Callable[[Any], Any] | ConnectorConfig
    kind: FunctionKind
    schema: StructType
    stages: tuple[Stage, ...]


@dataclass(frozen=True)
class _ExpectStep:
    expression: str
    stages: tuple[Stage, ...]


class DeadLetterQueue:
    """Error policies for one query: what its functions may get wrong, and where the failed records go.

    `name` is the query's name in error contexts and on the dashboard; two running queries need two names. Without it,
    the topic's name counts, up to `.dlq`. `options` are the `errors.*` options of connectors, handlers (KIP-1033), and
    `bootstrap.servers` with the options of Kafka's clients. Raises ConfigError with every problem at once.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        topic: str | None = None,
        options: Mapping[str, object] | None = None,
        name: str | None = None,
    ) -> None:
        self.spark = spark
        self.name = name or (topic or "query").removesuffix(".dlq")
        self._options = parse_options(self.name, topic, options or {})
        self._running: MicroBatches | None = None

    def guard(
        self,
        frame: DataFrame | GuardedFrame,
        function: Callable[[Any], Any] | Mapping[str, object],
        schema: str | StructType,
        *,
        stage: str = "",
        kind: str = "record",
    ) -> GuardedFrame:
        """Return the DataFrame with a guarded stage.

        `function` takes a record and returns a dict, a Row or a tuple of the schema's columns, or None to filter it
        out. A record has `key`, `value`, `topic`, `partition`, `offset`, `timestamp` and `headers`; behind another
        stage, and for a DataFrame without a column `value`, it is a dict of the columns. With `kind="arrow"` or
        `"pandas"`, it takes and returns whole batches, with one row for each record. Instead of a function, `function`
        may be a connector's properties: converters and transforms. `stage` names the stage in error contexts.
        """
        guarded = self._frame(frame)
        columns = parse_schema(schema)
        if isinstance(function, Mapping):
            if guarded.steps:
                text = "converters read the bytes of Kafka's records, so they can only be the first stage"
                raise ConfigError((("function", None, text),))
            config = parse_steps(self._options, function)
            return guarded.with_step(_FunctionStep(config, FunctionKind.RECORD, columns, stages_of(config)))
        check_function(function)
        try:
            chosen = FunctionKind(kind)
        except ValueError:
            raise ConfigError((("kind", kind, f"must be one of {', '.join(FunctionKind)}"),)) from None
        own = Stage(StageType.PROCESSOR, name_of(function), {}, stage)
        return guarded.with_step(_FunctionStep(function, chosen, columns, (own,)))

    def expect(self, frame: DataFrame | GuardedFrame, expression: str, *, name: str) -> GuardedFrame:
        """Return the DataFrame without the rows of which the SQL expression is not true; they are dead-lettered."""
        guarded = self._frame(frame)
        return guarded.with_step(_ExpectStep(expression, (expectation_stage(expression, name),)))

    def write(self, batch: DataFrame, put: Put, *, rows_of_a_put: int = ROWS_OF_A_PUT) -> None:
        """Write a micro-batch with `put`, on Spark's workers; rows that it rejects are dead-lettered.

        Call it in the function given to `then`, with the batch that it got. `put` takes a list of dicts. It must be
        atomic or idempotent: a failed list is put again in parts.
        """
        running = self._running
        current = None if running is None else running.current
        if running is None or current is None or batch is not current.good:
            text = "takes the batch that the function given to then() got, inside that function"
            raise ConfigError((("write", None, text),))
        if current.puts:
            raise ConfigError((("write", None, "takes each batch once; write to both targets in one put"),))
        if rows_of_a_put < 1:
            raise ConfigError((("rows_of_a_put", str(rows_of_a_put), "must be at least 1"),))
        check_function(put, "put")
        settings = running.settings
        index = len(settings.stages) - 1
        stage = GuardedPut(settings, index, put, running.has_record, rows_of_a_put)
        rows = current.rows.where(envelope.is_live())
        for row in rows.mapInArrow(stage, current.rows.schema).collect():
            if row[envelope.FIGURES] is None:
                current.rejected.append(row)
            else:
                current.puts.append(msgspec.json.decode(row[envelope.FIGURES], type=PartitionFigures))

    def _frame(self, frame: DataFrame | GuardedFrame) -> GuardedFrame:
        if isinstance(frame, GuardedFrame):
            return frame
        return GuardedFrame(self, frame, ())

    def _compile(self, guarded: GuardedFrame, write: Write) -> tuple[DataFrame, MicroBatches, LetterTopic | None]:
        """Return the rows in envelopes, and the work on each micro-batch."""
        check_write(write)
        send_engine(self.spark.sparkContext)
        topic = LetterTopic(self._options) if self._options.errors.dlq_enable else None
        try:
            return *self._build(guarded, write, topic), topic
        except BaseException:
            if topic is not None:
                topic.close()
            raise

    def _build(self, guarded: GuardedFrame, write: Write, topic: LetterTopic | None) -> tuple[DataFrame, MicroBatches]:
        letter_bytes = DEFAULT_MAX_MESSAGE_BYTES if topic is None else topic.open()
        put = Stage(StageType.TASK_PUT, name_of(write))
        stages = (*(stage for step in guarded.steps for stage in step.stages), put)
        settings = GuardSettings(self.name, self._options.connector, stages, letter_bytes)
        has_record = envelope.has_record(guarded.frame)
        first = True
        takes_records = has_record and bool(guarded.steps) and isinstance(guarded.steps[0], _FunctionStep)
        rows, index = (envelope.records if takes_records else envelope.wrap)(guarded.frame), 0
        # Only the letters of later steps need the bytes of records that pass: expectations, and puts in workers.
        for place, step in enumerate(guarded.steps):
            if isinstance(step, _ExpectStep):
                rows = envelope.break_rows(rows, step.expression, index)
            else:
                columns = ResultColumns(step.schema)
                config, own_settings = step.function, settings
                if isinstance(config, ConnectorConfig):
                    own = settings.config
                    merged = replace(config, errors=own.errors, handlers=own.handlers)
                    own_settings = replace(settings, config=merged)
                guard = GuardedStage(
                    own_settings,
                    index,
                    step.function,
                    step.kind,
                    columns,
                    first,
                    has_record,
                    keeps=place < len(guarded.steps) - 1 or guarded.keeps_records,
                )
                rows = rows.mapInArrow(guard, envelope.schema_of(step.schema))
            first = False
            index += len(step.stages)
        batches = MicroBatches(self._options, settings, topic, write, has_record=has_record)
        self._running = batches
        return rows, batches


@dataclass(frozen=True)
class GuardedFrame:
    """A DataFrame with guarded stages. Its methods return a new one; nothing runs before `then(…).start` or `run`."""

    queue: DeadLetterQueue
    frame: DataFrame
    steps: tuple[_FunctionStep | _ExpectStep, ...]
    keeps_records: bool = False

    def guard(
        self,
        function: Callable[[Any], Any],
        schema: str | StructType,
        *,
        stage: str = "",
        kind: str = "record",
    ) -> GuardedFrame:
        """Add a guarded stage; see `DeadLetterQueue.guard`."""
        return self.queue.guard(self, function, schema, stage=stage, kind=kind)

    def expect(self, expression: str, *, name: str) -> GuardedFrame:
        """Add an expectation; see `DeadLetterQueue.expect`."""
        return self.queue.expect(self, expression, name=name)

    def then(self, write: Write, *, keeps_records: bool = False) -> GuardedJob:
        """Return the job that gives good rows to `write(batch, batch_id)`.

        `keeps_records` keeps keys and values of the records until then, so that the dead letters of rows that
        `DeadLetterQueue.write` rejects contain them.
        """
        return GuardedJob(replace(self, keeps_records=keeps_records), write)

    def with_step(self, step: _FunctionStep | _ExpectStep) -> GuardedFrame:
        """Return the frame with one more step."""
        return replace(self, steps=(*self.steps, step))


@dataclass(frozen=True)
class GuardedJob:
    """A guarded query that is ready to run."""

    guarded: GuardedFrame
    write: Write

    def start(self, checkpoint: str, **trigger: Any) -> GuardedQuery:
        """Start the stream. `trigger` is that of PySpark's writer, such as `processingTime="10 seconds"`."""
        if not self.guarded.frame.isStreaming:
            raise ConfigError((("start", None, "needs a stream; call run() for a DataFrame that is not one"),))
        queue = self.guarded.queue
        if any(query.name == queue.name for query in queue.spark.streams.active):
            text = "is the name of a running query of this session; stop it, or give the DeadLetterQueue another name"
            raise ConfigError((("name", queue.name, text),))
        rows, batches, topic = queue._compile(self.guarded, self.write)  # noqa: SLF001, one module
        return start_stream(rows, batches, topic, checkpoint, trigger)

    def run(self) -> MicroBatches:
        """Run the batch job to its end, and return its figures. Raises LimitExceeded."""
        if self.guarded.frame.isStreaming:
            raise ConfigError((("run", None, "needs a DataFrame that is no stream; call start(checkpoint)"),))
        rows, batches, topic = self.guarded.queue._compile(self.guarded, self.write)  # noqa: SLF001, one module
        return run_batch(rows, batches, topic)


def send_engine(context: SparkContext) -> None:
    """Send the package `engine` to the workers of a cluster. Those of a local master import it from here."""
    master = context.master or ""
    if master == "local" or master.startswith("local["):
        return
    if any(path.endswith(archive_name()) for path in context.listFiles):
        return
    folder = Path(SparkFiles.getRootDirectory(), "sent")  # Spark deletes it with the session
    context.addPyFile(str(build_archive(folder)))


def check_write(write: Callable[..., object]) -> None:
    """Raise ConfigError if the write is no function."""
    if not callable(write):
        raise ConfigError((("then", None, f"takes a function of the batch and its id, not a {type(write).__name__}"),))

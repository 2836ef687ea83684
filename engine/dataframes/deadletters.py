"""Dead letters as a data source of Spark: `format("deadletters")`, for batches and streams."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from engine.dataframes.deadletters_columns import BatchBuilder, check_schema, in_batches, whole_schema
from engine.dataframes.deadletters_filters import PushedFilters
from engine.dataframes.deadletters_offsets import (
    LetterTopics,
    Positions,
    TopicOffsets,
    from_json,
    limited,
    to_json,
)
from engine.dataframes.deadletters_options import Offsets, SourceSettings, read_options
from engine.dataframes.deadletters_records import PAUSE_S, LetterRange, read_range
from engine.errors import FatalError, RetriableError
from engine.kafka.admin import CALL_TIMEOUT_S, KafkaAdmin
from engine.kafka.client_options import admin_settings, consumer_settings
from engine.kafka.consumer import TopicReader
from engine.ports import Consumer

if TYPE_CHECKING:
    import pyarrow as pa

Answer = TypeVar("Answer")
GROUP = "deadletters"  # the clients store no offsets in it, and need no right to it


class SourceClients(Protocol):
    """The clients of the data source. It travels to Spark's tasks, so it must pickle."""

    def topics(self) -> TopicOffsets:
        """Open a client that finds topics and offsets."""
        ...

    def consumer(self) -> Consumer:
        """Open a consumer of committed records."""
        ...


class KafkaClients:
    """Clients of Kafka with these options."""

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings

    def topics(self) -> KafkaAdmin:
        return KafkaAdmin(admin_settings(self._settings.client), min(CALL_TIMEOUT_S, self._settings.timeout_s))

    def consumer(self) -> TopicReader:
        group = self._settings.client.get("group.id", GROUP)
        return TopicReader(consumer_settings(group, self._settings.client))


class DeadLetters(DataSource):
    """The data source. Register it with `spark.dataSource.register(DeadLetters)`."""

    @classmethod
    def name(cls) -> str:
        return "deadletters"

    def schema(self) -> StructType:
        read_options(self.options)  # so that `load` refuses what can't be read
        return whole_schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        settings = read_options(self.options, "batch")
        kind = FilteringReader if settings.pushes_filters else LetterReader
        return kind(settings, schema, KafkaClients(settings))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802, Spark's name
        settings = read_options(self.options, "stream")
        return LetterStreamReader(settings, schema, KafkaClients(settings))


class LetterReader(DataSourceReader):
    """A reader of the dead letters between two bounds. They are fixed when Spark plans the query."""

    def __init__(self, settings: SourceSettings, schema: StructType, clients: SourceClients) -> None:
        check_schema(schema)
        self._settings = settings
        self._schema = schema
        self._clients = clients
        self._filters = PushedFilters()

    def partitions(self) -> Sequence[InputPartition]:
        return patiently(self._settings, self._ranges)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_batches(partition, self._settings, self._schema, self._clients, self._filters)

    def _ranges(self) -> list[LetterRange]:
        topics = LetterTopics(self._clients.topics(), self._settings)
        subscribed = topics.partitions()
        starts = topics.bounds(subscribed, self._settings.start or "earliest", "startingOffsets")
        ends = topics.bounds(subscribed, self._settings.end or "latest", "endingOffsets")
        wanted = [one for one in subscribed if self._filters.has_partition(one)]
        if (earliest := self._filters.earliest) is not None:
            later = topics.bounds(wanted, earliest, "timestamp")
            starts = {one: max(starts[one], later[one]) for one in wanted}
        allowed = {one: self._filters.narrowed(LetterRange(*one, starts[one], ends[one])) for one in wanted}
        starts = {one: part.start for one, part in allowed.items()}
        ends = {one: part.end for one, part in allowed.items()}
        return topics.ranges(starts, ends, is_restart=False)


class FilteringReader(LetterReader):
    """A reader that applies filters of the query itself.

    It needs an option, because Spark 4.3 keeps the filters of one query for the next one of the same DataFrame.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802, Spark's name
        return [one for one in filters if not self._filters.take(one)]


class LetterStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A reader of the dead letters that arrive. Its offsets are the ends of the partitions."""

    def __init__(self, settings: SourceSettings, schema: StructType, clients: SourceClients) -> None:
        check_schema(schema)
        self._settings = settings
        self._schema = schema
        self._clients = clients
        self._topics: LetterTopics | None = None
        self._newest: Positions | None = None
        self._target: Positions | None = None

    def initialOffset(self) -> Offsets:  # noqa: N802, Spark's name
        def begin() -> Positions:
            topics = self._open()
            return topics.bounds(topics.partitions(), self._settings.start or "latest", "startingOffsets")

        return to_json(patiently(self._settings, begin))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802, Spark's name
        most = self._settings.max_offsets_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802, Spark's name
        starts = from_json(start)

        def end() -> Positions:
            ends = self._ends(starts)
            if (target := self._target) is not None:
                known = {one: at for one, at in ends.items() if one in starts or one in target}
                ends = {one: min(at, max(target.get(one, 0), starts.get(one, 0))) for one, at in known.items()}
            if isinstance(limit, ReadMaxRows):
                new = self._open().begins([one for one in ends if one not in starts])
                ends = limited({**starts, **new}, ends, limit.max_rows)
            return ends

        return to_json(patiently(self._settings, end))

    def reportLatestOffset(self) -> Offsets | None:  # noqa: N802, Spark's name
        return None if self._newest is None else to_json(self._newest)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802, Spark's name
        self._target = patiently(self._settings, lambda: self._ends({}))

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        return patiently(self._settings, lambda: self._open().ranges(from_json(start), from_json(end), is_restart=True))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_batches(partition, self._settings, self._schema, self._clients, PushedFilters())

    def stop(self) -> None:
        self._topics = None

    def _ends(self, starts: Positions) -> Positions:
        """Return the present ends. Topics that are gone are left out, and the next batch tells the loss.

        A broker that has just started may not know all topics yet. So one that is missing is looked for again.
        """
        topics, late_s = self._open(), time.monotonic() + self._settings.timeout_s
        partitions = topics.partitions(allow_missing=True)
        while starts.keys() - set(partitions) and time.monotonic() < late_s:
            time.sleep(PAUSE_S)
            partitions = topics.partitions(allow_missing=True)
        self._newest = topics.ends(partitions)
        return self._newest

    def _open(self) -> LetterTopics:
        """Return the topics. The reader travels to tasks before the first call, so it can't open a client earlier."""
        if self._topics is None:
            self._topics = LetterTopics(self._clients.topics(), self._settings)
        return self._topics


def read_batches(
    partition: InputPartition,
    settings: SourceSettings,
    schema: StructType,
    clients: SourceClients,
    filters: PushedFilters,
) -> Iterator[pa.RecordBatch]:
    """Yield the dead letters of a range of offsets as record batches."""
    if not isinstance(partition, LetterRange):
        return  # Spark makes up a partition for a reader that has none
    builder = BatchBuilder(schema)
    consumer = clients.consumer()
    try:
        polled = read_range(consumer, partition, settings.timeout_s, fails_on_data_loss=settings.fails_on_data_loss)
        passed = ([one for one in messages if filters.has_message(one)] for messages in polled)
        for messages in in_batches(passed):
            yield builder.batch(messages)
    except (RetriableError, FatalError) as error:
        raise _of_brokers(settings, error) from None
    finally:
        consumer.close()


def patiently(settings: SourceSettings, call: Callable[[], Answer]) -> Answer:
    """Return the result of a call to Kafka. It is repeated while brokers are away, until the time-out of the options.

    Errors name the brokers.
    """
    late_s = time.monotonic() + settings.timeout_s
    while True:
        try:
            return call()
        except RetriableError as error:
            if time.monotonic() > late_s:
                raise _of_brokers(settings, error) from None
        except FatalError as error:
            raise _of_brokers(settings, error) from None
        time.sleep(PAUSE_S)


def _of_brokers(settings: SourceSettings, error: RetriableError | FatalError) -> RetriableError | FatalError:
    """Return the error with the brokers that it comes from."""
    what = "did not answer as expected" if isinstance(error, RetriableError) else "refused"
    return type(error)(f"Kafka at {settings.servers} {what}: {error}")

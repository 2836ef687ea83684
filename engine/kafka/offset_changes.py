"""Write offsets that an operator sets for a source connector to its offsets topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from engine.errors import AbortableError, EngineError, GenerationFenced, ProduceFailed, RequestConflict, RetriableError
from engine.kafka.consumer import retry_while_retriable
from engine.kafka.offsets import OffsetsTopic
from engine.pipeline.source_commit import Row
from engine.pipeline.source_progress import canonical
from engine.ports import SourcePosition, TransactionalProducer

OffsetChange = tuple[SourcePosition, SourcePosition | None]


def change_rows(connector: str, changes: Sequence[OffsetChange], topic: OffsetsTopic) -> list[Row]:
    """Return the records for these offsets, under existing keys; None deletes. Read the topic to its end first."""
    return [
        (topic.key_of(connector, partition), b"" if offset is None else canonical(offset))
        for partition, offset in changes
    ]


def write_fenced(producer: TransactionalProducer, topic: str, rows: Callable[[], Sequence[Row]]) -> None:
    """Take over the id of a task that may still write, then write the rows in one transaction.

    `rows` is called after the take-over. A worker that was thought dead can then not commit over them when it wakes.
    Raises RequestConflict if the task takes its id back meanwhile. Raises RetriableError if the brokers are
    unavailable: then either all rows are written or none.
    """
    try:
        producer.init()
        wanted = rows()  # any open transaction has ended now, so the topic can be read to its end
        if not wanted:
            return
        producer.begin()
        try:
            for key, value in wanted:
                producer.produce(topic, key, value or None)
            producer.flush()
        except EngineError:
            with suppress(EngineError):
                producer.abort()
            raise
        retry_while_retriable(producer.commit)
    except GenerationFenced as error:  # the task took its id back; the driver itself is not fenced
        raise RequestConflict(
            "the offsets were not changed: a task of the connector still runs; try again soon"
        ) from error
    except AbortableError as error:
        cause = error.__cause__
        if isinstance(cause, ProduceFailed) and not cause.retriable:
            raise cause from error
        raise RetriableError(f"offsets were not written to topic {topic}: {error}") from error

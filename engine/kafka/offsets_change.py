"""Offsets that an operator sets, written where their connector keeps them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from engine.errors import AbortableError, Conflict, EngineError, Fenced, ProduceFailed, RetriableError
from engine.kafka.consumer import patiently
from engine.kafka.offsets import OffsetsTopic
from engine.pipeline.source_commit import Row
from engine.pipeline.source_progress import canonical
from engine.ports import SourcePosition, TransactionalProducer

OffsetChange = tuple[SourcePosition, SourcePosition | None]


def change_rows(connector: str, changes: Sequence[OffsetChange], topic: OffsetsTopic) -> list[Row]:
    """The records of these offsets, under the keys that the topic has; None forgets one. The topic is at its end."""
    return [
        (topic.key_of(connector, partition), b"" if offset is None else canonical(offset))
        for partition, offset in changes
    ]


def write_fenced(producer: TransactionalProducer, topic: str, rows: Callable[[], Sequence[Row]]) -> None:
    """Take over the id of the task that may still write, then ask for the rows, and write them in one transaction.

    So that a worker that was thought dead can't commit over them when it wakes. Raises Conflict where the task takes
    its id back meanwhile, and RetriableError where the brokers stay away: then some may know of it, but all or none.
    """
    try:
        producer.init()
        wanted = rows()  # a transaction that was open has ended by now: the topic can be read to its end
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
        patiently(producer.commit)
    except Fenced as error:  # of the task, not of the driver
        raise Conflict("the offsets were not changed: a task of the connector still runs; try again soon") from error
    except AbortableError as error:
        cause = error.__cause__
        if isinstance(cause, ProduceFailed) and not cause.retriable:
            raise cause from error
        raise RetriableError(f"offsets were not written: {error}") from error

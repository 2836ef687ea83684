"""Migration of a connector's offsets from the worker's topic to its own (KIP-618, migration).

A connector's own topic counts for ever once it is migrated. So a connector that went back to the worker's topic and
then returns is refused: its own topic would let it begin before records that it has delivered.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from engine.errors import FatalError, GenerationFenced, RetriableError
from engine.exactly_once.transaction import Transaction
from engine.kafka.offsets import OffsetsTopic
from engine.kafka.offsets_records import MIGRATED, OffsetKey, memory_key, sentinel_key
from engine.pipeline.source_commit import Row
from engine.ports import Clock, TransactionalProducer


def migration_id(group: str, connector: str) -> str:
    """Return the transactional id of the migration; two migrations at once fence each other.

    It is the KIP's id (connector principal permissions). Task 0 of a connector `a` has the same id as the migration of
    a connector `a-0`. Then either may fence the other, and both begin again, as after any fencing.
    """
    return f"{group}-{connector}"


def migrate(
    connector: str,
    own: OffsetsTopic,
    shared: OffsetsTopic,
    connect: Callable[[], TransactionalProducer],
    clock: Clock,
) -> None:
    """Copy the connector's offsets and memories to its own topic, once, in one transaction.

    The id is taken over before the topic is checked. So a second migration finds the work done, and a migration that
    stalled can't overwrite later commits of the tasks. Raises RetriableError.
    """

    def check() -> None:
        own.read_to_end()
        if own.is_migrated(connector):
            raise GenerationFenced("another worker has migrated the offsets")

    transaction = Transaction(connect, check, clock)
    try:
        transaction.open()
        check()
        shared.read_to_end()
        for key, value in rows_of(connector, shared):
            transaction.produce(own.topic, key, value)
        transaction.commit({})
        own.read_to_end()
    except GenerationFenced as error:
        # `check` raises it too, when the work is done already. Then there is nothing left to do.
        if not own.is_migrated(connector):
            raise RetriableError(f"another worker is migrating the offsets of connector {connector}") from error
    finally:
        transaction.close()


def rows_of(connector: str, shared: OffsetsTopic) -> list[Row]:
    """Return the rows to write: offsets, memories and the mark that the migration is done.

    The mark is needed because compaction may leave nothing else after an operator has deleted all offsets.
    """
    offsets = [row for key, row in shared.offsets.items() if key.connector == connector and row[1]]
    memories = [
        (memory_key(connector, key.task), memory)
        for key, memory in shared.memories.items()
        if key.connector == connector and memory
    ]
    return [*offsets, *memories, (sentinel_key(connector), MIGRATED)]


def check_current(connector: str, own: OffsetsTopic, shared: OffsetsTopic) -> None:
    """Raise FatalError, with the remedy, if the connector has committed to the shared topic since its own. Pure."""
    if not (newer := newer_keys(connector, own, shared)):
        return
    key = newer[0]
    own_time = f"of {_time(own.stamps[key])}" if key in own.stamps else "there is none"
    raise FatalError(
        f"topic {shared.topic} has newer offsets of connector {connector} than its own topic {own.topic}: that of "
        f"{key.partition.decode()} is of {_time(shared.stamps[key])}, in {own.topic} {own_time}. Starting from "
        f"{own.topic} would deliver records twice. Set offsets.storage.topic to the name of a new topic, or stop the "
        f"connector, delete {own.topic} and start it again; its offsets are then copied from {shared.topic}. To start "
        f"from {own.topic} in spite of this, stop the connector and set its offsets over REST"
    )


def newer_keys(connector: str, own: OffsetsTopic, shared: OffsetsTopic) -> list[OffsetKey]:
    """Return the connector's offsets that differ in the shared topic and are newer there. Pure.

    The driver's copies keep the times of their originals, so they are never newer. An offset that only the shared topic
    has is newer than all of its own topic: before that, the migration would have copied it.
    """
    own_keys = [key for key in own.offsets if key.connector == connector]
    last = max((own.stamps[key] for key in own_keys), default=-1)
    return sorted(
        key
        for key, (_, value) in shared.offsets.items()
        if key.connector == connector
        and value != own.offsets.get(key, (b"", b""))[1]
        and shared.stamps[key] > own.stamps.get(key, last)
    )


def _time(stamp: int) -> str:
    return datetime.fromtimestamp(stamp / 1000, UTC).isoformat(timespec="milliseconds")

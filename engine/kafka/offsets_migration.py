"""Migration of a connector's offsets from the worker's topic to its own (KIP-618, migration)."""

from __future__ import annotations

from collections.abc import Callable

from engine.errors import GenerationFenced, RetriableError
from engine.exactly_once.transaction import Transaction
from engine.kafka.offsets import OffsetsTopic
from engine.kafka.offsets_records import MIGRATED, memory_key, sentinel_key
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

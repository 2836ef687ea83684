"""Offsets of a connector on their way from the worker's topic into one of the connector's own (KIP-618, migration)."""

from __future__ import annotations

from collections.abc import Callable

from engine.errors import Fenced, RetriableError
from engine.exactly_once.transaction import Transaction
from engine.kafka.offsets import OffsetsTopic
from engine.kafka.offsets_records import MIGRATED, memory_key, sentinel_key
from engine.pipeline.source_commit import Row
from engine.ports import Clock, TransactionalProducer


def migration_id(group: str, connector: str) -> str:
    """The transactional id of the migration: two at once must not both take place.

    It is the KIP's (connector principal permissions), though task 0 of a connector `a` has the id of the migration of a
    connector `a-0`: then either may be fenced by the other, and both begin again, as after any fencing.
    """
    return f"{group}-{connector}"


def migrate(
    connector: str,
    own: OffsetsTopic,
    shared: OffsetsTopic,
    connect: Callable[[], TransactionalProducer],
    clock: Clock,
) -> None:
    """Bring the connector's offsets and its tasks' memories into its own topic, in one transaction; once and for all.

    Whoever comes second finds it done: the id is taken over before the topic is looked at, so a migration that stalled
    in between can't write over what its tasks have committed since. Raises RetriableError.
    """

    def check() -> None:
        own.read_to_end()
        if own.is_migrated(connector):
            raise Fenced("the migration is done")

    transaction = Transaction(connect, check, clock)
    try:
        transaction.open()
        check()
        shared.read_to_end()
        for key, value in rows_of(connector, shared):
            transaction.produce(own.topic, key, value)
        transaction.commit({})
        own.read_to_end()
    except Fenced as error:
        if not own.is_migrated(connector):
            raise RetriableError(f"another worker migrates the offsets of {connector}") from error
    finally:
        transaction.close()


def rows_of(connector: str, shared: OffsetsTopic) -> list[Row]:
    """What is written: its offsets as they are, its tasks' memories, and that this was done, for a topic may well be
    compacted after an operator has removed all offsets again.
    """
    offsets = [row for key, row in shared.offsets.items() if key.connector == connector and row[1]]
    memories = [
        (memory_key(connector, key.task), memory)
        for key, memory in shared.memories.items()
        if key.connector == connector and memory
    ]
    return [*offsets, *memories, (sentinel_key(connector), MIGRATED)]

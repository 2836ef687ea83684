"""The engine's two tables in a user's database, and the statements for one task's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy import exc

from engine.connectors.sql.database import is_of_world, words
from engine.errors import ConfigError, RetriableError
from engine.exactly_once.buffered import BufferedRecord
from engine.pipeline.database_positions import OutboxRecord, PositionRow
from engine.record.record import Headers, TopicPartition

DIALECTS = ("sqlite", "postgresql")
OPTION = ("delivery.guarantee", "exactly_once")

_metadata = sa.MetaData()
_number = sa.BigInteger
OFFSETS = sa.Table(
    "engine_offsets",
    _metadata,
    sa.Column("cluster", sa.Text, primary_key=True),  # `group.id` of the workers
    sa.Column("connector", sa.Text, primary_key=True),
    sa.Column("topic", sa.Text, primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True),
    sa.Column("generation", _number, nullable=False),  # grows with each claim
    sa.Column("next", _number, nullable=False),
    sa.Column("memory", sa.Text, nullable=False),  # the task's state, as in a commit's metadata
    sa.Column("letters", _number, nullable=False),  # number of the last letter that came with this partition
    sa.Column("pid", sa.Integer),  # PostgreSQL: the session of the current claimant
    sa.Column("updated", sa.DateTime(timezone=True), nullable=False),
)
LETTERS = sa.Table(
    "engine_letters",
    _metadata,
    sa.Column("cluster", sa.Text, primary_key=True),
    sa.Column("connector", sa.Text, primary_key=True),
    sa.Column("origin_topic", sa.Text, primary_key=True),
    sa.Column("origin_partition", sa.Integer, primary_key=True),
    sa.Column("seq", _number, primary_key=True),
    sa.Column("topic", sa.Text, nullable=False),
    sa.Column("key", sa.LargeBinary),
    sa.Column("value", sa.LargeBinary),
    sa.Column("headers", sa.LargeBinary, nullable=False),  # MessagePack: a list of [name, value]
    sa.Column("timestamp", _number),
)


def make_tables(engine: sa.Engine) -> None:
    """Create missing tables. Raises ConfigError without permission to create them."""
    if engine.dialect.name not in DIALECTS:
        raise ConfigError(((*OPTION, f"is not supported on {engine.dialect.name}; use PostgreSQL or SQLite"),))
    for table in (OFFSETS, LETTERS):
        try:
            table.create(engine, checkfirst=True)
        except exc.DBAPIError as error:
            if is_of_world(error):
                raise RetriableError(words(error)) from None
            if not sa.inspect(engine).has_table(table.name):  # another task may have created it first
                text = f"needs the table {table.name}, which does not exist and can't be created: {words(error)}"
                raise ConfigError(((*OPTION, text),)) from None


class TaskRows:
    """The rows of one task's partitions, as conditions and statements."""

    def __init__(self, cluster: str, connector: str, partitions: Sequence[TopicPartition]) -> None:
        self.own = {"cluster": cluster, "connector": connector}
        self._partitions = [tuple(one) for one in sorted(partitions)]

    def all(self) -> sa.ColumnElement[bool]:
        """Return the condition for the task's position rows."""
        column = OFFSETS.c
        return sa.and_(self._own(OFFSETS), sa.tuple_(column.topic, column.partition).in_(self._partitions))

    def claimed(self, generations: Mapping[TopicPartition, int]) -> sa.ColumnElement[bool]:
        """Return the condition for position rows that still have these generations."""
        column = OFFSETS.c
        rows = [(*partition, generation) for partition, generation in generations.items()]
        return sa.and_(self._own(OFFSETS), sa.tuple_(column.topic, column.partition, column.generation).in_(rows))

    def select(self) -> sa.Select[Any]:
        """Return a select of the positions, in a fixed order that avoids deadlocks of claimants."""
        column = OFFSETS.c
        wanted = (column.topic, column.partition, column.generation, column.next, column.memory, column.letters)
        return sa.select(*wanted).where(self.all()).order_by(column.topic, column.partition)

    def insert(self, partition: TopicPartition, kept: PositionRow, pid: int | None) -> sa.Insert:
        """Return the insert of a first row, with generation 1."""
        place = {**self.own, **partition._asdict(), "generation": 1, "pid": pid}
        return sa.insert(OFFSETS).values(**place, **_values(kept), updated=sa.func.now())

    def move(self) -> sa.Update:
        """Return the update from the expected position to the new one; `moved` makes its parameters."""
        column, name = OFFSETS.c, sa.bindparam
        statement = sa.update(OFFSETS).where(
            self._own(OFFSETS),
            column.topic == name("of_topic"),
            column.partition == name("of_partition"),
            column.generation == name("of_generation"),
            column.next == name("expected"),
        )
        return statement.values(next=name("at"), memory=name("text"), letters=name("last"), updated=sa.func.now())

    def moved(self, partition: TopicPartition, generation: int, expected: int, kept: PositionRow) -> dict[str, Any]:
        place = {"of_topic": partition.topic, "of_partition": partition.partition, "of_generation": generation}
        return {**place, "expected": expected, "at": kept.next, "text": kept.memory, "last": kept.letters}

    def carriers(self) -> sa.Select[Any]:
        """Return a select of the partitions that have letters."""
        places = (LETTERS.c.origin_topic, LETTERS.c.origin_partition)
        mine = sa.tuple_(*places).in_(self._partitions)
        return sa.select(*places).where(self._own(LETTERS), mine).distinct()

    def letters(self, carrier: TopicPartition) -> sa.ColumnElement[bool]:
        """Return the condition for letters that came with a partition."""
        column = LETTERS.c
        place = (column.origin_topic == carrier.topic, column.origin_partition == carrier.partition)
        return sa.and_(self._own(LETTERS), *place)

    def forget(self, carrier: TopicPartition, sent: int) -> sa.Delete:
        """Return the delete of a partition's letters up to a number."""
        return sa.delete(LETTERS).where(self.letters(carrier), LETTERS.c.seq <= sent)

    def letter(self, carrier: TopicPartition, letter: OutboxRecord) -> dict[str, Any]:
        """Return a letter as a row."""
        one = letter.record
        return {
            **self.own,
            "origin_topic": carrier.topic,
            "origin_partition": carrier.partition,
            "seq": letter.seq,
            "topic": one.topic,
            "key": one.key,
            "value": one.value,
            "headers": msgspec.msgpack.encode(one.headers),
            "timestamp": one.timestamp,
        }

    def _own(self, table: sa.Table) -> sa.ColumnElement[bool]:
        column = table.c
        return sa.and_(column.cluster == self.own["cluster"], column.connector == self.own["connector"])


def read_letter(row: sa.Row[Any]) -> OutboxRecord:
    """Return a row of `engine_letters` as a letter."""
    headers = msgspec.msgpack.decode(row.headers, type=Headers)
    return OutboxRecord(row.seq, BufferedRecord(row.topic, row.key, row.value, headers, row.timestamp, None))


def _values(kept: PositionRow) -> dict[str, Any]:
    return {"next": kept.next, "memory": kept.memory, "letters": kept.letters}

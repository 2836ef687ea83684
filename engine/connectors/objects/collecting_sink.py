"""The common part of sinks that collect the records of a commit, for places that know which offsets they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from engine.connectors.http.options import FAIL
from engine.connectors.objects.formats import OpenRows
from engine.errors import DataError, RecordError
from engine.record.record import Record, TopicPartition

Place = TypeVar("Place", str, TopicPartition)
Rows = TypeVar("Rows", bound=OpenRows)


class CollectingSink(Generic[Place, Rows]):
    """Collects values until a commit writes them. Records that their place holds already are left out.

    An earlier task may have written records and been killed before its dead letters and offsets were committed. They
    are checked again, in rows that are never written: the place does not hold those that it refused.

    A derived class sets `_options` and `_ends`, says in `_place_of` and `_opened` where a record goes, and calls
    `_drop_checked` before it writes.
    """

    put_is_idempotent = False  # the sink names the records that don't fit
    _options: Mapping[str, Any]

    def __init__(self) -> None:
        self._ends: dict[TopicPartition, int] = {}
        self._open: dict[Place, Rows] = {}
        self._checked: dict[Place, Rows] = {}

    def put(self, records: Sequence[Record]) -> None:
        new: dict[Place, list[tuple[int, Any]]] = {}
        known: dict[Place, list[tuple[int, Any]]] = {}
        errors: list[RecordError] = []
        for index, record in enumerate(records):
            partition, offset = origin_of(record)
            if record.value is not None:
                rows = known if offset < self._ends[partition] else new
                rows.setdefault(self._place_of(partition), []).append((index, record.value))
            elif self._options["behavior.on.null.values"] == FAIL:
                text = "the record has no value; behavior.on.null.values=ignore leaves such records out"
                errors.append(RecordError(index, DataError(text)))
        if errors:
            raise ExceptionGroup("records without a value", errors)
        self._add((self._checked, known), (self._open, new))

    def flush(self) -> None:
        """Do nothing: `write` is called with the positions of a commit."""

    def stop(self) -> None:
        """Drop the records that are not written. They are read again."""
        self._open.clear()
        self._checked.clear()

    @property
    def is_full(self) -> bool:
        """Return whether it is time to write."""
        opened = self._open.values()
        return bool(
            sum(one.records for one in opened) >= self._options["flush.size"]
            or sum(one.size for one in opened) >= self._options["flush.bytes"]
        )

    def _place_of(self, partition: TopicPartition) -> Place:
        raise NotImplementedError

    def _opened(self, place: Place) -> Rows:
        raise NotImplementedError

    def _drop_checked(self, positions: Mapping[TopicPartition, int]) -> None:
        """Drop the checked rows once all of them are before the positions of a commit."""
        if all(position >= self._ends[partition] for partition, position in positions.items()):
            self._checked.clear()

    def _add(self, *added: tuple[dict[Place, Rows], Mapping[Place, Sequence[tuple[int, Any]]]]) -> None:
        """Add values to their places, all or none of them."""
        ready: list[tuple[dict[Place, Rows], Place, Rows, Any]] = []
        errors: list[RecordError] = []
        for opened, new in added:
            for place, rows in new.items():
                one = opened.get(place) or self._opened(place)
                try:
                    ready.append((opened, place, one, one.prepare([value for _, value in rows])))
                except* RecordError as group:
                    errors += [RecordError(rows[leaf.index][0], leaf.cause) for leaf in leaves_of(group)]
        if errors:
            raise ExceptionGroup("records that don't fit their place", errors)
        for opened, place, one, values in ready:
            one.take(values)
            opened[place] = one


def origin_of(record: Record) -> tuple[TopicPartition, int]:
    """Return the partition and offset that a record was read from, whatever topic a transform gave it."""
    raw = record.raw
    assert raw is not None  # every consumed record has one
    return TopicPartition(raw.topic, raw.partition), raw.offset


def leaves_of(group: BaseExceptionGroup[RecordError]) -> list[RecordError]:
    """Return the errors of a group."""
    return [leaf for leaf in group.exceptions if isinstance(leaf, RecordError)]

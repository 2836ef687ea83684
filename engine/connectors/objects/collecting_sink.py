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
    are checked again, and never kept: the place does not hold those that it refused. A record may have been refused
    for the types of those before it in its object, so the check begins anew with each object of the place.

    A derived class sets `_options` and `_ends`, and says in `_place_of` and `_opened` where a record goes.
    """

    put_is_idempotent = False  # the sink names the records that don't fit
    _options: Mapping[str, Any]

    def __init__(self) -> None:
        self._ends: dict[TopicPartition, int] = {}
        self._open: dict[Place, Rows] = {}
        self._checked: dict[Place, tuple[int, Rows]] = {}  # the newest object that is checked, by its number

    def put(self, records: Sequence[Record]) -> None:
        given: dict[tuple[Place, int | None], list[tuple[int, Any]]] = {}  # without a number they are new
        errors: list[RecordError] = []
        for index, record in enumerate(records):
            partition, offset = origin_of(record)
            if record.value is not None:
                number = self._object_of(partition, offset) if offset < self._ends[partition] else None
                given.setdefault((self._place_of(partition), number), []).append((index, record.value))
            elif self._options["behavior.on.null.values"] == FAIL:
                text = "the record has no value; behavior.on.null.values=ignore leaves such records out"
                errors.append(RecordError(index, DataError(text)))
        if errors:
            raise ExceptionGroup("records without a value", errors)
        self._add(given)

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
        """Return rows without records."""
        raise NotImplementedError

    def _opened_check(self, place: Place) -> Rows:
        """Return rows that check records which the place holds already."""
        return self._opened(place)

    def _object_of(self, _partition: TopicPartition, _offset: int) -> int:
        """Return the number of the object with a record that the place holds. A place without objects is one."""
        return 0

    def _add(self, given: Mapping[tuple[Place, int | None], Sequence[tuple[int, Any]]]) -> None:
        """Add the new values to their places, and check the others; all or none of them."""
        ready: list[tuple[Place, int | None, Rows, Any]] = []
        errors: list[RecordError] = []
        for (place, number), rows in given.items():
            one = self._rows(place, number)
            try:
                ready.append((place, number, one, one.prepare([value for _, value in rows])))
            except* RecordError as group:
                errors += [RecordError(rows[leaf.index][0], leaf.cause) for leaf in leaves_of(group)]
        if errors:
            raise ExceptionGroup("records that don't fit their place", errors)
        for place, number, one, values in ready:
            if number is None:
                one.take(values)
                self._open[place] = one
            else:
                one.skip(values)
                self._checked[place] = number, one

    def _rows(self, place: Place, number: int | None) -> Rows:
        """Return the rows for values of a place: of its object with this number, or new ones."""
        if number is None:
            return self._open.get(place) or self._opened(place)
        checked = self._checked.get(place)
        return checked[1] if checked is not None and checked[0] == number else self._opened_check(place)


def origin_of(record: Record) -> tuple[TopicPartition, int]:
    """Return the partition and offset that a record was read from, whatever topic a transform gave it."""
    raw = record.raw
    assert raw is not None  # every consumed record has one
    return TopicPartition(raw.topic, raw.partition), raw.offset


def leaves_of(group: BaseExceptionGroup[RecordError]) -> list[RecordError]:
    """Return the errors of a group."""
    return [leaf for leaf in group.exceptions if isinstance(leaf, RecordError)]

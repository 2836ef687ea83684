"""Offset changes by operators, for stopped connectors whose tasks can no longer write.

The tasks of a connector that writes transactions are fenced first. A new generation of the same tasks is written, which
needs a fencing round like any other. The offsets are changed when its task count record is written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

import msgspec

from engine.config.topic import ConnectorState, TargetState
from engine.errors import BadRequest, EngineError, GenerationFenced, NotLeading, RequestConflict, RetriableError
from engine.herder.config_topic import Connectors
from engine.herder.fencing import FencingRunner
from engine.herder.fencing_rounds import needed_round
from engine.herder.positions import GroupOffsets
from engine.herder.snapshot import ConnectorFacts
from engine.herder.state import HerderState
from engine.pipeline.source_progress import canonical
from engine.ports import Committed, SourceOffsets, SourcePosition
from engine.record.record import TopicPartition
from engine.worker_messages import ConnectorKind, Lease

log = logging.getLogger(__name__)

MOST_OFFSET = 2**63 - 1  # the limit of the Kafka protocol
MOST_DIGITS = 1000  # Python refuses to parse longer numbers
OffsetRow = tuple[SourcePosition, SourcePosition | None]


class OffsetChangeRequest(msgspec.Struct, frozen=True):
    """Offsets to set, or a reset of all (`rows` is None)."""

    connector: str
    rows: Sequence[OffsetRow] | None
    facts: ConnectorFacts
    answer: Future[None]


class OffsetChanges:
    """The pending offset changes. The herder calls `begin` and `turn`; `read` is thread-safe."""

    def __init__(
        self,
        connectors: Connectors,
        fencing: FencingRunner,
        groups: GroupOffsets,
        sources: SourceOffsets,
        begins: Callable[[Sequence[TopicPartition]], Mapping[TopicPartition, int]],
    ) -> None:
        self._connectors = connectors
        self._fencing = fencing
        self._groups = groups
        self._sources = sources
        self._begins = begins
        self._waiting: dict[str, OffsetChangeRequest] = {}
        self._fenced_generations: dict[str, int] = {}  # connector → fenced generation none of whose tasks has run since

    def read(self, entry: ConnectorState, name: str, facts: ConnectorFacts) -> list[OffsetRow]:
        """Return the connector's committed offsets in the format of Kafka Connect."""
        if facts.kind is ConnectorKind.SOURCE:
            return list(self._sources.read(entry.properties or {}))
        offsets = self._groups.of_connector(name, _partitions(entry))
        return [
            ({"kafka_topic": topic, "kafka_partition": number}, {"kafka_offset": offset})
            for (topic, number), offset in sorted(offsets.items())
        ]

    def begin(
        self, state: HerderState, name: str, facts: ConnectorFacts, rows: Sequence[OffsetRow] | None
    ) -> Future[None]:
        """Accept a change. Raises NotFound, BadRequest, or RequestConflict while the tasks are still ending."""
        entry = self._connectors.get(name)
        _check(entry, name, facts)
        if name in self._waiting or any(task.connector == name for task in state.leased_tasks()):
            raise RequestConflict(
                f"the tasks of connector {name} have not stopped yet, or its offsets are being changed; try again soon"
            )
        if rows is not None:
            if facts.kind is ConnectorKind.SOURCE:
                _check_json(rows)
            else:
                _parse(rows, entry)
        # The tasks are stopped, but one of their workers may only be asleep. It could commit after the change.
        if _transactional(entry) and self._fenced_generations.get(name) != entry.generation:
            if entry.fenced:
                again = [msgspec.structs.replace(task, generation=entry.generation + 1) for task in entry.tasks]
                self._connectors.new_generations({name: again})
            self._fencing.retry_now(name)
        change = self._waiting[name] = OffsetChangeRequest(name, rows, facts, Future())
        return change.answer

    def turn(self) -> list[str]:
        """Make the changes of fenced connectors. Return the connectors whose offsets may have changed."""
        changed = []
        for name, change in list(self._waiting.items()):
            if change.answer.cancelled():  # the caller no longer waits
                del self._waiting[name]
                continue
            try:
                done = self._try_change(change)
            except GenerationFenced:
                raise
            except Exception as error:  # the caller gets any error, and the herder goes on
                if not isinstance(error, EngineError):
                    log.exception("the offsets of connector %s were not changed", name)
                del self._waiting[name]
                if change.answer.running():  # some offsets may have been changed before the error
                    changed.append(name)
                # The caller may have cancelled the future meanwhile.
                with suppress(InvalidStateError):
                    change.answer.set_exception(error)
                continue
            if done:
                del self._waiting[name]
                changed.append(name)
                change.answer.set_result(None)
        return changed

    def note_granted(self, leases: Iterable[Lease]) -> None:
        """Note that these tasks run, so that the next change fences them again."""
        for lease in leases:
            for task in lease.tasks:
                self._fenced_generations.pop(task.connector, None)

    def forget(self) -> None:
        """Forget all changes, because another driver leads."""
        waiting, self._waiting, self._fenced_generations = self._waiting, {}, {}
        for change in waiting.values():
            with suppress(InvalidStateError):
                change.answer.set_exception(NotLeading())

    def _try_change(self, change: OffsetChangeRequest) -> bool:
        entry = self._connectors.get(change.connector)
        _check(entry, change.connector, change.facts)
        if needed_round(change.connector, entry) is not None:
            if self._fencing.has_failed(change.connector):
                raise RetriableError(
                    f"Failed to fence the tasks of connector {change.connector} that may still run, so its offsets "
                    "were not changed; try again soon"
                )
            return False
        if not change.answer.set_running_or_notify_cancel():
            return False
        # Plain commits of a group are not fenced. A driver that slept learns here that it no longer leads.
        self._connectors.prove_leadership()
        if change.facts.kind is ConnectorKind.SOURCE:
            self._change_source(change, entry)
        else:
            self._change_group(change, entry)
        if _transactional(entry):
            self._fenced_generations[change.connector] = entry.generation
        return True

    def _change_source(self, change: OffsetChangeRequest, entry: ConnectorState) -> None:
        properties = entry.properties or {}
        rows = change.rows
        if rows is None:
            self._sources.write(properties, ())  # fences a sleeping worker, so that the next read is final
            rows = [(partition, None) for partition, _ in self._sources.read(properties)]
        self._sources.write(properties, rows)

    def _change_group(self, change: OffsetChangeRequest, entry: ConnectorState) -> None:
        """Commit offsets in the consumer group. A reset partition gets its first offset.

        That offset is committed because a missing offset is an error.
        """
        partitions = _partitions(entry)
        requested = dict.fromkeys(partitions) if change.rows is None else _parse(change.rows, entry)
        reset = [partition for partition, offset in requested.items() if offset is None]
        offsets = dict(self._begins(reset)) if reset else {}
        offsets |= {partition: offset for partition, offset in requested.items() if offset is not None}
        for number, task in enumerate(entry.tasks):
            task_offsets = {one: Committed(offsets[one]) for one in task.partitions if one in offsets}
            if task_offsets:
                self._groups.write(change.connector, number, task, task_offsets)


def _check(entry: ConnectorState, name: str, facts: ConnectorFacts) -> None:
    if entry.target is not TargetState.STOPPED:
        raise BadRequest(
            "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the "
            f"specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
        )
    if facts.trace is not None:
        raise BadRequest(f"Connector {name} has a configuration that can't be used: {facts.trace}")
    if not facts.keeps_positions_here:
        raise BadRequest(f"The offsets of connector {name} are stored in its target system; change them there")


def _transactional(entry: ConnectorState) -> bool:
    return bool(entry.task_count) or any(task.exactly_once for task in entry.tasks)


def _partitions(entry: ConnectorState) -> list[TopicPartition]:
    return sorted({partition for task in entry.tasks for partition in task.partitions})


def _parse(rows: Sequence[OffsetRow], entry: ConnectorState) -> dict[TopicPartition, int | None]:
    """Parse offsets of topic partitions.

    Raises BadRequest for malformed rows, and for partitions that the connector does not read.
    """
    known = set(_partitions(entry))
    offsets: dict[TopicPartition, int | None] = {}
    for partition, offset in rows:
        topic_partition = _partition(partition)
        if topic_partition not in known:
            raise BadRequest(
                f"the connector does not read partition {topic_partition.partition} of topic {topic_partition.topic}"
            )
        offsets[topic_partition] = None if offset is None else _offset(offset)
    return offsets


def _check_json(rows: Sequence[OffsetRow]) -> None:
    """Raise BadRequest for values that can't be written, or can't be shown again by `GET`."""
    for partition, offset in rows:
        try:
            canonical({"offsets": [{"partition": partition, "offset": offset}]})
        except TypeError as error:
            raise BadRequest(f"a partition or an offset can't be written as JSON: {error}") from error


def _partition(row: SourcePosition) -> TopicPartition:
    topic, number = row.get("kafka_topic"), row.get("kafka_partition")
    if topic is None or number is None:
        raise BadRequest(
            "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'"
        )
    return TopicPartition(str(topic), _number("partition", number))


def _offset(row: SourcePosition) -> int:
    value = row.get("kafka_offset")
    if value is None:
        raise BadRequest("The offset for a sink connector should either be null or contain the key 'kafka_offset'")
    return _number("offset", value)


def _number(kind: str, value: Any) -> int:
    """Parse a non-negative number. Text is accepted, as in Kafka Connect."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    is_number = isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
    if not is_number or int(text) > MOST_OFFSET:
        limit = "." if not is_number else f", {MOST_OFFSET} at most."
        raise BadRequest(
            f"Failed to parse the following Kafka {kind} value in the provided offsets: '{value}'. "
            f"{kind.capitalize()} values for sink connectors need to be integers{limit}"
        )
    return int(text)

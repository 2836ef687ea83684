"""A stream's graph of processors and sinks, and the processing of a record in it (KIP-1033).

A node's forwarded records continue after the node has returned: child by child, each with all its descendants before
the next child. If a node fails, its descendants see nothing. Siblings and earlier nodes are not affected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from engine.pipeline.chunk_results import attempt
from engine.pipeline.guard import Guard, Step
from engine.pipeline.outcome import Interrupted, PendingError
from engine.pipeline.produce_stage import OutputRecord
from engine.policy.tolerance import ToleranceState
from engine.record.record import Punctuation, RawRecord, Record

Forward = tuple[str, Record]  # a node's name, and the record forwarded to it


@dataclass(frozen=True, slots=True)
class ProcessorNode:
    """A processor with its stage; its step returns the forwarded records."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class SinkNode:
    """A sink: its converters, its topic, and the index of its produce stage."""

    steps: tuple[Step, ...]
    topic: str
    produce_index: int


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes and sinks by name; `roots` are the nodes that read the input."""

    nodes: Mapping[str, ProcessorNode | SinkNode]
    roots: tuple[str, ...]

    @property
    def ends(self) -> dict[str, SinkNode]:
        return {name: node for name, node in self.nodes.items() if isinstance(node, SinkNode)}


@dataclass(slots=True)
class ProcessingUnit:
    """One record or one punctuation, with its outputs, written records and errors.

    `stops` means that one of its errors will fail the task. Nothing of the unit is written then, and nothing after it
    is processed.
    """

    origin: RawRecord | Punctuation
    outputs: list[OutputRecord] = field(default_factory=list)
    written: list[OutputRecord] = field(default_factory=list)
    errors: list[PendingError] = field(default_factory=list)
    filtered: bool = False
    stops: bool = False


class ChunkRun:
    """The units of one chunk in processing. It counts errors in order to find the one that stops the task."""

    def __init__(self, topology: Topology, guard: Guard) -> None:
        self._topology = topology
        self._guard = guard
        self._trial: ToleranceState = guard.state.tolerance
        self.units: list[ProcessingUnit] = []

    def enter(self, origin: RawRecord | Punctuation) -> ProcessingUnit:
        """Append a new unit."""
        unit = ProcessingUnit(origin)
        self.units.append(unit)
        return unit

    def add_error(self, unit: ProcessingUnit, errored: PendingError) -> None:
        """Note an error of the last unit."""
        unit.errors.append(errored)
        stops, self._trial = self._guard.would_fail(self._trial, errored)
        unit.stops = unit.stops or stops

    def leave(self, current: ProcessingUnit | None) -> list[ProcessingUnit]:
        """Remove and return all units but the current one, so that they can be settled."""
        done = [unit for unit in self.units if unit is not current]
        self.units = [] if current is None else [current]
        return done

    def recount(self) -> None:
        """Count the remaining errors again, after the units that left are settled."""
        self._trial = self._guard.state.tolerance
        for errored in [one for unit in self.units for one in unit.errors]:
            _, self._trial = self._guard.would_fail(self._trial, errored)

    def pass_to_roots(self, unit: ProcessingUnit, record: Record) -> Interrupted | None:
        """Pass an input record to all roots."""
        return self.follow(unit, [(name, record) for name in self._topology.roots])

    def follow(self, unit: ProcessingUnit, forwards: Sequence[Forward]) -> Interrupted | None:
        """Pass forwarded records on to the sinks of the topology. Interrupted: the unit is not processed."""
        nodes = self._topology.nodes
        # A stack, reversed: the first child and all its descendants come before the second child.
        waiting = list(reversed(forwards))
        while waiting and not unit.stops:
            name, record = waiting.pop()
            node = nodes[name]
            # The key decides the partition: the input's partition means nothing on another topic.
            given = replace(record, topic=node.topic, partition=None) if isinstance(node, SinkNode) else record
            result: Any = attempt(self._guard, node.steps, given, unit.origin)
            if isinstance(result, Interrupted):
                return result
            if isinstance(result, PendingError):
                self.add_error(unit, result)
            elif isinstance(node, SinkNode):
                unit.outputs.append(outgoing(node, result, unit.origin))
            else:
                waiting += reversed(result)
        return None


def outgoing(end: SinkNode, record: Record, origin: RawRecord | Punctuation) -> OutputRecord:
    """Return a converted record as it is to be written. Its key decides the partition, its timestamp is kept."""
    headers = tuple((name, value) for name, _, value in record.headers)
    return OutputRecord(
        end.topic, None, record.timestamp, record.key, record.value, headers, origin, record, end.produce_index
    )

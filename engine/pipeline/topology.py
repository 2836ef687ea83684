"""A stream's graph of processors and ends, and a record's way through it (KIP-1033).

What a node forwards goes on when the node has returned, child by child, each child's own descendants before the next
child. Where a node fails its descendants see nothing; its siblings and whatever came before are not disturbed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from engine.pipeline.guard import Guard, Step
from engine.pipeline.journey import attempt
from engine.pipeline.outcome import Errored, Interrupted
from engine.pipeline.producing import Outgoing
from engine.policy.tolerance import ToleranceState
from engine.record.record import Punctuation, RawRecord, Record

Forward = tuple[str, Record]  # a node's name, and what goes on to it


@dataclass(frozen=True, slots=True)
class Node:
    """A processor at its stage; its step answers with what is forwarded."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class End:
    """A sink: its converters, the topic it writes to, and the stage that does so."""

    steps: tuple[Step, ...]
    topic: str
    produce_index: int


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes and ends by name; `roots` are those that the input feeds."""

    nodes: Mapping[str, Node | End]
    roots: tuple[str, ...]

    @property
    def ends(self) -> dict[str, End]:
        return {name: node for name, node in self.nodes.items() if isinstance(node, End)}


@dataclass(slots=True)
class Unit:
    """One record, or one punctuation, with all that comes of it: what is to be written, and what is.

    `stops`: one of its errors will fail the task, so nothing of it is written and nothing behind it is worked on.
    """

    origin: RawRecord | Punctuation
    outputs: list[Outgoing] = field(default_factory=list)
    written: list[Outgoing] = field(default_factory=list)
    errors: list[Errored] = field(default_factory=list)
    filtered: bool = False
    stops: bool = False


class Passage:
    """The units of one chunk on their way; errors are counted in their order to see which one stops the task."""

    def __init__(self, topology: Topology, guard: Guard) -> None:
        self._topology = topology
        self._guard = guard
        self._trial: ToleranceState = guard.state.tolerance
        self.units: list[Unit] = []

    def enter(self, origin: RawRecord | Punctuation) -> Unit:
        """A new unit, behind the others."""
        unit = Unit(origin)
        self.units.append(unit)
        return unit

    def add_error(self, unit: Unit, errored: Errored) -> None:
        """Note an error of the last unit."""
        unit.errors.append(errored)
        stops, self._trial = self._guard.would_fail(self._trial, errored)
        unit.stops = unit.stops or stops

    def leave(self, current: Unit | None) -> list[Unit]:
        """All units but the current one: they leave, to be settled."""
        done = [unit for unit in self.units if unit is not current]
        self.units = [] if current is None else [current]
        return done

    def recount(self) -> None:
        """Count anew, when those that left are settled."""
        self._trial = self._guard.state.tolerance
        for errored in [one for unit in self.units for one in unit.errors]:
            _, self._trial = self._guard.would_fail(self._trial, errored)

    def feed(self, unit: Unit, record: Record) -> Interrupted | None:
        """Pass an input record to all roots."""
        return self.follow(unit, [(name, record) for name in self._topology.roots])

    def follow(self, unit: Unit, forwards: Sequence[Forward]) -> Interrupted | None:
        """Take what is forwarded to the ends of the topology. Interrupted: the unit is not processed."""
        nodes = self._topology.nodes
        waiting = list(reversed(forwards))
        while waiting and not unit.stops:
            name, record = waiting.pop()
            node = nodes[name]
            given = replace(record, topic=node.topic, partition=None) if isinstance(node, End) else record
            came: Any = attempt(self._guard, node.steps, given, unit.origin)
            if isinstance(came, Interrupted):
                return came
            if isinstance(came, Errored):
                self.add_error(unit, came)
            elif isinstance(node, End):
                unit.outputs.append(outgoing(node, came, unit.origin))
            else:
                waiting += reversed(came)
        return None


def outgoing(end: End, record: Record, origin: RawRecord | Punctuation) -> Outgoing:
    """A converted record as it is to be written: its key decides about the partition, its timestamp goes along."""
    headers = tuple((name, value) for name, _, value in record.headers)
    return Outgoing(
        end.topic, None, record.timestamp, record.key, record.value, headers, origin, record, end.produce_index
    )

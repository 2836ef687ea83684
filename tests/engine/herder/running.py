"""A connector with a lease."""

from __future__ import annotations

from functools import partial

from engine.herder.herder import Herder
from engine.record.record import TopicPartition
from tests.engine.herder.world import World, ask, turn

ZERO = TopicPartition("t", 0)
PROPERTIES = {"name": "c", "topics": "t", "tasks.max": "2"}


def running(world: World, herder: Herder, records: int = 5) -> None:
    """Connector `c` has a lease."""
    world.ends[ZERO] = records
    ask(herder, partial(herder.put, "c", PROPERTIES))
    turn(herder)
    assert len(world.leases) == 1

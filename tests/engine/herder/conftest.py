"""The herder in a world in memory."""

from __future__ import annotations

import pytest

from engine.herder.herder import Herder
from tests.engine.herder.world import World, turn


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def herder(world: World) -> Herder:
    made = world.herder()
    turn(made)
    return made

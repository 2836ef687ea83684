"""The herder in a world in memory."""

from __future__ import annotations

import pytest

from engine.herder.herder import Herder
from tests.engine.herder.world import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def herder(world: World) -> Herder:
    return world.started()

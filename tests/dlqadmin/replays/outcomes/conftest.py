from __future__ import annotations

import pytest

from tests.dlqadmin.deadletters.conftest import beside, several_writers
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.world import Build, World

__all__ = ["beside", "build", "several_writers"]


@pytest.fixture
def build(engine: FakeEngine) -> Build:
    return lambda items=1, **replay: World(engine, items, **replay)

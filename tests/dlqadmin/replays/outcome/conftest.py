from __future__ import annotations

import pytest

from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.world import Build, World


@pytest.fixture
def build(engine: FakeEngine) -> Build:
    return lambda items=1, **replay: World(engine, items, **replay)

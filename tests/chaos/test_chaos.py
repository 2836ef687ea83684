"""Ten runs on a real broker, a real Spark cluster and real processes; `make chaos` does as many as one likes.

They kill and freeze processes at random, so they are soak tests. In `make test` one deterministic kill of each kind
remains: of workers (tests/spark/test_kills.py, test_streams.py, test_source.py, test_source_exactly_once.py,
test_mirror.py), of the driver (test_kills.py) and of a broker (test_broker_restart.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.runs import run
from tests.chaos.workloads.kinds import KINDS
from tests.chaos.world import World

pytestmark = pytest.mark.soak

RUNS = 10
NAMES = list(KINDS)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """What all runs share."""
    made = World(tmp_path_factory.mktemp("chaos"))
    try:
        yield made.start()
    finally:
        made.close()


@pytest.mark.parametrize("seed", range(RUNS))
def test_every_record_arrives_once_whatever_happens(world: World, seed: int) -> None:
    kind = NAMES[seed % len(NAMES)]
    result = run(world, kind, KINDS[kind], seed, events=1 + seed % 2)
    assert result.is_clean, f"{result}\nlogs are in {world.home}"

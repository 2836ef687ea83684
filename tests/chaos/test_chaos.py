"""Ten runs on a real broker, a real Spark cluster and real processes; `make chaos` does as many as one likes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.runs import run
from tests.chaos.workloads.kinds import KINDS
from tests.chaos.world import World

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

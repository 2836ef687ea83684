from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark.engine_process import Engine, Topics


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory, broker: str) -> Iterator[Engine]:
    """One engine for all tests that leave its driver alone."""
    started = Engine(tmp_path_factory.mktemp("engine"), broker).start()
    yield started
    started.close()


@pytest.fixture
def own_engine(tmp_path: Path, broker: str) -> Iterator[Engine]:
    """An engine of this test alone, not started yet."""
    made = Engine(tmp_path / "engine", broker)
    yield made
    made.close()


@pytest.fixture(scope="session")
def topics(broker: str) -> Topics:
    return Topics(broker)

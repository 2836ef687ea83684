"""One run, with a workload that is not there."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.chaos.runs import run
from tests.chaos.workloads.base import Workload
from tests.chaos.world import World


class Told:
    """A world, and a workload of it, that is told to end while it begins; `ended` is what was ended then."""

    records = 0

    def __init__(self) -> None:
        self.ended: list[str] = []

    def mend(self) -> None:
        """Nothing is broken."""

    def begin(self) -> None:
        raise SystemExit("ended by a signal")

    def progress(self) -> int:
        return 0

    def brokers(self) -> list[Any]:
        return []

    def end(self) -> None:
        self.ended.append("workload")

    def end_standbys(self) -> None:
        self.ended.append("standbys")


def test_a_run_that_is_told_to_end_leaves_nothing_of_it_running() -> None:
    told = Told()
    with pytest.raises(SystemExit, match="ended by a signal"):
        run(cast("World", told), "sink", lambda *_: cast("Workload", told), 1, 1)
    assert told.ended == ["workload", "standbys"]

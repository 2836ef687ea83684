"""Sides that take turns."""

import pytest

from benchmarks.rounds import alternate


def test_with_each_round_another_side_is_first(capsys: pytest.CaptureFixture[str]) -> None:
    runs: list[str] = []

    def run(name: str) -> float:
        runs.append(name)
        return float(len(runs))

    figures = alternate({"ours": run, "raw 1": run}, rounds=3)
    assert runs == ["ours-0", "raw-1-0", "raw-1-1", "ours-1", "ours-2", "raw-1-2"]
    assert figures == {"ours": [1, 4, 5], "raw 1": [2, 3, 6]}
    assert capsys.readouterr().out.splitlines()[0] == "round 1: ours             1.0 records/s"

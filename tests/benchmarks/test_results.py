"""What a benchmark prints and writes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.results import BenchmarkResult, document, publish, table

RATES = BenchmarkResult("copy", "records/s", [300_000, 100_000, 200_000], [100_000, 50_000, 110_000], 0.8)
TIMES = BenchmarkResult("start", "s", [4.0, 2.0], [6.0, 6.0], 0.66, better="lower")
ALONE = BenchmarkResult("planner", "ms", [20.0, 30.0], None, 200, better="lower")


@pytest.mark.parametrize(("result", "ratio"), [(RATES, 2.0), (TIMES, 2.0), (ALONE, None)])
def test_a_ratio_is_of_medians_and_above_one_where_ours_is_better(result: BenchmarkResult, ratio: float | None) -> None:
    assert result.ratio == ratio


def test_a_table_shows_medians_spread_ratio_and_goal() -> None:
    assert table(RATES).splitlines()[1:] == [
        "copy, records/s, higher is better, rounds: 3",
        "  ours    median      200,000   from      100,000 to      300,000",
        "  anchor  median      100,000   from       50,000 to      110,000",
        "  ratio   2.00 (goal 0.80)",
    ]


def test_a_table_without_an_anchor_shows_the_bound() -> None:
    assert table(ALONE).splitlines()[1:] == [
        "planner, ms, lower is better, rounds: 2",
        "  ours    median           25   from           20 to           30",
        "  goal    at most 200",
    ]


def test_a_table_of_a_figure_without_a_goal_shows_the_figure_alone() -> None:
    assert len(table(replace(ALONE, goal=None)).splitlines()) == 3


def test_a_document_has_figures_ratio_and_where_they_come_from() -> None:
    written = document(RATES)
    assert written.keys() == {
        "name", "unit", "better", "ours", "anchor", "ratio", "goal", "rounds", "cores", "versions",
    }  # fmt: skip
    assert (written["ratio"], written["rounds"]) == (2.0, 3)
    assert written["versions"].keys() == {"python", "pyspark", "confluent-kafka", "kafka"}


def test_a_document_without_an_anchor_has_no_ratio() -> None:
    assert (document(ALONE)["anchor"], document(ALONE)["ratio"]) == (None, None)


def test_a_result_is_printed_and_written_under_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish(RATES, tmp_path / "results") is RATES
    assert json.loads((tmp_path / "results" / "copy.json").read_text()) == document(RATES)
    assert capsys.readouterr().out == table(RATES) + "\n"

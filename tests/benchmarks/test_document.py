"""The table of docs/performance.md is what the results say."""

from __future__ import annotations

import json

from benchmarks.document import BEGIN, END, HEAD, PAGE, row
from benchmarks.results import RESULTS, BenchmarkResult, document


def test_the_page_shows_the_results_that_are_there() -> None:
    rows = [row(json.loads(path.read_text())) for path in sorted(RESULTS.glob("*.json"))]
    assert BEGIN + HEAD + "".join(rows) + END in PAGE.read_text()


def test_a_row_holds_medians_spread_ratio_and_goal() -> None:
    result = BenchmarkResult("mirror", "records/s", [200_000.0, 100_000.0, 300_000.0], [100_000.0] * 3, 2.5)
    ours, anchor = "200 000 (100 000 – 300 000)", "100 000 (100 000 – 100 000) MirrorMaker 2"
    assert row(document(result)) == f"| mirror, records/s | {ours} | {anchor} | 2.00 | 2.5 | 3 |\n"


def test_without_an_anchor_the_goal_is_a_bound() -> None:
    assert row(document(BenchmarkResult("memory-large", "MB", [721.9], None, 750, "lower"))) == (
        "| memory-large, MB | 722 |  |  | at most 750 | 1 |\n"
    )

"""A series of runs that is stopped goes on where it was, and a run that failed is not forgotten."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.chaos.run_book import RunBook
from tests.chaos.runs import Result
from tests.chaos.verify import Verdict


def result(seed: int, *log: str, lost: int = 0) -> Result:
    verdict = Verdict(lost=tuple(range(lost)))
    return Result("sink", seed, log, Counter(log), 100, {"records": verdict}, 1.25)


def test_a_series_goes_on_behind_the_last_run_in_its_file(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "book.json"
    first = RunBook(file)
    assert (first.next_seed, first.kills) == (0, 0)
    first.add(result(0, "kill worker", "pause broker", "kill broker"))
    first.add(result(1, "kill driver"))
    second = RunBook(file)
    assert (second.next_seed, second.kills, second.runs) == (2, 3, first.runs)


def test_a_run_that_failed_stays_in_the_summary(tmp_path: Path) -> None:
    RunBook(tmp_path / "book.json").add(result(0, "kill worker", lost=2))
    book = RunBook(tmp_path / "book.json")
    book.add(result(1, "kill worker"))
    assert str(book) == "2 kills in 2 runs (2 sink)\n200 records, 2 lost, 0 doubled\n1 runs failed: seed 0 (sink)"

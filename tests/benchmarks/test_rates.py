"""Rates from what was done when."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.programs import BenchmarkProgram, run_program
from benchmarks.rates import rate, watch

FOR_EVER = "import time; print('it works', flush=True); time.sleep(600)"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[BenchmarkProgram]:
    with run_program([sys.executable, "-c", FOR_EVER], tmp_path / "log") as program:
        yield program


def test_a_rate_leaves_out_the_start_and_the_last_wait() -> None:
    slow_start, steady, waited = [(0.0, 10), (5.0, 20)], [(6.0, 120), (7.0, 220), (16.0, 1120)], [(20.0, 1150)]
    assert rate([*slow_start, *steady, *waited]) == 100


@pytest.mark.parametrize("samples", [[(1.0, 100), (3.0, 500)], [(1.0, 1), (2.0, 2), (3.0, 401)]])
def test_a_rate_of_a_short_run_takes_all_there_is(samples: list[tuple[float, int]]) -> None:
    assert rate(samples) == 200


def test_what_was_done_at_once_has_no_rate() -> None:
    with pytest.raises(RuntimeError, match="BENCH_RECORDS"):
        rate([(1.0, 100)])


def test_only_changes_are_kept_and_watching_ends_when_all_is_done(program: BenchmarkProgram) -> None:
    counts = iter([0, 3, 3, 7, 10])
    assert [done for _, done in watch(lambda: next(counts), 10, program)] == [3, 7, 10]


def test_work_that_never_ends_is_given_up(program: BenchmarkProgram) -> None:
    with pytest.raises(RuntimeError, match="3 of 10 records within 0 s"):
        watch(lambda: 3, 10, program, limit_s=0)


def test_a_program_that_ends_too_early_is_told_with_its_log(tmp_path: Path) -> None:
    with (
        run_program([sys.executable, "-c", "raise SystemExit('it broke')"], tmp_path / "log") as program,
        pytest.raises(RuntimeError, match="ended with 1:\nit broke"),
    ):
        watch(lambda: 0, 10, program)

"""`python -m benchmarks`."""

import sys
import time
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.programs import run_program

STARTS_ANOTHER = """
import sys, time
from pathlib import Path
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.programs import run_program

def run():
    with run_program([sys.executable, "-c", "import time; time.sleep(600)"], Path(sys.argv[1])) as program:
        print("started", program.pid, flush=True)
        time.sleep(600)

BENCHMARKS["slow"] = run
main(["slow"])
"""


def test_an_unknown_name_is_refused_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["connect-clean", "conect-10"]) == 2
    assert "unknown benchmark 'conect-10'; choose from: connect-clean, " in capsys.readouterr().err


@pytest.mark.slow  # two interpreters start, and one of them loads every benchmark
def test_a_benchmark_that_is_terminated_ends_what_it_started(tmp_path: Path) -> None:
    with run_program([sys.executable, "-c", STARTS_ANOTHER, str(tmp_path / "inner")], tmp_path / "outer") as program:
        while "started" not in program.tail():
            program.check()
            time.sleep(0.05)
    assert program.process.returncode == 143
    assert not Path("/proc", program.tail().split()[-1]).exists()

"""Programs that a benchmark starts."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.programs import BenchmarkProgram, run_program

FOR_EVER = "import time; print('it works', flush=True); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {FOR_EVER}"


def test_a_program_is_ended_when_the_block_fails(tmp_path: Path) -> None:
    starting = run_program([sys.executable, "-c", FOR_EVER], tmp_path / "log")
    with pytest.raises(ZeroDivisionError), starting as program:
        _ = 1 / 0
    assert program.process.poll() == -signal.SIGTERM


def test_a_program_that_does_not_listen_is_ended_by_force(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=output)
    program = BenchmarkProgram(process, log, stop_timeout_s=0.1)
    while "it works" not in program.tail():
        time.sleep(0.01)
    assert program.stop() == -signal.SIGKILL


def test_a_program_gets_our_environment_and_what_is_added(tmp_path: Path) -> None:
    code = "import os; print(os.environ['PATH'], os.environ['MORE'])"
    with run_program([sys.executable, "-c", code], tmp_path / "deep" / "log", env={"MORE": "yes"}) as program:
        assert program.process.wait() == 0
    assert program.tail() == f"{os.environ['PATH']} yes\n"

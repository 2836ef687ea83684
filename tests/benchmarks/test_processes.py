"""What processes take, as Linux tells it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from benchmarks.processes import family, watch_family


def test_a_program_is_counted_with_what_it_has_started() -> None:
    with subprocess.Popen(["/bin/sh", "-c", "sleep 30 & wait"]) as shell:
        late = time.monotonic() + 10
        while not (found := [one.pid for one in family(shell.pid) if one.command == "sleep 30"]):
            assert time.monotonic() < late
            time.sleep(0.01)
        os.kill(found[0], signal.SIGTERM)


def test_a_process_has_taken_cpu_and_memory() -> None:
    [own, *_] = family(os.getpid())
    assert sys.executable.rpartition("/")[2][:6] in own.command
    assert own.cpu_s > 0
    assert own.peak_mb > 10


def test_who_has_ended_takes_nothing() -> None:
    with subprocess.Popen(["true"]) as done:
        done.wait()
    assert family(done.pid) == []


def test_who_ends_while_it_is_watched_is_still_seen() -> None:
    with watch_family(os.getpid()) as seen:
        with subprocess.Popen(["sleep", "30"]) as child:
            late = time.monotonic() + 10
            while child.pid not in seen and time.monotonic() < late:
                time.sleep(0.01)
            child.kill()
        while family(child.pid):
            time.sleep(0.01)
    assert seen[child.pid].peak_mb > 0

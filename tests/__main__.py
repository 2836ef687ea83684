"""`python -m tests [-k …]`: runs the suites, each against its real parts, and closes with one line of totals.

Each suite is a pytest process of its own (the frontend's is vitest); what is on the command line goes to pytest. The
broker's suite mostly waits (for restarts, time-outs, takeovers), so it runs in two halves, and those that compute run
beside it; suites that are about time and the whole product run alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TextIO

from tests.support.postgres import Postgres

ROOT = Path(__file__).resolve().parent.parent
NOTHING_COLLECTED = 5  # pytest's exit code when -k leaves no test of a suite


class Suite(NamedTuple):
    """A suite: its name, what pytest is told, and whether the database is PostgreSQL."""

    name: str
    arguments: tuple[str, ...]
    postgres: bool = False


class Counts(NamedTuple):
    """What became of the tests of a suite."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: object) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        return Counts(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


BROKER = Suite("broker", ("tests", "-m", "broker", "--numprocesses", "2", "--dist", "loadfile"))
COMPUTING = (
    Suite("unit, SQLite", ("tests", "-m", "unit")),
    Suite("dashboard, PostgreSQL", ("tests/dlqadmin", "-m", "unit"), postgres=True),
)
ALONE = tuple(Suite(name, ("tests", "-m", name)) for name in ("spark", "chaos", "browser"))
SUITES = (*COMPUTING, BROKER, *ALONE)


def main(arguments: list[str]) -> int:
    """Run all suites; 0 if no test failed and at least one passed."""
    with ThreadPoolExecutor(1) as beside:
        broker = beside.submit(run, BROKER, arguments, aside=True)
        total = sum((run(suite, arguments) for suite in COMPUTING), Counts())
        if not arguments:
            print("\n── frontend ──", flush=True)
            total += run_vitest()
        total += broker.result()
    total = sum((run(suite, arguments) for suite in ALONE), total)
    print(f"\n{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed or not total.passed else 0


def run(suite: Suite, arguments: list[str], *, aside: bool = False) -> Counts:
    """Run one suite and say how it went; what runs aside keeps its words until its end."""
    started = time.monotonic()
    if not aside:
        print(f"\n── {suite.name} ──", flush=True)
    with tempfile.TemporaryFile("w+") as words:
        counts = run_pytest(suite, arguments, words if aside else None)
        if aside:
            words.seek(0)
            print(f"\n── {suite.name} ──\n{words.read()}", flush=True)
    print(f"   {suite.name}: {counts.passed} passed in {time.monotonic() - started:.0f} s", flush=True)
    return counts


def run_pytest(suite: Suite, arguments: list[str], output: TextIO | None) -> Counts:
    """Run one suite and count; a suite that ends without a report counts as one failure."""
    with database(suite) as env, tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *suite.arguments, *arguments]
        code = subprocess.run(command, cwd=ROOT, env=env, stdout=output, stderr=output, check=False).returncode
        if code == NOTHING_COLLECTED:
            return Counts()
        counts = read_report(report)
    return counts if counts.failed or code == 0 else counts + Counts(failed=1)


def run_vitest() -> Counts:
    """Run the frontend's tests and count."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.xml")
        reporters = ["--reporter=default", "--reporter=junit", f"--outputFile.junit={report}"]
        command = ["npm", "--prefix", "frontend", "run", "--silent", "test", "--", *reporters]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        counts = read_report(report)
    return counts if counts.failed or code == 0 else counts + Counts(failed=1)


def read_report(report: Path) -> Counts:
    """Count the cases of a JUnit report; one failure if there is none."""
    if not report.exists():
        return Counts(failed=1)
    cases = [{child.tag for child in case} for case in ET.parse(report).iter("testcase")]
    failed = sum(bool(tags & {"failure", "error"}) for tags in cases)
    skipped = sum("skipped" in tags for tags in cases)
    return Counts(len(cases) - failed - skipped, failed, skipped)


@contextmanager
def database(suite: Suite) -> Iterator[dict[str, str]]:
    """Yield the environment of a suite, with a PostgreSQL server of its own where it wants one."""
    if not suite.postgres:
        yield dict(os.environ)
        return
    server = Postgres().start()
    try:
        yield {**os.environ, "DATABASE_URL": server.url}
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

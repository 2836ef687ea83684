"""`python -m tests [-k …]`: runs the suites, each against its real parts, and closes with one line of totals.

Each suite is a pytest process of its own (the frontend's is vitest); what is on the command line goes to pytest.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

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


SUITES = (
    Suite("unit, SQLite", ("tests", "-m", "unit")),
    Suite("dashboard, PostgreSQL", ("tests/dlqadmin", "-m", "unit"), postgres=True),
    Suite("broker", ("tests", "-m", "broker")),
    Suite("spark", ("tests", "-m", "spark")),
    Suite("browser", ("tests", "-m", "browser")),
)


def main(arguments: list[str]) -> int:
    """Run all suites; 0 if no test failed and at least one passed."""
    total = Counts()
    for suite in SUITES:
        started = time.monotonic()
        print(f"\n── {suite.name} ──", flush=True)
        counts = run_pytest(suite, arguments)
        total += counts
        print(f"   {suite.name}: {counts.passed} passed in {time.monotonic() - started:.0f} s", flush=True)
    if not arguments:
        print("\n── frontend ──", flush=True)
        total += run_vitest()
    print(f"\n{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed or not total.passed else 0


def run_pytest(suite: Suite, arguments: list[str]) -> Counts:
    """Run one suite and count; a suite that ends without a report counts as one failure."""
    with database(suite) as env, tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *suite.arguments, *arguments]
        code = subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
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

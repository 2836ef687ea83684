"""`python -m tests [-k …]`: runs the suites, each against its real parts, and closes with one line of totals.

Each suite is a pytest process of its own (the frontend's is vitest); what is on the command line goes to pytest. The
broker's suite mostly waits (for restarts, time-outs, takeovers), so it runs in two halves, and beside it what only
computes; the dashboard's on PostgreSQL takes both processors, and suites that are about time and the whole product run
alone.

What fails in a suite against real parts may have failed by the machine's load alone. Where such a suite ran to its end
with three failures at most, those run once more after everything else, by themselves. One that passes then has passed,
and the summary names it with what it failed of first.
"""

from __future__ import annotations

import os
import re
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

from demo.postgres import Postgres

ROOT = Path(__file__).resolve().parent.parent
NOTHING_COLLECTED = 5  # pytest's exit code when -k leaves no test of a suite
TESTS_FAILED = 1  # pytest's exit code of a run that came to its end
LISTED, SLOW_S = 10, 1.0  # of each suite's slowest tests
TRIED_AGAIN = 3  # failures of a suite; where there are more, it is not the load
CHATTER = re.compile(r"%\d\|")  # librdkafka's own log: thousands of lines about brokers that tests have killed


class Suite(NamedTuple):
    """A suite: its name, what pytest is told, whether the database is PostgreSQL, whether failures are tried again."""

    name: str
    arguments: tuple[str, ...]
    postgres: bool = False
    again: bool = False


class Failure(NamedTuple):
    """A test of a suite, "" for the suite itself, and the first line of what it failed of."""

    suite: str
    test: str
    said: str

    @property
    def where(self) -> str:
        """The suite, and the test if it is one that failed."""
        return f"{self.suite}: {self.test}" if self.test else self.suite


class Counts(NamedTuple):
    """What became of the tests of a suite. Of those that passed, `late` are what made some fail at their first try."""

    passed: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    skipped: int = 0
    late: tuple[Failure, ...] = ()

    def __add__(self, other: object) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        return Counts(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


BROKER = Suite(
    "broker",
    (
        *("tests/benchmarks", "tests/broker", "tests/demo", "tests/dlqadmin/broker"),
        *("-m", "broker", "--numprocesses", "2", "--dist", "loadfile"),
    ),
    again=True,
)
UNIT = Suite("unit, SQLite", ("tests", "-m", "unit"))
ALONE = (
    Suite(
        "dashboard, PostgreSQL",
        ("tests/dlqadmin", "-m", "unit", "--numprocesses", "2", "--dist", "loadfile"),
        postgres=True,
    ),
    Suite("spark", ("tests/spark", "-m", "spark"), again=True),
    Suite("chaos", ("tests/chaos", "-m", "chaos"), again=True),
    Suite("browser", ("tests/browser", "tests/demo", "-m", "browser"), again=True),
)
SUITES = (UNIT, BROKER, *ALONE)


def is_run(mark: str, path: Path) -> bool:
    """Tell whether a suite looks for tests with that mark in that file: to collect all of them takes 13 s each time."""
    rooms = (room for suite in SUITES if mark in suite.arguments for room in suite.arguments)
    return any(path.is_relative_to(ROOT / room) for room in rooms if room.startswith("tests"))


def main(arguments: list[str]) -> int:
    """Run all suites; 0 if no test failed and at least one passed."""
    with tempfile.TemporaryDirectory() as caches:
        total = sum(run_all(arguments, Path(caches)), Counts())
    print("\n" + "\n".join(summary(total)))
    return 1 if total.failures or not total.passed else 0


def summary(total: Counts) -> list[str]:
    """Name each test that passed at its second try and each that failed; then the totals, a line."""
    return [
        *(f"passed at its second try, alone: {late.where}: {late.said}" for late in total.late),
        *(f"FAILED {failure.where}: {failure.said}" for failure in total.failures),
        f"{len(total.passed)} passed, {len(total.failures)} failed, {total.skipped} skipped",
    ]


def run_all(arguments: list[str], caches: Path) -> Iterator[Counts]:
    """Yield what became of each suite; what may be tried again is, when all have ended."""
    tried: dict[Suite, Counts] = {}
    with ThreadPoolExecutor(1) as beside:
        broker = beside.submit(run, BROKER, arguments, caches, aside=True)
        yield run(UNIT, arguments, caches)
        if not arguments:
            print("\n── frontend ──", flush=True)
            yield run_vitest()
        tried[BROKER] = broker.result()
    tried.update((suite, run(suite, arguments, caches)) for suite in ALONE)
    yield from [try_again(suite, counts, arguments, caches) for suite, counts in tried.items()]


def try_again(suite: Suite, first: Counts, arguments: list[str], caches: Path) -> Counts:
    """Run what failed once more, one after the other; what does not pass then, for whatever reason, has failed."""
    failures = first.failures
    if not suite.again or not 0 < len(failures) <= TRIED_AGAIN or not all(failure.test for failure in failures):
        return first
    failed = ("--last-failed", "--last-failed-no-failures", "none", "--numprocesses", "0")
    alone = suite._replace(name=f"{suite.name}, what failed, alone", arguments=suite.arguments + failed)
    passed = {*run(alone, arguments, caches, cache=suite.name).passed}
    late = tuple(failure for failure in failures if failure.test in passed)
    left = tuple(failure for failure in failures if failure.test not in passed)
    return Counts(first.passed + tuple({failure.test for failure in late}), left, first.skipped, late)


def run(suite: Suite, arguments: list[str], caches: Path, *, aside: bool = False, cache: str = "") -> Counts:
    """Run one suite and say how it went; what runs aside keeps its words until its end."""
    started = time.monotonic()
    if not aside:
        print(f"\n── {suite.name} ──", flush=True)
    own = ("-o", f"cache_dir={caches / (cache or suite.name)}") if suite.again else ()
    options = [*own, *suite.arguments, *arguments]
    with tempfile.TemporaryFile("w+") as words:
        counts = run_pytest(suite, options, words if aside else None)
        if aside:
            words.seek(0)
            print(f"\n── {suite.name} ──\n{words.read()}", flush=True)
    print(f"   {suite.name}: {len(counts.passed)} passed in {time.monotonic() - started:.0f} s", flush=True)
    return counts


def run_pytest(suite: Suite, options: list[str], output: TextIO | None) -> Counts:
    """Run one suite and count; a suite that ends without a report counts as one failure."""
    with database(suite) as env, tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *options]
        pytest = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        with pytest:
            for line in pytest.stdout or ():
                if not CHATTER.match(line):
                    print(line, end="", file=output, flush=True)
        if pytest.returncode == NOTHING_COLLECTED:
            return Counts()
        print("\n".join(slowest(report)), file=output, flush=True)
        return read_report(report, suite.name, pytest.returncode)


def run_vitest() -> Counts:
    """Run the frontend's tests and count."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.xml")
        reporters = ["--reporter=default", "--reporter=junit", f"--outputFile.junit={report}"]
        command = ["npm", "--prefix", "frontend", "run", "--silent", "test", "--", *reporters]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        print("\n".join(slowest(report)), flush=True)
        return read_report(report, "frontend", code)


def read_report(report: Path, suite: str, code: int) -> Counts:
    """Count the cases of a JUnit report; a suite that broke off, or failed without a failed case, has failed itself."""
    passed, failures, skipped = [], [], 0
    for case in cases_of(report):
        trouble = next((child for child in case if child.tag in ("failure", "error")), None)
        if trouble is not None:
            failures.append(Failure(suite, name_of(case), first_line(trouble.get("message", ""))))
        elif any(child.tag == "skipped" for child in case):
            skipped += 1
        else:
            passed.append(name_of(case))
    if code not in (0, TESTS_FAILED) or (code and not failures):
        failures.append(Failure(suite, "", f"ended with {code}"))
    return Counts(tuple(passed), tuple(failures), skipped)


def slowest(report: Path) -> list[str]:
    """The tests of a JUnit report that took longest, with what they set up: a line each, the longest first."""
    took = sorted(((float(case.get("time", 0)), name_of(case)) for case in cases_of(report)), reverse=True)
    return [f"{seconds:7.1f} s  {name}" for seconds, name in took[:LISTED] if seconds >= SLOW_S]


def cases_of(report: Path) -> list[ET.Element]:
    """Return the cases of a JUnit report; none where there is no report."""
    return list(ET.parse(report).iter("testcase")) if report.exists() else []


def name_of(case: ET.Element) -> str:
    """Return where a case is, and what it is called."""
    return f"{case.get('classname')}.{case.get('name')}"


def first_line(message: str) -> str:
    """Return what of a failure's message fits a summary: a line of 300 characters at most."""
    return message.strip().partition("\n")[0][:300]


@contextmanager
def database(suite: Suite) -> Iterator[dict[str, str]]:
    """Yield the environment of a suite, with a PostgreSQL server of its own where it wants one.

    What Python compiles it keeps, whatever it was told: the suites start hundreds of processes of the same modules.
    """
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    if not suite.postgres:
        yield env
        return
    server = Postgres().start()
    try:
        yield {**env, "DATABASE_URL": server.url}
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m tests [fast|test|soak|images|interop] [pytest's options]`: run a plan's suites, and print the totals.

Each suite is one pytest process (the frontend's is vitest), and has a broker or a PostgreSQL server of its own where
it needs one. Its JUnit report and its log stay in `.local/tests`. No test gets a second try: a test that fails
sometimes is repaired.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

from demo.postgres import LocalPostgres
from tests.junit_report import Counts, read_report, slowest, summary
from tests.suites import PLANS, ROOT, VITEST, Suite
from tests.support.broker import BROKER_VARIABLE, lasting_broker
from tests.support.schema_registry import REGISTRY_VARIABLE, LocalSchemaRegistry

PASSED, FAILED, NOTHING_COLLECTED = 0, 1, 5  # pytest's exit codes; the last if the options leave no test of a suite
LOGS = ROOT / ".local" / "tests"
LAST_LINES = 60


def main(arguments: list[str]) -> int:
    """Run one plan; return 0 if no test failed and at least one passed."""
    plan = arguments.pop(0) if arguments and arguments[0] in PLANS else "test"
    started = time.monotonic()
    lanes = [lane if not arguments else without_vitest(lane) for lane in PLANS[plan]]
    with ThreadPoolExecutor(len(lanes)) as beside:
        run_one = partial(run_lane, arguments=arguments, soak=plan == "soak")
        others = [beside.submit(run_one, lane, quietly=True) for lane in lanes[1:]]
        total = sum((one.result() for one in others), run_one(lanes[0], quietly=False))
    print("\n" + "\n".join(summary(total)) + f" in {time.monotonic() - started:.0f} s")
    return 1 if total.failures or not total.passed else 0


def without_vitest(lane: tuple[Suite, ...]) -> tuple[Suite, ...]:
    """Return the lane without vitest, which does not know pytest's options."""
    return tuple(suite for suite in lane if suite is not VITEST)


def run_lane(lane: tuple[Suite, ...], arguments: list[str], *, soak: bool, quietly: bool) -> Counts:
    """Run suites one after the other. Each prints as it runs, or `quietly`: when it has ended."""
    total = Counts()
    for suite in lane:
        if not quietly:
            print(f"\n── {suite.name} ──", flush=True)
            total += run(suite, arguments, None, soak=soak)
            continue
        with tempfile.TemporaryFile("w+") as output:
            total += run(suite, arguments, output, soak=soak)
            output.seek(0)
            print(f"\n── {suite.name} ──\n{output.read()}", end="", flush=True)
    return total


def run(suite: Suite, arguments: list[str], output: TextIO | None, *, soak: bool = False) -> Counts:
    """Run one suite and count its tests; a suite that ends without a report counts as one failure."""
    started = time.monotonic()
    tell = partial(print, file=output, flush=True)
    file_name = re.sub(r"[^a-z]+", "-", suite.name.lower())
    log = LOGS / f"{file_name}.log"
    LOGS.mkdir(parents=True, exist_ok=True)
    with services(suite) as env, tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.xml")
        with error_output(suite, log) as errors:
            process = subprocess.Popen(
                command(suite, report, arguments, soak=soak),
                cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace",
            )  # fmt: skip
            with process:
                for line in process.stdout or ():
                    tell(line, end="")
        if process.returncode == NOTHING_COLLECTED:
            return Counts()
        if process.returncode not in {PASSED, FAILED} and suite is not VITEST:
            tell(f"{suite.name} ended with {process.returncode}; the end of {log}:")
            tell("".join(log.read_text(errors="replace").splitlines(keepends=True)[-LAST_LINES:]))
        for line in slowest(report):
            tell(line)
        counts = read_report(report, suite.name, process.returncode)
        if report.exists():
            shutil.copy(report, LOGS / f"{file_name}.xml")
    tell(f"   {suite.name}: {counts.passed} passed in {time.monotonic() - started:.0f} s")
    return counts


@contextmanager
def error_output(suite: Suite, log: Path) -> Iterator[int]:
    """Yield a descriptor for the errors of a suite's process.

    Pytest reports on its standard output. Its standard error holds librdkafka's own log, with thousands of lines about
    brokers that tests have killed, so it goes to a file.
    """
    if suite is VITEST:
        yield subprocess.STDOUT
        return
    with log.open("wb") as file:
        yield file.fileno()


def command(suite: Suite, report: Path, arguments: list[str], *, soak: bool) -> list[str]:
    """Return the command that runs a suite and writes a JUnit report."""
    politely = ["nice", "-n", str(suite.nice)] if suite.nice else []
    if suite is VITEST:
        reporters = ["--reporter=default", "--reporter=junit", f"--outputFile.junit={report}"]
        return [*politely, "npm", "--prefix", "frontend", "run", "--silent", "test", "--", *reporters]
    options = ["-q", f"--junitxml={report}", *suite.options(soak=soak), *arguments]
    return [*politely, sys.executable, "-m", "pytest", *options]


@contextmanager
def services(suite: Suite) -> Iterator[dict[str, str]]:
    """Start the services that a suite's processes share; yield the environment that names them.

    Python keeps its bytecode whatever the caller's setting: the suites start hundreds of processes of the same modules.
    """
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    with ExitStack() as stack:
        if suite.with_broker:
            home = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            broker = lasting_broker(Path(home, "broker")).start()
            stack.callback(broker.stop)
            env[BROKER_VARIABLE] = broker.bootstrap_servers
        if suite.with_registry:
            registry = LocalSchemaRegistry().start()
            stack.callback(registry.stop)
            env[REGISTRY_VARIABLE] = registry.url
        if suite.with_postgres:
            server = LocalPostgres().start()
            stack.callback(server.stop)
            env["DATABASE_URL"] = server.url
        yield env


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Counts of passed, failed and skipped tests, read from JUnit reports."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import NamedTuple

TESTS_FAILED = 1  # pytest's exit code after a whole run with failures
LISTED, SLOW_S = 10, 1.0


class Failure(NamedTuple):
    """A failed test (or "" for the suite itself) and the first line of its message."""

    suite: str
    test: str
    message: str

    def __str__(self) -> str:
        where = f"{self.suite}: {self.test}" if self.test else self.suite
        return f"{where}: {self.message}"


class Counts(NamedTuple):
    """The tests of one or more suites: how many passed, which failed, how many were skipped."""

    passed: int = 0
    failures: tuple[Failure, ...] = ()
    skipped: int = 0

    def __add__(self, other: object) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        return Counts(self.passed + other.passed, self.failures + other.failures, self.skipped + other.skipped)


def summary(total: Counts) -> list[str]:
    """Return one line for each failure, then one line with the totals."""
    return [
        *(f"FAILED {failure}" for failure in total.failures),
        f"{total.passed} passed, {len(total.failures)} failed, {total.skipped} skipped",
    ]


def read_report(report: Path, suite: str, code: int) -> Counts:
    """Count the cases of a report. A suite that ended early, or failed without a failed case, is itself a failure."""
    failures, passed, skipped = [], 0, 0
    for case in _cases(report):
        problem = next((child for child in case if child.tag in ("failure", "error")), None)
        if problem is not None:
            failures.append(Failure(suite, _name(case), _first_line(problem.get("message", ""))))
        elif any(child.tag == "skipped" for child in case):
            skipped += 1
        else:
            passed += 1
    if code not in (0, TESTS_FAILED) or (code and not failures):
        failures.append(Failure(suite, "", f"ended with {code}"))
    return Counts(passed, tuple(failures), skipped)


def slowest(report: Path) -> list[str]:
    """Return one line for each of the ten longest cases of at least a second, with their set-up, the longest first."""
    took = sorted(((float(case.get("time", 0)), _name(case)) for case in _cases(report)), reverse=True)
    return [f"{seconds:7.1f} s  {name}" for seconds, name in took[:LISTED] if seconds >= SLOW_S]


def _cases(report: Path) -> list[ET.Element]:
    return list(ET.parse(report).iter("testcase")) if report.exists() else []


def _name(case: ET.Element) -> str:
    return f"{case.get('classname')}.{case.get('name')}"


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0][:300]

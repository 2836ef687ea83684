"""How `python -m tests` counts."""

from pathlib import Path

import pytest

from tests.__main__ import SUITES, Counts, read_report

REPORT = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"><failure/></testcase><testcase name="c"><error/></testcase>
<testcase name="d"><skipped/></testcase><testcase name="e"/>
</testsuite></testsuites>"""


def test_a_report_is_counted_case_by_case(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert read_report(report) == Counts(passed=2, failed=2, skipped=1)


def test_a_suite_that_leaves_no_report_has_failed(tmp_path: Path) -> None:
    assert read_report(tmp_path / "none.xml") == Counts(failed=1)


def test_counts_add_up() -> None:
    assert Counts(1, 2, 3) + Counts(4, 5, 6) == Counts(5, 7, 9)


def test_every_mark_has_a_suite(pytestconfig: pytest.Config) -> None:
    marks = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    run = {suite.arguments[suite.arguments.index("-m") + 1] for suite in SUITES}
    assert {"unit", "broker", "spark", "chaos", "browser"} <= marks
    assert run == {"unit", "broker", "spark", "chaos", "browser"}

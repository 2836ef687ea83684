"""The plans of `python -m tests`, and the way in which it counts."""

import gc
from pathlib import Path

import pytest

from tests.__main__ import run, without_vitest
from tests.junit_report import Counts, Failure, read_report, slowest, summary
from tests.suites import (
    IMAGES,
    INTEROP,
    PLANS,
    ROOT,
    SUITES,
    UNIT,
    UNIT_TEST,
    VITEST,
    Suite,
    is_collected,
    is_collected_on_postgres,
)

REPORT = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"><failure/></testcase><testcase name="c"><error/></testcase>
<testcase name="d"><skipped/></testcase><testcase name="e"/>
</testsuite></testsuites>"""
SERVICES = {"broker", "spark", "chaos", "browser", "images", "interop"}


def test_a_report_is_counted_case_by_case(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    counts = read_report(report, "unit", 1)
    assert (counts.passed, [failure.suite for failure in counts.failures], counts.skipped) == (2, 2 * ["unit"], 1)


def test_a_failure_shows_the_first_line_of_its_message_up_to_300_characters(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    cases = [f'<testcase classname="t" name="a"><failure message="{m}"/></testcase>' for m in ("x&#10;y", "z" * 999)]
    report.write_text(f"<testsuite>{''.join(cases)}</testsuite>")
    assert read_report(report, "unit", 1).failures == (
        Failure("unit", "t.a", "x"),
        Failure("unit", "t.a", "z" * 300),
    )


def test_the_ten_slowest_cases_of_a_second_or_more_are_named(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    cases = [f'<testcase classname="t" name="n{number}" time="{number / 2}"/>' for number in range(20)]
    report.write_text(f"<testsuite>{''.join(cases)}</testsuite>")
    found = slowest(report)
    assert (len(found), found[0].split()) == (10, ["9.5", "s", "t.n19"])
    report.write_text(f"<testsuite>{''.join(cases[:4])}</testsuite>")
    assert [line.split()[-1] for line in slowest(report)] == ["t.n3", "t.n2"]
    assert slowest(tmp_path / "none.xml") == []


def test_a_suite_without_a_report_has_failed(tmp_path: Path) -> None:
    assert read_report(tmp_path / "none.xml", "unit", 2) == Counts(failures=(Failure("unit", "", "ended with 2"),))


def test_a_suite_that_ends_badly_without_a_failed_case_has_failed(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text('<testsuites><testsuite><testcase name="a"/></testsuite></testsuites>')
    assert read_report(report, "unit", 3).failures == (Failure("unit", "", "ended with 3"),)


def test_a_suite_that_ends_early_after_a_failed_case_is_a_failure_too(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert read_report(report, "unit", 2).failures[2:] == (Failure("unit", "", "ended with 2"),)


def test_counts_add_up() -> None:
    a, b = (Failure("unit", test, "no") for test in "ab")
    assert Counts(1, (a,), 3) + Counts(1, (b,), 6) == Counts(2, (a, b), 9)


def test_the_summary_names_each_failure() -> None:
    assert summary(Counts(2, (Failure("s", "t.b", "no"), Failure("s", "", "ended with 2")), 1)) == [
        "FAILED s: t.b: no",
        "FAILED s: ended with 2",
        "2 passed, 2 failed, 1 skipped",
    ]


@pytest.mark.slow
def test_a_suite_is_run_with_its_mark_and_counted(tmp_path: Path) -> None:
    Path(tmp_path, "test_own.py").write_text(
        "import pytest\n"
        "def test_passes(): pass\n"
        "def test_fails(): assert False\n"
        "@pytest.mark.soak\ndef test_long(): pass\n"
    )
    own = Suite("own", (str(tmp_path),), "not browser")
    counts = run(own, [], None)
    assert (counts.passed, [failure.test.rpartition(".")[2] for failure in counts.failures]) == (1, ["test_fails"])


def test_a_suite_leaves_the_soak_tests_out_or_runs_no_others() -> None:
    own = Suite("own", ("tests",), "unit", also="sql")
    assert own.options() == ["tests", "-m", "unit and sql and not soak"]
    random = ["--hypothesis-profile", "random"]
    assert own.options(soak=True) == ["tests", "-m", "unit and sql and (soak or hypothesis or sql)", *random]


def test_a_suite_of_which_the_options_leave_no_test_has_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tests.__main__.command", lambda *_, **__: ["sh", "-c", f"exit {pytest.ExitCode.NO_TESTS_COLLECTED}"]
    )
    assert run(UNIT, [], None) == Counts()


def test_the_errors_of_a_suites_process_are_shown_only_if_it_ends_badly(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = []
    for code in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERNAL_ERROR):
        said = ["sh", "-c", f"printf ..; echo '%3|FAIL| chatter' >&2; exit {code}"]
        monkeypatch.setattr("tests.__main__.command", lambda *_, said=said, **__: said)
        run(Suite("own", (), "unit"), [], None)
        shown.append("chatter" in capfd.readouterr().out)
    assert shown == [False, True]


def test_each_suite_of_the_soak_plan_is_run_without_its_soak_tests_by_the_test_plan() -> None:
    planned = {name: {suite for stage in stages for suite in stage} for name, stages in PLANS.items()}
    left_out = {suite for suite in SUITES if suite.mark in {"chaos", "images", "interop"}}
    assert planned["test"] == {UNIT_TEST, *SUITES, VITEST} - {UNIT} - left_out
    assert planned["soak"] == set(SUITES) - {IMAGES, INTEROP}
    assert (planned["images"], planned["interop"]) == ({IMAGES}, {INTEROP})
    assert {suite.mark for suite in planned["fast"]} == {"unit", ""}
    assert without_vitest((UNIT, VITEST)) == (UNIT,)


def test_every_mark_has_a_suite(pytestconfig: pytest.Config) -> None:
    marks = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    assert {suite.mark for suite in SUITES} == {"unit", *SERVICES}
    assert {suite.mark for suite in SUITES} <= marks


@pytest.mark.parametrize(
    ("mark", "where", "expected"),
    [
        ("unit", "engine/test_any_cluster.py", True),
        ("broker", "broker/test_lease.py", True),
        ("broker", "dlqadmin/broker/test_broker.py", True),
        ("broker", "dlqadmin/test_elsewhere.py", False),
        ("browser", "demo/test_main_job.py", True),
        ("interop", "interop/test_writers.py", True),
        ("browser", "spark/test_kills.py", False),
    ],
)
def test_a_suite_collects_its_own_rooms_only(mark: str, where: str, expected: bool) -> None:
    assert is_collected(mark, ROOT / "tests" / where) is expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [("dlqadmin/audit/test_views.py", True), ("security/test_tokens.py", True), ("engine/test_any_cluster.py", False)],
)
def test_tests_of_sql_run_on_postgresql_or_are_refused(where: str, expected: bool) -> None:
    assert is_collected_on_postgres(ROOT / "tests" / where) is expected


def test_no_collection_of_garbage_looks_through_the_tests(request: pytest.FixtureRequest) -> None:
    gc.collect()
    assert not any(one is request.node for one in gc.get_objects())

"""How `python -m tests` counts, and what it tries again."""

import gc
from pathlib import Path

import pytest

from tests.__main__ import ROOT, SUITES, Counts, Failure, Suite, is_run, read_report, run, slowest, summary, try_again

REPORT = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"><failure/></testcase><testcase name="c"><error/></testcase>
<testcase name="d"><skipped/></testcase><testcase name="e"/>
</testsuite></testsuites>"""
FLAKY = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range({flaky}))
def test_once_more(number):
    seen = Path(__file__).with_name(f"seen-{{number}}")
    if not seen.exists():
        seen.touch()
        raise TimeoutError("too late")

def test_never():
    assert {never}

def test_at_once():
    with Path(__file__).with_name("at-once").open("a") as ran:
        ran.write("x")
"""


def test_a_report_is_counted_case_by_case(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    counts = read_report(report, "unit", 1)
    assert (len(counts.passed), [failure.suite for failure in counts.failures], counts.skipped) == (2, 2 * ["unit"], 1)


def test_of_a_failure_the_first_line_is_told_up_to_300_characters(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    cases = [f'<testcase classname="t" name="a"><failure message="{m}"/></testcase>' for m in ("x&#10;y", "z" * 999)]
    report.write_text(f"<testsuite>{''.join(cases)}</testsuite>")
    assert read_report(report, "unit", 1).failures == (
        Failure("unit", "t.a", "x"),
        Failure("unit", "t.a", "z" * 300),
    )


def test_the_ten_slowest_are_named_where_they_took_a_second(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    cases = [f'<testcase classname="t" name="n{number}" time="{number / 2}"/>' for number in range(20)]
    report.write_text(f"<testsuite>{''.join(cases)}</testsuite>")
    found = slowest(report)
    assert (len(found), found[0].split()) == (10, ["9.5", "s", "t.n19"])
    report.write_text(f"<testsuite>{''.join(cases[:4])}</testsuite>")
    assert [line.split()[-1] for line in slowest(report)] == ["t.n3", "t.n2"]
    assert slowest(tmp_path / "none.xml") == []


def test_a_suite_that_leaves_no_report_has_failed(tmp_path: Path) -> None:
    assert read_report(tmp_path / "none.xml", "unit", 2) == Counts(failures=(Failure("unit", "", "ended with 2"),))


def test_a_suite_that_ends_badly_without_a_failed_case_has_failed(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text('<testsuites><testsuite><testcase name="a"/></testsuite></testsuites>')
    assert read_report(report, "unit", 3).failures == (Failure("unit", "", "ended with 3"),)


def test_a_suite_that_breaks_off_after_a_failed_case_has_failed_itself_too(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert read_report(report, "unit", 2).failures[2:] == (Failure("unit", "", "ended with 2"),)


def test_counts_add_up() -> None:
    a, b = (Failure("unit", test, "no") for test in "ab")
    assert Counts(("c",), (a,), 3, (b,)) + Counts(("d",), (b,), 6) == Counts(("c", "d"), (a, b), 9, (b,))


def test_what_passed_at_its_second_try_is_named_and_not_among_the_failures() -> None:
    late, failed, ended = Failure("s", "t.a", "late"), Failure("s", "t.b", "no"), Failure("s", "", "ended with 2")
    assert summary(Counts(("t.a", "t.c"), (failed, ended), 1, (late,))) == [
        "passed at its second try, alone: s: t.a: late",
        "FAILED s: t.b: no",
        "FAILED s: ended with 2",
        "2 passed, 2 failed, 1 skipped",
    ]


def twice(home: Path, *more: str, flaky: int, never: bool, again: bool = True) -> tuple[Counts, Counts]:
    """What becomes of a suite at its first try, and when what failed was tried again."""
    Path(home, "test_flaky.py").write_text(FLAKY.format(flaky=flaky, never=never))
    suite = Suite("flaky, a suite", (str(home), *more), again=again)
    first = run(suite, [], home / "caches")
    return first, try_again(suite, first, [], home / "caches")


def test_what_failed_runs_once_more_and_nothing_else_does(tmp_path: Path) -> None:
    first, second = twice(tmp_path, "--numprocesses", "2", "--dist", "loadfile", flaky=2, never=False)
    assert (len(first.passed), len(first.failures), first.late) == (1, 3, ())
    assert [failure.test.rpartition(".")[2] for failure in second.failures] == ["test_never"]
    assert {failure.said for failure in second.late} == {"TimeoutError: too late"}
    assert sorted(name.rpartition(".")[2] for name in second.passed) == [
        "test_at_once",
        "test_once_more[0]",
        "test_once_more[1]",
    ]
    assert Path(tmp_path, "at-once").read_text() == "x"


@pytest.mark.parametrize(("flaky", "again"), [(4, True), (1, False)])
def test_many_failures_and_those_of_a_suite_without_excuse_stay(tmp_path: Path, flaky: int, again: bool) -> None:
    first, second = twice(tmp_path, flaky=flaky, never=True, again=again)
    assert len(first.failures) == flaky
    assert second == first


def test_a_suite_that_ended_badly_is_not_tried_again(tmp_path: Path) -> None:
    Path(tmp_path, "test_flaky.py").write_text("def test(): pass")
    first = Counts((), (Failure("s", "t.a", "no"), Failure("s", "", "ended with 2")))
    assert try_again(Suite("s", (str(tmp_path),), again=True), first, [], tmp_path / "caches") is first


def test_only_suites_against_real_parts_are_tried_again() -> None:
    assert {suite.arguments[suite.arguments.index("-m") + 1] for suite in SUITES if suite.again} == {
        "broker",
        "spark",
        "chaos",
        "browser",
    }


def test_every_mark_has_a_suite(pytestconfig: pytest.Config) -> None:
    marks = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    run = {suite.arguments[suite.arguments.index("-m") + 1] for suite in SUITES}
    assert {"unit", "broker", "spark", "chaos", "browser"} <= marks
    assert run == {"unit", "broker", "spark", "chaos", "browser"}


@pytest.mark.parametrize(
    ("mark", "where", "wanted"),
    [
        ("unit", "engine/test_any_cluster.py", True),
        ("broker", "broker/test_lease.py", True),
        ("broker", "dlqadmin/broker/test_broker.py", True),
        ("broker", "dlqadmin/test_elsewhere.py", False),
        ("browser", "demo/test_main_job.py", True),
        ("browser", "spark/test_kills.py", False),
    ],
)
def test_a_test_where_no_suite_looks_for_it_is_seen(mark: str, where: str, wanted: bool) -> None:
    assert is_run(mark, ROOT / "tests" / where) is wanted


def test_no_collection_of_garbage_looks_through_the_tests(request: pytest.FixtureRequest) -> None:
    gc.collect()
    assert not any(one is request.node for one in gc.get_objects())

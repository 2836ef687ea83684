"""The connectors screen: which task is nearest to failing, and everything the KIPs measure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from engine.reporting.metrics import Metric
from tests.browser.claims import claim
from tests.browser.conftest import Site, restore, signed_in
from tests.browser.connectors import NOW, answer
from tests.browser.screens import THEMES, fits, fits_everywhere, without_complaints

FAILED_AT = {"TASK_PUT": "470", "VALUE_CONVERTER": "18", "TRANSFORMATION": "7"}
BUDGETS = [
    ("usgs-to-sql", "7 of 10 left"),
    ("orders-from-sql", "fails on the next error"),
    ("quakes-enriched", "a handler decides"),
    ("quiet", "unlimited"),
    ("partly-handled", "10 of 10 left"),
    ("partly-handled", "transforms, processors and put: Continue"),
    ("foreign", "not reported yet"),
]


@pytest.fixture(scope="module")
def recorded_tab(chromium: Browser, site: Site) -> Iterator[Page]:
    """A tab at the time of the recording, with connectors in every state in place of the demo's."""
    context = signed_in(chromium, site)
    context.clock.set_fixed_time(NOW)
    body = msgspec.to_builtins(answer())
    context.route("**/api/v1/connectors", lambda route: route.fulfill(json=body))
    yield context.new_page()
    context.close()


@pytest.fixture
def recorded(recorded_tab: Page) -> Iterator[Page]:
    """The tab with the recording, empty."""
    yield recorded_tab
    restore(recorded_tab)


def panel(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def test_connectors_in_every_state_fit_their_window(recorded: Page) -> None:
    def show() -> None:
        recorded.goto("/connectors")
        expect(recorded.get_by_test_id("near")).to_have_count(7)

    fits_everywhere(recorded, "connectors-nearest", show)


@pytest.mark.parametrize("name", ["quakes-enriched", "stations-to-sql", "quakes-to-lakehouse"])
def test_one_connector_fits_a_narrow_window(recorded: Page, name: str) -> None:
    recorded.set_viewport_size({"width": 390, "height": 844})
    with without_complaints(recorded):
        recorded.goto(f"/connectors/{name}")
        expect(recorded.get_by_role("table", name="Metrics by task")).to_be_visible()
        for theme in THEMES:
            fits(recorded, "connector", 390, theme)


def test_the_tasks_of_connectors_are_shown_with_what_they_may_still_do_wrong(recorded: Page) -> None:
    recorded.goto("/connectors")
    for connector, budget in BUDGETS:
        with claim(f"a task of {connector}: {budget}"):
            expect(panel(recorded, connector).get_by_role("table", name="Tasks")).to_contain_text(budget)
    with claim("a parked task says until when and why"):
        tasks = panel(recorded, "orders-from-sql").get_by_role("table", name="Tasks")
        expect(tasks).to_contain_text("Parked until 03:14:00 (in 2 min)")
        expect(tasks).to_contain_text("connection refused")
    with claim("a task that runs and can't commit says why"):
        repeats = panel(recorded, "quiet").get_by_role("table", name="Tasks")
        expect(repeats).to_contain_text("No progress; trying again")
        expect(repeats).to_contain_text("the transaction was aborted 3 times: COORDINATOR_NOT_AVAILABLE")
    with claim("dead letters that nobody acknowledges are called best effort"):
        best_effort = "best effort: their cluster acknowledges nothing"
        expect(panel(recorded, "orders-from-sql")).to_contain_text(best_effort)
        expect(panel(recorded, "usgs-to-sql")).to_contain_text("durable before the offset is committed")
    with claim("the task nearest to failing comes first"):
        near = recorded.get_by_test_id("near")
        expect(near).to_contain_text(
            [
                *("stations-to-sql-0", "spark/payments-to-lakehouse", "usgs-to-sql-1", "usgs-to-sql-0"),
                *("spark/quakes-to-lakehouse", "spark/orders", "orders-from-sql-0"),
            ]
        )
        expect(near.nth(0)).to_contain_text("Failed")
        expect(near.nth(0)).to_contain_text("Tolerance exceeded: TASK_PUT (SqlSink) failed")
        expect(near.nth(2)).to_contain_text("0 of 10 left: fails on the next error")
        expect(near.nth(3)).to_contain_text("248 of 500 left")
        expect(near.nth(3)).to_contain_text("fails in about 8 h at this pace")
    with claim("it leads to its connector"):
        near.nth(3).get_by_role("link").click()
        expect(recorded.get_by_role("heading", level=1)).to_have_text("usgs-to-sql")


def test_a_spark_query_shows_its_run_in_all_widths(recorded: Page) -> None:
    def show() -> None:
        recorded.goto("/connectors/spark/orders")
        expect(recorded.get_by_role("table", name="Metrics by task")).to_be_visible()

    fits_everywhere(recorded, "spark-query", show)


def test_spark_queries_have_a_group_of_their_own_without_controls(recorded: Page) -> None:
    recorded.goto("/connectors")
    queries = panel(recorded, "Spark queries")
    with claim("each query says what it does"):
        expect(panel(recorded, "orders")).to_contain_text("The query runs")
        expect(panel(recorded, "nightly-prices")).to_contain_text("The query has finished")
        expect(panel(recorded, "payments-to-lakehouse").get_by_role("table", name="Tasks")).to_contain_text(
            "Tolerance exceeded: TRANSFORMATION failed"
        )
    with claim("a query that does not report is not shown as running"):
        silent = panel(recorded, "quakes-to-lakehouse")
        expect(silent).to_contain_text("No report since 21 Nov 03:02:30, 10 min ago")
        expect(silent.get_by_role("table", name="Tasks")).to_contain_text("unknown")
    with claim("nobody can control a query"):
        expect(queries.get_by_role("button", name="Pause…")).to_have_count(0)
        expect(queries.get_by_role("button", name="Restart…")).to_have_count(0)
    with claim("its stages and its dead letters lead to the records"):
        expect(panel(recorded, "orders").get_by_test_id("stage").first).to_contain_text("45")
        panel(recorded, "orders").get_by_role("link", name="orders.dlq").click()
        expect(recorded.get_by_test_id("shown")).to_be_visible()


def test_a_stream_shows_what_its_handler_dropped_node_by_node(recorded: Page) -> None:
    recorded.goto("/connectors/quakes-enriched")
    stream = panel(recorded, "quakes-enriched")
    stages = stream.get_by_test_id("stage")
    expect(stages).to_contain_text(["JsonConverter", "parse, Step", "enrich, Step"])
    metrics = recorded.get_by_role("table", name="Metrics by task")
    expect(metrics.get_by_role("row", name="dropped-records-total")).to_contain_text("12")
    expect(metrics.get_by_role("row", name="dropped-records-rate")).to_contain_text("0.4/s")


def test_a_connector_shows_every_metric_and_the_failures_of_each_stage(page: Page) -> None:
    page.goto("/connectors/usgs-to-sql")
    with claim("every metric of the KIPs is there, task by task"):
        names = page.get_by_role("table", name="Metrics by task").locator("tbody td:first-child")
        expect(names.first).to_be_visible()
        assert set(names.all_inner_texts()) >= {str(name) for name in Metric}
    for stage, failed in FAILED_AT.items():
        with claim(f"{stage} has its failures"):
            expect(page.get_by_test_id("stage").filter(has_text=stage)).to_contain_text(failed)
    with claim("a stage leads to its records"):
        page.get_by_test_id("stage").filter(has_text="TRANSFORMATION").get_by_role("link").click()
        expect(page.get_by_test_id("shown")).to_have_text("Showing 7 of 7")

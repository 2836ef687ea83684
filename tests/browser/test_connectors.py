"""The connectors screen: which task is nearest to failing, and everything the KIPs measure."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from engine.reporting.metrics import Metric
from tests.browser.connectors import NOW, answer
from tests.browser.screens import fits, fits_everywhere

FAILED_AT = {"TASK_PUT": "470", "VALUE_CONVERTER": "18", "TRANSFORMATION": "7"}


def told(page: Page, path: str = "/connectors") -> Page:
    """The page at the time of the recording, with connectors in every state in place of the demo's."""
    body = answer()
    page.clock.set_fixed_time(NOW)
    page.route("**/api/v1/connectors", lambda route: route.fulfill(json=body))
    page.goto(path)
    return page


def panel(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def test_connectors_in_every_state_fit_their_window(page: Page) -> None:
    def show() -> None:
        told(page)
        expect(page.get_by_test_id("near")).to_have_count(4)

    fits_everywhere(page, "connectors-nearest", show)


@pytest.mark.parametrize("name", ["quakes-enriched", "stations-to-sql"])
def test_one_connector_fits_a_narrow_window(themed: Page, name: str) -> None:
    with fits(themed, "connector", 390):
        told(themed, f"/connectors/{name}")
        expect(themed.get_by_role("table", name="Metrics by task")).to_be_visible()


def test_the_task_nearest_to_failing_comes_first(page: Page) -> None:
    near = told(page).get_by_test_id("near")
    expect(near).to_contain_text(["stations-to-sql-0", "usgs-to-sql-1", "usgs-to-sql-0", "orders-from-sql-0"])
    expect(near.nth(0)).to_contain_text("Failed")
    expect(near.nth(0)).to_contain_text("Tolerance exceeded: TASK_PUT (SqlSink) failed")
    expect(near.nth(1)).to_contain_text("0 of 10 left: fails on the next error")
    expect(near.nth(2)).to_contain_text("248 of 500 left")
    expect(near.nth(2)).to_contain_text("fails in about 8 h at this pace")
    near.nth(2).get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("usgs-to-sql")


@pytest.mark.parametrize(
    ("connector", "budget"),
    [
        ("usgs-to-sql", "7 of 10 left"),
        ("orders-from-sql", "fails on the next error"),
        ("quakes-enriched", "a handler decides"),
        ("quiet", "unlimited"),
        ("partly-handled", "10 of 10 left"),
        ("partly-handled", "transforms, processors and put: Continue"),
        ("foreign", "not reported yet"),
    ],
)
def test_each_task_says_what_it_may_still_do_wrong(page: Page, connector: str, budget: str) -> None:
    expect(panel(told(page), connector).get_by_role("table", name="Tasks")).to_contain_text(budget)


def test_a_parked_task_says_until_when_and_why(page: Page) -> None:
    tasks = panel(told(page), "orders-from-sql").get_by_role("table", name="Tasks")
    expect(tasks).to_contain_text("Parked until 03:14:00 (in 2 min)")
    expect(tasks).to_contain_text("connection refused")


def test_dead_letters_that_nobody_acknowledges_are_called_best_effort(page: Page) -> None:
    told(page)
    expect(panel(page, "orders-from-sql")).to_contain_text("best effort: their cluster acknowledges nothing")
    expect(panel(page, "usgs-to-sql")).to_contain_text("durable before the offset is committed")


def test_a_stream_shows_what_its_handler_dropped_node_by_node(page: Page) -> None:
    stream = panel(told(page, "/connectors/quakes-enriched"), "quakes-enriched")
    stages = stream.get_by_test_id("stage")
    expect(stages).to_contain_text(["JsonConverter", "parse, Step", "enrich, Step"])
    metrics = stream.get_by_role("table", name="Metrics by task")
    expect(metrics.get_by_role("row", name="dropped-records-total")).to_contain_text("12")
    expect(metrics.get_by_role("row", name="dropped-records-rate")).to_contain_text("0.4/s")


def test_every_metric_of_the_kips_is_there_task_by_task(page: Page) -> None:
    page.goto("/connectors/usgs-to-sql")
    names = page.get_by_role("table", name="Metrics by task").locator("tbody td:first-child")
    expect(names.first).to_be_visible()
    assert set(names.all_inner_texts()) >= {str(name) for name in Metric}


def test_the_failing_stages_have_their_failures_and_lead_to_their_records(page: Page) -> None:
    page.goto("/connectors/usgs-to-sql")
    for stage, failed in FAILED_AT.items():
        expect(page.get_by_test_id("stage").filter(has_text=stage)).to_contain_text(failed)
    page.get_by_test_id("stage").filter(has_text="TRANSFORMATION").get_by_role("link").click()
    expect(page.get_by_test_id("shown")).to_have_text("Showing 7 of 7")

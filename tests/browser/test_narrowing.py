"""A drag on a chart, or the keys, narrow the time everywhere; it can be widened again."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

NARROWED = re.compile(r"[?&]from=\d{4}-.*&to=\d{4}-")


def drag(page: Page, chart: Locator, start: float, end: float) -> None:
    """From one share of the chart's width to another."""
    box = chart.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * (start + end) / 2, middle)
    page.mouse.move(box["x"] + box["width"] * end, middle)
    page.mouse.up()


def test_a_drag_on_the_overview_narrows_every_figure_and_escape_widens_it(page: Page) -> None:
    page.goto("/?range=24h")
    chart = page.get_by_role("group", name="Open work at the end of each column, by state")
    expect(page.get_by_role("button", name="Back to the last 24 h")).to_have_count(0)
    drag(page, chart, 0.7, 0.97)
    expect(page).to_have_url(NARROWED)
    expect(page.get_by_role("button", name="Back to the last 24 h")).to_be_visible()
    topic = page.get_by_role("group", name=re.compile("Errors by dead letter topic over time: ")).first
    expect(topic).to_be_visible()
    assert NARROWED.search(page.locator("a[href*='/records?topic=']").first.get_attribute("href") or "")
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(r"\?range=24h$"))


def test_a_row_of_the_heat_map_narrows_by_the_keys_and_the_way_back_widens(page: Page) -> None:
    page.goto("/?range=24h")
    row = page.get_by_role("group", name=re.compile("Errors by dead letter topic over time: ")).first
    row.focus()
    for key in ("ArrowLeft", "Shift+ArrowLeft", "Shift+ArrowLeft", "Space"):
        page.keyboard.press(key)
    expect(page).to_have_url(NARROWED)
    page.go_back()
    expect(page).to_have_url(re.compile(r"\?range=24h$"))


def test_the_records_are_narrowed_by_their_time_strip(page: Page) -> None:
    page.goto("/records?from=now-24h")
    drag(page, page.get_by_role("group", name=re.compile("^Errors per ")), 0.5, 0.99)
    expect(page).to_have_url(NARROWED)
    expect(page.get_by_label("Time", exact=True)).to_contain_text(" to ")

"""Topics in the browser: any record is found in its topic, and figures have a past."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import barriers
from tests.browser.claims import claim
from tests.browser.screens import without_complaints

TOPIC = "usgs.earthquakes"


def open_records(page: Page, query: str) -> Locator:
    """The rows of a read of the demo's topic, which are shown."""
    page.goto(f"/topics/{TOPIC}?{query}")
    rows = page.get_by_test_id("topic-record")
    rows.first.wait_for()
    return rows


def test_a_topic_is_found_by_a_part_of_its_name(page: Page) -> None:
    page.goto("/exports")
    page.get_by_role("heading", name="Exports", level=1).wait_for()
    page.keyboard.press("g")
    page.keyboard.press("t")
    expect(page.get_by_role("heading", level=1)).to_have_text("Topics")
    page.get_by_role("searchbox", name="Name").fill("QUAKES")
    rows = page.get_by_test_id("topic")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="dead letters")).to_contain_text("usgs.earthquakes.dlq")
    page.get_by_role("link", name=TOPIC, exact=True).click()
    expect(page.get_by_text("4 partitions, 1,732 offsets kept. Read by usgs-to-sql (lag 0)")).to_be_visible()


def test_the_origin_of_a_dead_letter_opens_its_record_with_the_neighbours_whole(page: Page) -> None:
    page.goto("/records?connector=usgs-to-sql&stage=VALUE_CONVERTER")
    page.get_by_test_id("record").first.click()
    value = page.get_by_test_id("bytes").inner_text()
    origin = page.get_by_role("link", name=re.compile(rf"^{TOPIC} . \d+ "))
    partition, offset = (part.strip() for part in origin.inner_text().split("/")[1:])
    with without_complaints(page):
        origin.click()
        opened = page.get_by_role("region", name="Record", exact=True)
        expect(opened.get_by_role("heading")).to_have_text(f"{partition} / {offset}")
        with claim("its bytes are those of the dead letter"):
            # Only the marks of the syntax error differ: both show the same bytes at the same places.
            expect(opened.get_by_test_id("bytes")).to_have_text(value, use_inner_text=True)
        chosen = page.locator("tr[aria-current=true]")
        expect(chosen).to_contain_text("✕ failed")
        with claim("a neighbour is shown whole by a key press"):
            page.keyboard.press("k")
            expect(chosen).to_contain_text(f"{int(offset.replace(',', '')) - 1:,}")
            expect(opened.get_by_test_id("bytes")).to_contain_text('"type":"Feature"')
            opened.get_by_role("tab", name="Raw hex").click()
            expect(opened.get_by_test_id("hex")).to_contain_text("7b2274797065")
        with claim("Esc closes it"):
            page.keyboard.press("Escape")
            expect(opened).to_have_count(0)
    assert barriers(page) == []


def test_a_row_shows_the_record_without_scrolling_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    row = open_records(page, "partition=1").first
    expect(row).to_contain_text('{"type":"Feature"')
    assert row.evaluate("row => row.closest('[role=group]').scrollWidth <= row.closest('[role=group]').clientWidth")
    row.click()
    expect(page.get_by_role("region", name="Record", exact=True)).to_be_visible()


def test_a_topic_is_read_by_time_offset_and_key_and_says_why_it_stopped(page: Page) -> None:
    rows = open_records(page, "partition=1")
    told = page.get_by_test_id("read-summary")
    expect(told).to_contain_text(re.compile(r"^Read 50 records, .+ in .+\. Stopped because the page is full\.$"))
    first = rows.first.inner_text()
    page.get_by_role("link", name="Read older").click()
    expect(rows.first).not_to_have_text(first)
    with claim("an offset"):
        page.get_by_label("Start").select_option("offset")
        page.get_by_label("Offset", exact=True).fill("10")
        page.get_by_role("button", name="Read", exact=True).click()
        expect(page).to_have_url(re.compile(r"\?partition=1&offset=10$"))
        expect(rows.first.get_by_role("button")).to_have_text("0")
        expect(page.locator("tr[aria-current=true]").get_by_role("button")).to_have_text("10")
    key = rows.nth(3).locator("td").nth(3).inner_text()
    with claim("a key, in every partition"):
        page.get_by_label("Partition").select_option("")
        page.get_by_label("Start").select_option("oldest")
        page.get_by_label("Key").fill(key)
        page.keyboard.press("Enter")
        expect(rows).to_have_count(1)
        expect(told).to_contain_text("Read 1,732 records")
        expect(told).to_contain_text("Stopped at the end of the topic.")
    with claim("a time"):
        page.get_by_label("Key").fill("")
        page.get_by_label("Start").select_option("time")
        page.get_by_role("button", name="Read", exact=True).click()
        expect(rows).to_have_count(50)
        expect(page).to_have_url(re.compile(r"\?at=now-1h$"))


def test_an_internal_topic_says_why_it_is_not_read(page: Page) -> None:
    page.goto("/topics/connect-configs")
    expect(page.get_by_text("connect-configs is the engine's own.")).to_be_visible()
    expect(page.get_by_role("button", name="Read", exact=True)).to_have_count(0)
    assert barriers(page) == []


def test_figures_of_a_connector_and_a_topic_have_a_past(page: Page) -> None:
    page.goto("/connectors/usgs-to-sql?range=24h")
    records = page.get_by_role("region", name="Records over time")
    expect(records).to_contain_text("1,732 in all")
    expect(records).to_contain_text("dead-lettered")
    expect(page.get_by_role("region", name="Failures over time")).to_contain_text("TASK_PUT")
    with claim("a figure that is always zero is a sentence, not an empty chart"):
        expect(page.get_by_text("Nothing was retried in the last 24 h.")).to_be_visible()
        expect(page.get_by_role("region", name="Retries over time")).to_have_count(0)
    page.goto(f"/topics/{TOPIC}?range=24h")
    expect(page.get_by_role("region", name="Offsets written over time")).to_contain_text("1,732 in all")
    expect(page.get_by_role("region", name="Dead letters over time")).to_contain_text("495 dead letters")


def test_the_overview_opens_with_the_smallest_time_range_that_has_data(page: Page) -> None:
    page.goto("/")
    expect(page).to_have_url(re.compile(r"/\?range=(1h|24h)$"))
    expect(page.get_by_role("heading", name=re.compile("^Errors per"))).to_be_visible()

"""The audit trail in the browser: it is narrowed, searched and exported, and it leads to what was changed."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import barriers
from tests.browser.screens import THEMES, fits


def open_trail(page: Page, query: str = "") -> Locator:
    """The rows of the trail, which are shown."""
    page.goto(f"/audit{query}")
    rows = page.get_by_test_id("audit-entry")
    rows.first.wait_for()
    return rows


def test_a_filter_narrows_the_trail_and_its_address_brings_it_back(page: Page) -> None:
    # Given the trail, in which somebody signed in,
    rows = open_trail(page)
    # when it is narrowed to sign-ins,
    page.get_by_label("Action", exact=True).select_option("signed in")
    # does it show nothing else, also after a reload,
    expect(page).to_have_url(re.compile(r"/audit\?action=signed\+in$"))
    expect(rows.filter(has_not_text="signed in")).to_have_count(0)
    page.reload()
    expect(page.get_by_label("Action", exact=True)).to_have_value("signed in")
    expect(rows.first).to_contain_text("signed in")
    # and is nobody barred from reading it?
    assert barriers(page) == []
    page.get_by_role("button", name="Clear the filters").click()
    expect(page).to_have_url(re.compile(r"/audit$"))


def test_the_command_that_made_a_user_is_in_the_trail(page: Page) -> None:
    rows = open_trail(page, "?type=user&range=30d")
    expect(rows.filter(has_text="created user demo").first).to_contain_text("manage.py ensure_demo_user")


def test_a_text_is_searched_by_the_keys(page: Page) -> None:
    rows = open_trail(page)
    box = page.get_by_role("searchbox", name="Search", exact=True)
    page.keyboard.press("/")
    expect(box).to_be_focused()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.type("SIGNED in")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"text=SIGNED\+in"))
    expect(rows.filter(has_not_text="signed in")).to_have_count(0)
    expect(box).to_be_focused()
    box.fill("no entry has this text")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No entries match in the last 7 d")).to_be_visible()
    assert barriers(page) == []


def test_a_read_of_a_payload_is_shown_on_demand_and_leads_to_its_record(page: Page) -> None:
    # Given a record that somebody read,
    page.goto("/records?stage=VALUE_CONVERTER&from=now-24h")
    page.get_by_test_id("record").first.click()
    page.get_by_role("heading", name="Timeline").wait_for()
    # when the trail shows reads too,
    rows = open_trail(page)
    reads = rows.filter(has_text=re.compile(r"read dead letter \w"))  # not "read dead letters list"
    expect(reads).to_have_count(0)
    reads_box = page.get_by_label("Show reads of payloads")
    reads_box.click()  # not `check`: the box follows the address, which changes a moment after the click
    expect(reads_box).to_be_checked()
    # does the entry lead to the record?
    reads.first.get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/records/\d+$"))
    page.get_by_role("heading", name="Timeline").wait_for()


def test_what_the_filter_shows_is_exported(page: Page) -> None:
    open_trail(page, "?action=signed+in")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as arriving:
        page.get_by_role("menuitem", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(arriving.value.path()).read_text(), newline="")))
    assert rows
    assert {row["sentence"] for row in rows} == {"signed in"}


@pytest.mark.parametrize("theme", THEMES)
def test_a_narrow_window_shows_the_actor_above_the_sentence(page: Page, theme: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    row = open_trail(page, "?action=signed+in").first
    row.get_by_text("Details").click()
    fits(page, "audit", 390, "dark" if theme == "dark" else "light")
    actor, sentence = (row.locator("td").nth(index).bounding_box() for index in (1, 2))
    assert actor
    assert sentence
    assert sentence["y"] >= actor["y"] + actor["height"]

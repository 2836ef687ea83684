"""What is ticked, or matches, is frozen as it is seen, and nothing is sent by that."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.screens import fits_everywhere

TICK = re.compile("^Tick ")


def test_a_range_of_ticked_records_is_planned(page: Page) -> None:
    page.goto("/records?stage=VALUE_CONVERTER&work=open")
    ticks = page.get_by_role("checkbox", name=TICK)
    ticks.nth(0).click()
    ticks.nth(3).click(modifiers=["Shift"])
    page.get_by_role("button", name="Replay 4 open…").click()
    expect(page.get_by_role("heading", name="Replay 4 records")).to_be_visible()
    expect(page.get_by_text("Dry run: nothing has been written")).to_be_visible()
    page.get_by_role("button", name="More options").click()
    expect(page.get_by_label("Sizes of the canary's steps")).to_be_visible()
    fits_everywhere(page, "plan")


def test_all_that_match_reach_the_server_as_a_filter_and_not_as_ids(page: Page) -> None:
    page.goto("/records?stage=TASK_PUT&work=open")
    shown = page.get_by_test_id("shown")
    expect(shown).to_contain_text("Showing 100 of ")
    total = shown.inner_text().rpartition(" ")[2]
    page.get_by_role("checkbox", name=TICK).first.click()
    page.get_by_role("button", name=f"Select all {total} that match").click()
    with page.expect_request("**/api/v1/selections") as asked:
        page.get_by_role("button", name=f"Replay {total} open…").click()
    body: Any = asked.value.post_data_json
    assert "stage%3ATASK_PUT" in body["filter"]
    assert "ids" not in body
    expect(page.get_by_role("heading", name=f"Replay {total} records")).to_be_visible()

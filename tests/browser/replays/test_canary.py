"""A canary that pauses by itself when records fail again, and goes on only by a person's word."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.replays import steps
from tests.browser.replays.test_groups import replayed
from tests.browser.screens import fits_everywhere
from tests.support.product import Product


def test_a_canary_pauses_by_itself_when_records_fail_again(
    page: Page, product: Product, failures: dict[str, set[str]]
) -> None:
    keys = failures["sig"]
    steps.plan_group(page, "earthquakes.sig", len(keys))
    steps.run(page, len(keys), "To see whether the column takes them now.")
    expect(page.get_by_test_id("status")).to_contain_text("Paused", timeout=steps.SETTLED_MS)
    expect(page.get_by_text("Paused: 1 of 1 canary records failed again", exact=True).first).to_be_visible()
    expect(step(page, "1")).to_contain_text("stopped: 1 of 1 canary records failed again")
    expect(page.get_by_test_id("resuming")).to_have_text(
        "Resuming goes past this step of the canary, and sends the next 10 records."
    )
    assert len(replayed(product, keys)) == 1
    fits_everywhere(page, "canary")
    page.get_by_role("button", name="Resume…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Resume past the canary")).to_be_disabled()
    dialog.get_by_label("Reason").fill("The first one is known to be broken.")
    dialog.get_by_role("button", name="Resume past the canary").click()
    expect(step(page, "10")).to_contain_text("stopped: 10 of 10 canary records failed again", timeout=steps.SETTLED_MS)
    expect(step(page, "1")).to_contain_text("continued")
    expect(page.get_by_text(re.compile("past the canary: The first one is known to be broken")).first).to_be_visible()
    assert len(replayed(product, keys)) == 11


def step(page: Page, size: str) -> Locator:
    """A row of the canary's table."""
    rows = page.get_by_role("region", name="Canary").get_by_role("row")
    return rows.filter(has=page.get_by_role("cell", name=size, exact=True)).first

"""A bad fix is caught by rehearsal, before anything is sent."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from demo.damage import KIP_298_EXAMPLE_4, batch
from tests.browser.replays import steps
from tests.browser.replays.test_fixing import whole
from tests.browser.screens import fits_everywhere

REHEARSED_MS = 60_000


def test_a_bad_fix_is_caught_by_rehearsal_and_a_good_one_passes_where_it_failed(page: Page) -> None:
    broken = next(one for one in batch() if one.damage == "missing quote" and one.value != KIP_298_EXAMPLE_4)
    good = whole(broken)
    bad = re.sub(r'"mag":[-0-9.]+', '"mag":"strong"', good, count=1)
    steps.open_record(page, broken.key.decode())
    steps.start_fix(page)
    steps.overwrite(page, bad)
    rehearsal = rehearse(page, "Rehearse")
    expect(rehearsal).to_contain_text("TRANSFORMATION 'cast' fails: ", timeout=REHEARSED_MS)
    expect(rehearsal).to_contain_text("VALUE_CONVERTER (JsonConverter) failed before; it passes now, but")
    expect(rehearsal.locator("[data-state=failed]")).to_contain_text("cast")
    expect(rehearsal).to_contain_text("strong")
    rehearsal.scroll_into_view_if_needed()
    fits_everywhere(page, "rehearsal")
    expect(steps.edited(page)).to_contain_text("strong")  # a narrow window only reads; what was typed is there after it
    steps.overwrite(page, good)
    expect(rehearsal).to_contain_text("The record was edited after this rehearsal. Rehearse again.")
    rehearse(page, "Rehearse again")
    expect(rehearsal).to_contain_text("Passes where it failed", timeout=REHEARSED_MS)
    expect(rehearsal).to_contain_text("failed before and passes now. The sink wrote its row, and the database rolled")
    expect(rehearsal.locator("[data-state=ok]").last).to_contain_text("SqlSink")
    expect(rehearsal).to_contain_text("SqlSink wrote 1 row in one transaction, rolled back after")


def rehearse(page: Page, name: str) -> Locator:
    """Press the button, and return the panel that tells what came of it."""
    panel = page.get_by_role("region", name="Rehearsal")
    panel.get_by_role("button", name=name, exact=True).click()
    return panel

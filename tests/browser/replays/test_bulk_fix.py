"""A broken record is repaired in one click, and a whole group by one change; what is not meant stays as it was."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from demo.damage import batch, intact_event
from demo.feeder import TOPIC
from tests.browser.replays import steps
from tests.browser.screens import fits_everywhere
from tests.support import table, topics
from tests.support.product import Product

PROGRAM = ".properties.gap //= 0 | .properties.dmin //= 0 | .properties.nst //= 1 | .properties.rms //= 0"
MADE_MS = 60_000


def test_the_missing_quote_is_repaired_in_one_click(page: Page, product: Product) -> None:
    *_, broken = (one for one in batch() if one.damage == "missing quote")
    steps.open_record(page, broken.key.decode())
    steps.start_fix(page)
    suggested = page.get_by_role("region", name="Suggestions")
    expect(suggested).to_contain_text(re.compile(r"Repair the JSON: insert a quote at byte \d+"))
    suggested.get_by_role("button", name="Use it").click()
    expect(page.get_by_role("region", name="Value")).to_contain_text("✓ valid JSON")
    expect(page.get_by_text(re.compile(r"Draft F-\d+, saved"))).to_be_visible()
    page.get_by_role("button", name="Check the plan of 1 record").click()
    steps.run(page, 1, "The quote was lost at the source.")
    steps.expect_outcome(page, "passed", 1, "Passed")
    *_, sent = [one for one in topics.read(product.bootstrap_servers, TOPIC) if one.key == broken.key]
    assert sent.value == broken.value.replace(b'"place:', b'"place":', 1)


@pytest.mark.soak  # the other bulk fix drives the same screens
def test_records_with_a_null_column_are_fixed_in_bulk_by_jq(page: Page, product: Product) -> None:
    originals = {
        event.key: event.value for event in intact_event() if json.loads(event.value)["properties"]["gap"] is None
    }
    count = len(originals)
    steps.open_group(page, "earthquakes.gap")
    steps.press(page, "Fix in bulk…").click()
    expect(page.get_by_role("heading", name=f"Fix {count} records in bulk")).to_be_visible()
    page.get_by_role("textbox", name="jq program").click()
    page.keyboard.insert_text(".properties.gap //= (")
    expect(page.get_by_role("alert")).to_contain_text("jq, line 1, column")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(PROGRAM)
    for name, many in {"matched": count, "changed": count, "untouched": 0, "invalid": 0}.items():
        expect(page.get_by_test_id(f"preview-{name}")).to_have_text(f"{many}{name}")
    expect(page.get_by_role("list", name="Warnings")).to_have_count(0)
    expect(page.get_by_test_id("field").first).to_have_attribute("data-path", "properties.gap")
    expect(page.get_by_test_id("sample")).to_have_count(20)
    expect(page.get_by_label("Value after").first).to_contain_text('"gap":0')
    fits_everywhere(page, "bulk-fix")
    page.get_by_role("button", name=f"Make {count} drafts").click()
    expect(page.get_by_test_id("bulk-changed")).to_have_text(f"{count}changed", timeout=MADE_MS)
    fits_everywhere(page, "bulk-fix-made")
    page.get_by_role("button", name=f"Plan the replay of {count} records").click()
    expect(page.get_by_text("Dry run: nothing has been written")).to_be_visible()
    steps.run(page, count, "The columns were never filled in.")
    steps.expect_outcome(page, "passed", count, "Passed")
    assert {key.decode() for key in originals} <= table.keys(product)
    sent = {one.key: one.value for one in topics.read(product.bootstrap_servers, TOPIC) if one.key in originals}
    for key, value in originals.items():
        assert sent[key] == filled(value)


def filled(value: bytes) -> bytes:
    """The event's own bytes with a figure in place of each null of the four columns."""
    for name, figure in ((b"gap", b"0"), (b"dmin", b"0"), (b"nst", b"1"), (b"rms", b"0")):
        value = value.replace(b'"%s":null' % name, b'"%s":%s' % (name, figure))
    return value

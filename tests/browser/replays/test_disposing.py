"""What is not to be replayed is set aside with a reason, and taken back; nothing of it touches Kafka."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route, expect

from tests.browser.replays.steps import open_group
from tests.browser.screens import fits_everywhere

TICK = re.compile("^Tick ")
RECORDS = "/records?stage=VALUE_CONVERTER"


def set_aside(page: Page, how: str, reason: str) -> None:
    """Choose from the menu, say why, and agree."""
    page.get_by_role("button", name="Set aside").click()
    page.get_by_role("menuitem", name=f"{how}…").click()
    dialog = page.get_by_role("dialog")
    yes = dialog.get_by_role("button", name=how, exact=True)
    expect(yes).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("Reason").fill(reason)
    yes.click()
    expect(dialog).to_be_hidden()


def test_a_record_is_discarded_and_undone_on_whatever_screen_one_is_by_then(page: Page) -> None:
    page.goto(RECORDS)
    page.get_by_test_id("record").first.click()
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    record = page.url
    set_aside(page, "Discard", "test data")
    told = page.get_by_test_id("disposal-toast")
    expect(told).to_contain_text("1 record discarded.")
    expect(page.get_by_test_id("disposal")).to_contain_text("“test data”. Replays skip it.")
    barred = page.get_by_role("button", name="Replay…")
    expect(barred).to_have_attribute("aria-description", "Discarded: restore it first")
    page.get_by_role("link", name="Groups").first.click()
    told.get_by_role("button", name="Undo").click()
    expect(told).to_contain_text("1 record restored.")
    page.goto(record)
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    expect(barred).not_to_have_attribute("aria-disabled", "true")
    expect(page.get_by_test_id("disposal")).to_have_count(0)


def test_ticked_records_are_parked_found_by_the_query_and_restored(page: Page) -> None:
    page.goto(RECORDS)
    for at in range(3):
        page.get_by_role("checkbox", name=TICK).nth(at).click()
    set_aside(page, "Park", "after the release")
    expect(page.get_by_test_id("disposal-toast")).to_contain_text("3 records parked.")
    page.goto("/records?replay_state=parked")
    expect(page.get_by_test_id("shown")).to_have_text("Showing 3 of 3")
    page.get_by_test_id("record").first.click()
    expect(page.get_by_test_id("disposal")).to_be_visible()
    fits_everywhere(page, "set-aside")
    page.get_by_test_id("disposal").get_by_role("button", name="Restore…").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("the release is out")
    page.get_by_role("dialog").get_by_role("button", name="Restore", exact=True).click()
    expect(page.get_by_test_id("disposal")).to_have_count(0)
    page.goto("/records?replay_state=parked")
    expect(page.get_by_test_id("shown")).to_have_text("Showing 2 of 2")
    for at in range(2):
        page.get_by_role("checkbox", name=TICK).nth(at).click()
    set_aside(page, "Restore", "the release is out")
    expect(page.get_by_test_id("disposal-toast")).to_contain_text("2 records restored.")


def test_a_group_keeps_its_count_and_gives_a_report(page: Page) -> None:
    chosen = open_group(page, "earthquakes.nst")
    opens = chosen.get_by_role("link", name=re.compile(r"^Open [\d ,]+ records"))
    before = opens.inner_text()
    set_aside(page, "Handled elsewhere", "put right in the database")
    expect(page.get_by_test_id("disposal-toast")).to_contain_text("handled elsewhere")
    expect(opens).to_have_text(before)
    page.get_by_test_id("disposal-toast").get_by_role("button", name="Undo").click()
    expect(page.get_by_test_id("disposal-toast")).to_contain_text("restored")
    chosen.get_by_role("button", name="Incident report").click()
    with page.expect_download() as got:
        page.get_by_role("menuitem", name="Markdown, to read").click()
    text = got.value.path().read_text()
    assert text.startswith("# Incident report: group ")
    assert "earthquakes.nst" in text


def test_closing_the_dialog_while_it_is_asked_loses_nothing(page: Page) -> None:
    """The answer is told on the screen where the person is by then."""
    page.goto(RECORDS)
    page.get_by_role("checkbox", name=TICK).nth(5).click()

    def late(route: Route) -> None:
        page.wait_for_timeout(800)
        route.continue_()

    page.route("**/api/v1/disposals", late)
    page.get_by_role("button", name="Set aside").click()
    page.get_by_role("menuitem", name="Discard…").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("test data")
    page.get_by_role("dialog").get_by_role("button", name="Discard", exact=True).click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    told = page.get_by_test_id("disposal-toast")
    expect(told).to_contain_text("1 record discarded.")
    told.get_by_role("button", name="Undo").click()
    expect(told).to_contain_text("1 record restored.")

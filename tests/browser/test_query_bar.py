"""The query bar as an operator uses it: from typing to a search that is kept, and out of a mistake."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


def typing(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Add a filter")


def suggestions(page: Page) -> Locator:
    return page.get_by_role("listbox", name="Suggestions").get_by_role("option")


def test_what_is_typed_with_suggestions_is_kept_and_found_again(page: Page) -> None:
    page.goto("/records")
    expect(page.get_by_test_id("shown")).to_have_text("Showing 100 of 495")

    page.keyboard.press("/")
    typing(page).press_sequentially("stage:VAL")
    expect_suggestions(page, "VALUE_CONVERTER")
    typing(page).press("ArrowDown")
    typing(page).press("Tab")
    typing(page).press_sequentially("-is:unr")
    expect_suggestions(page, "unreadable")
    typing(page).press("ArrowDown")
    typing(page).press("Enter")
    typing(page).press("Enter")
    expect(page.get_by_test_id("clause")).to_have_text(["stage VALUE_CONVERTER×", "not is unreadable×"])
    expect(page.get_by_test_id("shown")).to_have_text("Showing 18 of 18")

    page.get_by_role("button", name="Saved searches").click()
    page.get_by_role("menuitem", name="Save this search").click()
    page.get_by_label("Name").fill("broken values")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)  # a page that is left too early cancels the request
    page.goto("/records?q=stage:TRANSFORMATION")
    expect(page.get_by_test_id("shown")).to_have_text("Showing 7 of 7")
    page.get_by_role("button", name="Saved searches").click()
    page.get_by_role("menuitem", name="broken values").first.click()
    expect(page.get_by_test_id("shown")).to_have_text("Showing 18 of 18")
    expect(page).to_have_url("/records?q=stage%3AVALUE_CONVERTER+-is%3Aunreadable")

    page.get_by_role("button", name="Saved searches").click()
    page.get_by_role("menuitem", name="Delete broken values").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Saved searches").click()
    expect(page.get_by_role("menuitem", name="Save this search")).to_be_visible()
    expect(page.get_by_role("menuitem", name="broken values")).to_have_count(0)


def test_a_mistake_is_marked_at_its_place_and_corrected_there(page: Page) -> None:
    page.goto("/records")
    typing(page).fill("stag:TASK_PUT -connector:nobody")
    typing(page).press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Unknown field `stag`. Did you mean `stage`?")
    expect(page.locator("mark")).to_have_text("stag")
    expect(page.get_by_test_id("record")).to_have_count(0)

    page.get_by_role("button", name="stag:TASK_PUT", exact=True).click()
    expect(typing(page)).to_have_value("stag:TASK_PUT")
    typing(page).fill("stage:TASK_PUT")
    typing(page).press("Enter")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_test_id("shown")).to_have_text("Showing 100 of 470")


def test_a_facet_writes_its_clause_and_a_chip_is_switched_off_and_on(page: Page) -> None:
    page.goto("/records")
    page.get_by_role("button", name="TRANSFORMATION").click()
    expect(page.get_by_test_id("shown")).to_have_text("Showing 7 of 7")
    page.get_by_role("button", name="stage TRANSFORMATION", exact=True).click()
    expect(page.get_by_test_id("shown")).to_have_text("Showing 100 of 495")
    expect(page).to_have_url("/records?q=stage%3ATRANSFORMATION&off=0")
    page.get_by_role("button", name="stage TRANSFORMATION", exact=True).click()
    expect(page.get_by_test_id("shown")).to_have_text("Showing 7 of 7")
    page.get_by_role("button", name="TASK_PUT").click(modifiers=["Alt"])
    expect(page.get_by_test_id("clause")).to_have_text(["stage TRANSFORMATION×", "not stage TASK_PUT×"])


def test_alternatives_are_one_chip_that_a_facet_narrows(page: Page) -> None:
    page.goto("/records")
    typing(page).fill("stage:VALUE_CONVERTER OR stage:TRANSFORMATION")
    typing(page).press("Enter")
    expect(page.get_by_test_id("shown")).to_have_text("Showing 25 of 25")
    expect(page.get_by_test_id("clause")).to_contain_text(["(stage:VALUE_CONVERTER OR stage:TRANSFORMATION)"])
    typing(page).fill("-stage:TRANSFORMATION")
    typing(page).press("Enter")
    expect(page.get_by_test_id("shown")).to_have_text("Showing 18 of 18")


def test_a_look_into_values_says_how_far_it_went(page: Page) -> None:
    page.goto("/records")
    typing(page).fill("stage:TRANSFORMATION value.properties.mag:n/a")
    typing(page).press("Enter")
    expect(page.get_by_text("searched 7 records")).to_be_visible()


def expect_suggestions(page: Page, *texts: str) -> None:
    """Wait for these suggestions. Those for an earlier text may look the same, but can't be taken."""
    expect(suggestions(page)).to_have_text(list(texts))
    expect(page.get_by_role("listbox", name="Suggestions")).to_have_attribute("aria-busy", "false")

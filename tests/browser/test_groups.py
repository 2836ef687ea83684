"""Groups as a person on call sorts them: what is one failure is made one, and taken apart again."""

from __future__ import annotations

from playwright.sync_api import Page, expect


def test_two_groups_become_one_and_are_two_again_after_an_undo(page: Page) -> None:
    page.goto("/groups?range=30d")
    rows = page.get_by_test_id("group")
    expect(rows.first).to_contain_text("303")
    before = rows.all_inner_texts()
    page.get_by_label("Tick IntegrityError: earthquakes.gap is null").check()
    page.get_by_label("Tick IntegrityError: earthquakes.nst is null").check()
    bar = page.get_by_role("region", name="Ticked groups")
    expect(bar).to_contain_text("2 groups, 463 records")
    bar.get_by_role("button", name="Merge…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("Both columns may be empty until review.")
    dialog.get_by_role("button", name="Merge").click()
    said = page.get_by_test_id("regrouped")
    expect(said).to_contain_text(
        "Merged IntegrityError: earthquakes.nst is null into IntegrityError: earthquakes.gap is null"
    )
    expect(rows.first).to_contain_text("463")
    expect(rows.first).to_contain_text("2 merged")
    chosen = page.get_by_role("region", name="Chosen group")
    expect(chosen.get_by_test_id("fingerprint")).to_have_count(2)
    expect(chosen).to_contain_text("Both columns may be empty until review.")
    chosen.get_by_role("link", name="Open 463 records").click()
    expect(page.get_by_test_id("shown")).to_have_text("Showing 100 of 463")
    page.go_back()
    page.get_by_test_id("regrouping").get_by_role("button", name="Undo").click()
    expect(rows).to_have_count(len(before))
    expect(rows.first).to_contain_text("303")


def test_a_group_says_what_its_records_have_that_others_have_not(page: Page) -> None:
    page.goto("/groups?range=30d")
    page.get_by_role("button", name="Show IntegrityError: earthquakes.gap is null").click()
    traits = page.get_by_role("region", name="Chosen group").get_by_test_id("trait")
    gap = traits.filter(has_text="value.properties.gap")
    expect(gap).to_contain_text("null")
    expect(gap).to_contain_text("100 %")

"""The main job as an operator does it: see that something fails, which failures are one, why, and take them along."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, sign_in

FAILING_STAGES = {"TASK_PUT": "SqlSink", "VALUE_CONVERTER": "JsonConverter", "TRANSFORMATION": "Cast$Value"}


def test_a_wrong_password_is_refused_with_a_reason(visitor: Page, site: Site) -> None:
    visitor.goto("/")
    visitor.get_by_label("User name").fill(site.username)
    visitor.get_by_role("textbox", name="Password").fill("not the password")
    visitor.get_by_role("button", name="Sign in").click()
    expect(visitor.get_by_role("alert")).not_to_be_empty()


def test_the_address_asked_for_is_kept_while_signing_in(visitor: Page, site: Site) -> None:
    visitor.goto("/connectors")
    visitor.get_by_label("User name").fill(site.username)
    visitor.get_by_role("textbox", name="Password").fill(site.password)
    visitor.get_by_role("button", name="Sign in").click()
    expect(visitor.get_by_role("heading", name="Connectors")).to_be_visible()


def test_the_overview_accounts_for_every_record(page: Page) -> None:
    balance = page.get_by_test_id("balance")
    expect(balance).to_contain_text("1,732 consumed = 1,237 delivered + 495 dead-lettered + 0 skipped + 0 filtered")
    expect(page.get_by_text("Balances: every consumed record is accounted for.")).to_be_visible()
    expect(page.get_by_text("470 + 18 + 7 = 495")).to_be_visible()


def test_every_failing_stage_leads_to_its_records(page: Page) -> None:
    page.get_by_text("470 failed").click()
    expect(page.get_by_test_id("shown")).to_have_text("Showing 100 of 470")
    expect(page.get_by_test_id("record").first).to_have_attribute("data-stage", "TASK_PUT")


def test_the_biggest_group_says_why_its_records_are_one(page: Page) -> None:
    page.get_by_role("link", name="Groups").first.click()
    biggest = page.get_by_test_id("group").first
    expect(biggest).to_contain_text("NOT NULL constraint failed: earthquakes.gap")
    expect(biggest).to_contain_text("303")
    biggest.click()
    chosen = page.get_by_role("region", name="Chosen group")
    expect(chosen).to_contain_text("Why these are one group")
    expect(chosen).to_contain_text("TASK_PUT")
    chosen.get_by_role("link", name="Open 303 records").click()
    expect(page.get_by_test_id("shown")).to_have_text("Showing 100 of 303")


@pytest.mark.parametrize(("stage", "step"), FAILING_STAGES.items())
def test_a_record_shows_the_stage_where_it_failed(page: Page, stage: str, step: str) -> None:
    page.goto(f"/records?stage={stage}")
    page.get_by_test_id("record").first.click()
    failed = page.locator("[data-state=failed]")
    expect(failed).to_have_count(1)
    expect(failed).to_contain_text(stage)
    expect(failed).to_contain_text(step)
    expect(page.get_by_role("heading", name="Error")).to_be_visible()


def test_a_value_that_does_not_parse_is_shown_raw_with_its_byte_marked(page: Page) -> None:
    page.goto("/records?stage=VALUE_CONVERTER")
    page.get_by_test_id("record").first.click()
    expect(page.get_by_text(re.compile(r"▲ byte \d+"))).to_be_visible()
    page.get_by_role("tab", name="Raw hex").click()
    expect(page.get_by_test_id("hex")).to_contain_text("0000")


def test_j_and_k_walk_through_the_records_that_match(page: Page) -> None:
    page.goto("/records?stage=TRANSFORMATION")
    page.get_by_test_id("record").first.click()
    name = page.get_by_role("heading", level=1)
    expect(name).to_contain_text("usgs.earthquakes.dlq /")
    first = name.inner_text()
    page.keyboard.press("j")
    expect(name).not_to_have_text(first)
    page.keyboard.press("k")
    expect(name).to_have_text(first)


def test_a_facet_includes_by_click_and_excludes_by_alt_click(page: Page) -> None:
    page.goto("/records")
    facets = page.get_by_role("complementary", name="Facets")
    facets.get_by_role("button", name="TRANSFORMATION").click()
    expect(page.get_by_test_id("shown")).to_have_text("Showing 7 of 7")
    assert "q=stage%3ATRANSFORMATION" in page.url
    page.goto("/records")
    facets.get_by_role("button", name="TASK_PUT").click(modifiers=["Alt"])
    expect(page.get_by_test_id("shown")).to_have_text("Showing 25 of 25")
    assert "q=-stage%3ATASK_PUT" in page.url


def test_older_records_come_by_the_hundred(page: Page) -> None:
    page.goto("/records")
    page.get_by_role("button", name="Older 100").click()
    expect(page.get_by_test_id("shown")).to_have_text("Showing 200 of 495")


def test_an_export_of_a_group_has_one_line_for_each_of_its_records(page: Page) -> None:
    page.goto("/groups")
    page.get_by_role("link", name="Open 303 records").click()
    page.get_by_role("button", name="Export 303…").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    lines = download.value.path().read_text().splitlines()
    assert len(lines) == len({json.loads(line)["id"] for line in lines}) == 303


def test_an_operator_leaves_a_note_and_the_audit_shows_it(page: Page) -> None:
    page.goto("/groups")
    note = "Alaska leaves gap empty until review."
    page.get_by_label("Note").fill(note)
    page.get_by_role("button", name="Add note").click()
    expect(page.get_by_role("region", name="Chosen group").get_by_text(note)).to_be_visible()
    page.get_by_role("link", name="Audit").click()
    expect(page.get_by_role("region", name="Audit")).to_contain_text("demo")


def test_connectors_show_each_task_and_pause_after_a_question(page: Page) -> None:
    page.goto("/connectors/local-file-sink")
    panel = page.get_by_role("region", name="local-file-sink")
    panel.get_by_role("button", name="Pause…").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(panel.get_by_text("paused").first).to_be_visible(timeout=30_000)
    panel.get_by_role("button", name="Resume…").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(panel.get_by_text("running").first).to_be_visible(timeout=30_000)


def test_signing_out_closes_every_screen(visitor: Page, site: Site) -> None:
    sign_in(visitor, site.username, site.password)
    visitor.get_by_role("button", name=f"Signed in as {site.username}").click()
    visitor.get_by_role("menuitem", name="Sign out").click()
    expect(visitor.get_by_label("User name")).to_be_visible()
    visitor.goto("/records")
    expect(visitor.get_by_label("User name")).to_be_visible()

"""The main job as an operator does it: see that something fails, which failures are one, why, and take them along."""

from __future__ import annotations

import json
import re
from functools import partial

from playwright.sync_api import Page, expect

from dlqadmin.host.network import wait_until
from tests.browser.claims import claim
from tests.browser.conftest import Site

FAILING_STAGES = {"TASK_PUT": "SqlSink", "VALUE_CONVERTER": "JsonConverter", "TRANSFORMATION": "Cast$Value"}
ASKED_AGAIN_MS = 5_000  # how often the screen asks for connectors
STATE_TIMEOUT_S = 30


def test_a_visitor_signs_in_and_out(visitor: Page, site: Site) -> None:
    visitor.goto("/connectors")
    visitor.get_by_label("User name").fill(site.username)
    with claim("a wrong password is refused with a reason"):
        visitor.get_by_role("textbox", name="Password").fill("not the password")
        visitor.get_by_role("button", name="Sign in").click()
        expect(visitor.get_by_role("alert")).not_to_be_empty()
    with claim("the address asked for is kept while signing in"):
        visitor.get_by_role("textbox", name="Password").fill(site.password)
        visitor.get_by_role("button", name="Sign in").click()
        expect(visitor.get_by_role("heading", name="Connectors")).to_be_visible()
    with claim("signing out closes every screen"):
        visitor.get_by_role("button", name=f"Signed in as {site.username}").click()
        visitor.get_by_role("menuitem", name="Sign out").click()
        expect(visitor.get_by_label("User name")).to_be_visible()
        visitor.goto("/records")
        expect(visitor.get_by_label("User name")).to_be_visible()


def test_the_overview_accounts_for_every_record_and_leads_to_them(page: Page) -> None:
    page.goto("/")
    with claim("every record is accounted for"):
        balance = page.get_by_test_id("balance")
        expect(balance).to_contain_text("1,732 consumed = 1,237 delivered + 495 dead-lettered + 0 skipped + 0 filtered")
        expect(page.get_by_text("Balances: every consumed record is accounted for.")).to_be_visible()
        expect(page.get_by_text("470 + 18 + 7 = 495")).to_be_visible()
    with claim("every failing stage leads to its records"):
        page.get_by_text("470 failed").click()
        expect(page.get_by_test_id("shown")).to_have_text("Showing 100 of 470")
        expect(page.get_by_test_id("record").first).to_have_attribute("data-stage", "TASK_PUT")


def test_the_biggest_group_says_why_its_records_are_one_and_is_exported(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="Groups").first.click()
    with claim("the biggest group says why its records are one"):
        biggest = page.get_by_test_id("group").first
        expect(biggest).to_contain_text("NOT NULL constraint failed: earthquakes.gap")
        expect(biggest).to_contain_text("303")
        biggest.click()
        chosen = page.get_by_role("region", name="Chosen group")
        expect(chosen).to_contain_text("Fingerprint")
        expect(chosen).to_contain_text("TASK_PUT")
    with claim("an operator leaves a note"):
        note = "Alaska leaves gap empty until review."
        page.get_by_label("Note").fill(note)
        page.get_by_role("button", name="Add note").click()
        expect(chosen.get_by_text(note)).to_be_visible()
    with claim("the group leads to its records"):
        chosen.get_by_role("link", name="Open 303 records").click()
        expect(page.get_by_test_id("shown")).to_have_text("Showing 100 of 303")
    with claim("an export of a group has one line for each of its records"):
        page.get_by_role("button", name="Export 303…").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download").click()
        lines = download.value.path().read_text().splitlines()
        assert len(lines) == len({json.loads(line)["id"] for line in lines}) == 303
    with claim("the audit shows who did something"):
        page.goto("/audit")
        expect(page.get_by_role("region", name="Audit")).to_contain_text("demo")


def test_a_record_shows_the_stage_where_it_failed(page: Page) -> None:
    for stage, step in FAILING_STAGES.items():
        with claim(f"the pipeline of the record shows that {stage} failed"):
            page.goto(f"/records?stage={stage}")
            page.get_by_test_id("record").first.click()
            failed = page.locator("[data-state=failed]")
            expect(failed).to_have_count(1)
            expect(failed).to_contain_text(stage)
            expect(failed).to_contain_text(step)
            expect(page.get_by_role("heading", name="Error")).to_be_visible()
    with claim("j and k walk through the records that match"):
        name = page.get_by_role("heading", level=1)
        expect(name).to_contain_text("usgs.earthquakes.dlq /")
        first = name.inner_text()
        page.keyboard.press("j")
        expect(name).not_to_have_text(first)
        page.keyboard.press("k")
        expect(name).to_have_text(first)


def test_a_value_that_does_not_parse_is_shown_raw_and_its_retention_told(page: Page) -> None:
    page.goto("/records?connector=usgs-to-sql&stage=VALUE_CONVERTER")
    page.get_by_test_id("record").first.click()
    with claim("the byte where parsing ends is marked"):
        expect(page.get_by_text(re.compile(r"▲ byte \d+"))).to_be_visible()
    with claim("the value is shown as hex"):
        page.get_by_role("tab", name="Raw hex").click()
        expect(page.get_by_test_id("hex")).to_contain_text("0000")
    with claim("a record says how long Kafka keeps it and its origin"):
        clock = page.get_by_test_id("retention")
        expect(clock.locator("div").filter(has_text="Dead letter")).to_contain_text(re.compile(r"6 d \d+ h of 7 d"))
        expect(clock.locator("div").filter(has_text="Origin record")).to_contain_text(re.compile(r"6 d \d+ h of 7 d"))
        expect(clock.locator("div").filter(has_text="Copy in index")).to_contain_text("kept")


def test_facets_narrow_and_older_records_come_by_the_hundred(page: Page) -> None:
    page.goto("/records")
    facets = page.get_by_role("complementary", name="Facets")
    with claim("older records come by the hundred"):
        page.get_by_role("button", name="Older 100").click()
        expect(page.get_by_test_id("shown")).to_have_text("Showing 200 of 495")
    with claim("a click on a facet includes it"):
        facets.get_by_role("button", name="TRANSFORMATION").click()
        expect(page.get_by_test_id("shown")).to_have_text("Showing 7 of 7")
        assert "q=stage%3ATRANSFORMATION" in page.url
    with claim("an Alt-click on a facet excludes it"):
        page.goto("/records")
        facets.get_by_role("button", name="TASK_PUT").click(modifiers=["Alt"])
        expect(page.get_by_test_id("shown")).to_have_text("Showing 25 of 25")
        assert "q=-stage%3ATASK_PUT" in page.url


def test_connectors_show_each_task_and_pause_after_a_question(clocked_page: Page) -> None:
    clocked_page.goto("/connectors/local-file-sink")
    panel = clocked_page.get_by_role("region", name="local-file-sink")

    def shows(state: str) -> bool:
        clocked_page.clock.fast_forward(ASKED_AGAIN_MS)
        return panel.get_by_text(state).first.is_visible()

    for verb, state in (("Pause", "paused"), ("Resume", "running")):
        panel.get_by_role("button", name=f"{verb}…").click()
        dialog = clocked_page.get_by_role("dialog")
        dialog.get_by_label("Reason").fill("To see its state.")
        dialog.get_by_role("button", name=verb).click()
        wait_until(partial(shows, state), f"the state {state}", STATE_TIMEOUT_S, 0.3)

"""Two people: one asks, the other agrees, and only then it is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Site
from tests.browser.replays import steps
from tests.browser.replays.conftest import Person
from tests.browser.screens import fits, without_complaints
from tests.support.product import Product


@pytest.fixture(scope="module")
def site(product: Product) -> Iterator[Site]:
    """A second web server of the product, for which two records need a second person."""
    with product.another_web(APPROVAL_ABOVE="1") as url:
        yield Site(url, "demo", product.password)


@pytest.mark.soak  # tests/security/test_four_eyes.py shows it without a browser
@pytest.mark.usefixtures("failures")
def test_what_one_person_asks_for_another_approves(person: Person) -> None:
    page, approver = person("asker"), person("ruth")
    steps.plan_group(page, "earthquakes.time_ms", 2)
    expect(page.get_by_test_id("plan")).to_contain_text("Approval needed")
    expect(page.get_by_role("button", name="Replay 2 records")).to_have_attribute("aria-disabled", "true")
    page.get_by_role("textbox", name="Reason").fill("the gap is filled, INC-214")
    page.get_by_role("button", name="Ask for approval of 2 records").click()
    expect(page.get_by_text("asker asked for approval")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_have_attribute("aria-disabled", "true")
    with without_complaints(approver):
        approver.goto("/")
        expect(approver.get_by_role("banner").first).to_contain_text("You are approver")
        attention = approver.get_by_role("link").filter(has_text=re.compile(r"R-\d+: .*, 2 records"))
        expect(attention.first).to_be_visible()
        approver.goto("/replays?status=waits_for_approval")
        row = approver.get_by_test_id("replay")
        expect(row).to_have_count(1)
        expect(row).to_contain_text("Waits for approval")
        expect(row).to_contain_text("the gap is filled, INC-214")
        row.get_by_role("link").click()
        expect(approver.get_by_text("asker asked for approval")).to_be_visible()
        expect(approver.get_by_text("asker gives this reason: “the gap is filled, INC-214”")).to_be_visible()
        expect(approver.get_by_test_id("plan")).to_contain_text("Approval needed")
        fits(approver, "approving", 1440)
    approver.get_by_role("button", name="Reject…").click()
    approver.get_by_role("textbox", name="Reason").last.fill("one first, please")
    approver.get_by_role("button", name="Reject", exact=True).click()
    why = "A second person must approve the plan: it sends 2 records, more than 1."
    expect(approver.get_by_text(why)).to_be_visible()
    page.reload()
    page.get_by_role("textbox", name="Reason").fill("tried with one, it passed")
    page.get_by_role("button", name="Ask for approval of 2 records").click()
    approver.reload()
    approver.get_by_role("button", name="Approve").click()
    expect(approver.get_by_text("Approved by ruth")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Approved by ruth")).to_be_visible()
    steps.run(page, 2, "tried with one, it passed")
    expect(page.get_by_test_id("status")).to_be_visible()
    for line in (
        "asked for approval of 2 records",
        "rejected: one first, please",
        "approved 2 records",
        "started to send 2 records",
    ):
        expect(page.get_by_text(line).first).to_be_visible()

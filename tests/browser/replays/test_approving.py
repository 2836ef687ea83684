"""Two people: one asks, the other agrees, and only then it is sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESKTOP, sign_in
from tests.browser.replays import steps
from tests.browser.screens import fits
from tests.support.product import Product


@pytest.fixture(scope="module")
def own_product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """A product in which two records need a second person."""
    made = Product(tmp_path_factory.mktemp("approving"))
    made.env["APPROVAL_ABOVE"] = "1"
    made.start()
    yield made
    made.stop()


@pytest.fixture
def approver(chromium: Browser, own_product: Product) -> Iterator[Page]:
    """The second person's page."""
    context = chromium.new_context(base_url=own_product.web, viewport=DESKTOP)
    page = context.new_page()
    sign_in(page, "ruth", own_product.add_user("ruth", "approver"))
    yield page
    context.close()


def test_what_one_person_asks_for_another_approves(page: Page, approver: Page) -> None:
    steps.plan_group(page, "earthquakes.dmin", 2)
    expect(page.get_by_test_id("plan")).to_contain_text("Approval needed")
    expect(page.get_by_role("button", name="Replay 2 records")).to_have_attribute("aria-disabled", "true")
    page.get_by_role("textbox", name="Reason").fill("the gap is filled, INC-214")
    page.get_by_role("button", name="Ask for approval of 2 records").click()
    expect(page.get_by_text("demo asked for approval")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_have_attribute("aria-disabled", "true")
    approver.goto(page.url)
    with fits(approver, "approving", 1440):
        expect(approver.get_by_text("demo asked for approval")).to_be_visible()
    approver.get_by_role("button", name="Reject…").click()
    approver.get_by_role("textbox", name="Reason").last.fill("one first, please")
    approver.get_by_role("button", name="Reject", exact=True).click()
    expect(approver.get_by_text("Above 1 record a second person must approve the plan.")).to_be_visible()
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
        "began to send 2 records",
    ):
        expect(page.get_by_text(line).first).to_be_visible()

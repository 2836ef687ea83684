"""A phone in the night: approve, pause, cancel, and put a finding off."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Locator, Page, ViewportSize, expect

from demo.feeder import TOPIC
from dlqadmin.host.network import wait_until
from tests.browser.claims import claim
from tests.browser.conftest import Site
from tests.browser.replays import steps
from tests.browser.replays.conftest import INDEXED_S, Person, events_with
from tests.browser.screens import fits, without_complaints
from tests.support.product import Product

PHONE: ViewportSize = {"width": 390, "height": 844}
RECORDS = 30
REASON = "CHECK constraint failed: mag BETWEEN"
SLOWLY = {"rate": 1, "steps": [], "breaker_percent": None}


@pytest.fixture(scope="module")
def site(product: Product) -> Iterator[Site]:
    """A second web server of the product, for which two records need a second person."""
    with product.another_web(APPROVAL_ABOVE="1") as url:
        yield Site(url, "demo", product.password)


@pytest.fixture
def magnitudes(product: Product) -> None:
    """Events with an impossible magnitude, which no other test sends; all are indexed."""
    producer = Producer({"bootstrap.servers": product.bootstrap_servers, "log_level": 2})
    for event in events_with("phone", "mag", 99.0, RECORDS):
        producer.produce(TOPIC, key=event.key, value=event.value)
    assert producer.flush(INDEXED_S) == 0
    with product.client() as client:

        def is_indexed() -> bool:
            found = client.get("dead-letters", params={"q": f'"{REASON}"', "limit": 1}).raise_for_status()
            return bool(found.json()["total"]["count"] == RECORDS)

        wait_until(is_indexed, "The index of impossible magnitudes", INDEXED_S, 0.5)


@pytest.mark.soak
@pytest.mark.usefixtures("magnitudes")
def test_a_replay_is_approved_paused_and_cancelled_on_a_phone(person: Person) -> None:
    asker, approver = person("asker"), person("ruth")
    steps.plan_group(asker, REASON, RECORDS)
    send(asker, asker.url.rpartition("/")[2], SLOWLY)
    asker.reload()
    asker.get_by_role("textbox", name="Reason").fill("the stations report again")
    asker.get_by_role("button", name=f"Ask for approval of {RECORDS} records").click()
    expect(asker.get_by_text("asker asked for approval")).to_be_visible()
    approver.set_viewport_size(PHONE)
    with without_complaints(approver), claim("a phone is enough to approve"):
        approver.goto("/")
        tap(approver.get_by_role("link").filter(has_text=re.compile(rf"R-\d+: .*, {RECORDS} records")).first)
        expect(approver.get_by_text("asker gives this reason: “the stations report again”")).to_be_visible()
        fits(approver, "phone-approving", PHONE["width"])
        tap(approver.get_by_role("button", name="Approve", exact=True))
        expect(approver.get_by_text("Approved by ruth")).to_be_visible()
    asker.reload()
    steps.run(asker, RECORDS, "the stations report again")
    status = asker.get_by_test_id("status")
    expect(status).to_be_visible()
    asker.set_viewport_size(PHONE)
    with without_complaints(asker):
        with claim("a phone is enough to pause"):
            tap(asker.get_by_role("button", name="Pause"))
            expect(status).to_contain_text("Paused", timeout=steps.SETTLED_MS)
            fits(asker, "phone-paused", PHONE["width"])
        with claim("a phone is enough to cancel"):
            tap(asker.get_by_role("button", name="Cancel…"))
            dialog = asker.get_by_role("dialog")
            dialog.get_by_label("Reason").fill("the stations are down again")
            tap(dialog.get_by_role("button", name=re.compile(r"^Cancel the \d+ queued records$")))
            expect(status).to_contain_text("Cancelled", timeout=steps.SETTLED_MS)


def test_a_finding_is_dismissed_on_a_phone(person: Person) -> None:
    page = person("colleague")
    page.set_viewport_size(PHONE)
    page.goto("/")
    findings = page.get_by_test_id("finding")
    address = findings.first.get_by_role("link").get_attribute("href")
    with without_complaints(page):
        tap(findings.first.get_by_role("button", name="Dismiss"))
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Reason").fill("The day shift repairs it.")
        fits(page, "phone-dismissing", PHONE["width"])
        tap(dialog.get_by_role("button", name="Dismiss", exact=True))
        expect(findings.locator(f'a[href="{address}"]')).to_have_count(0)


def send(page: Page, replay: str, options: dict[str, object]) -> None:
    """Change the options of a plan."""
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    headers = {"X-CSRFToken": token, "Referer": page.url}
    answer = page.request.post(f"/api/v1/replays/{replay}/plan", data=options, headers=headers)
    assert answer.ok, answer.text()


def tap(button: Locator) -> None:
    """Press a button that lies whole within the window, as a thumb does."""
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]
    button.click()

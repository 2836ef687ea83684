"""The screens of fix and replay, in both themes and at three widths, with a replay under way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, StorageState, expect

from demo.network import wait_until
from tests.browser.conftest import DESKTOP, Site
from tests.browser.replays import steps
from tests.browser.screens import fits_everywhere
from tests.support import table
from tests.support.product import Product

UNDER_WAY_S = 90
SCROLLED_S = 10
FIX_HEIGHT = 1240  # plan and send panel are below the value


@pytest.fixture(scope="module")
def job(own_product: Product) -> Iterator[str]:
    """The address of a slow replay of every record, of which some have passed and some have failed again."""
    table.allow_null(own_product, "gap", "dmin", "nst", "rms")
    with own_product.client() as client:
        selection = client.post("selections", json={"filter": "from=now-1h&to=now"}).raise_for_status().json()["id"]
        at_once = {"steps": [], "breaker_percent": None}
        options = {"selection": selection, "use_fixes": False, "rate": 5, **at_once}
        planned = client.post("replays", json=options).raise_for_status().json()
        replay, digest = planned["id"], planned["plan"]["digest"]
        why = {"reason": "The columns may be null now.", "plan_digest": digest}
        client.post(f"replays/{replay}/run", json=why).raise_for_status()

        def under_way() -> bool:
            counts = client.get(f"replays/{replay}").raise_for_status().json()["counts"]
            return bool(counts["passed"] > 50 and counts["failed_again"])

        wait_until(under_way, "The replay", UNDER_WAY_S, 1)
        yield f"/replays/{replay}"
        client.post(f"replays/{replay}/cancel", json={"reason": "The pictures are taken."})  # it may be through already


@pytest.fixture(scope="module")
def fix(chromium: Browser, site: Site, signed_in: StorageState) -> str:
    """The address of a checked fix: the magnitude that the record lost is there again."""
    context = chromium.new_context(base_url=site.url, viewport=DESKTOP, storage_state=signed_in)
    page = context.new_page()
    page.goto("/records?stage=TRANSFORMATION&text=nc72962376")
    page.get_by_test_id("record").last.click()
    steps.start_fix(page)
    steps.replace_after(page, "mag", '"n/a"', "1.31")
    page.get_by_role("button", name="Check the plan of 1 record").click()
    expect(page.get_by_test_id("plan")).to_be_visible()
    address = page.url
    context.close()
    return address


def test_the_fix_fits_its_window(page: Page, fix: str) -> None:
    def show() -> None:
        page.goto(fix)
        expect(page.get_by_test_id("plan")).to_be_visible()
        expect(page.get_by_test_id("difference")).to_be_visible()

    fits_everywhere(page, "fix-and-replay", show, FIX_HEIGHT)


def test_the_panes_of_a_fix_scroll_together(page: Page, fix: str) -> None:
    page.goto(fix)
    expect(page.get_by_test_id("difference")).to_be_visible()
    original, edited = (page.get_by_role("textbox", name=f"{side} value") for side in ("Original", "Edited"))
    wheel(page, edited, 200)
    wait_until(lambda: 0 < down(original) == down(edited), "The original", SCROLLED_S, 0.1)
    wheel(page, original, -200)
    wait_until(lambda: down(original) == down(edited) == 0, "The edited text", SCROLLED_S, 0.1)


def wheel(page: Page, text: Locator, pixels: int) -> None:
    """Turn the wheel over the beginning of a text."""
    box = text.locator("xpath=ancestor::*[contains(@class, 'pane')][1]").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.wheel(0, pixels)


def down(text: Locator) -> float:
    """How many pixels its pane is scrolled down."""
    return float(text.evaluate("text => text.closest('[class*=pane]').scrollTop"))


def test_the_job_fits_its_window(page: Page, job: str) -> None:
    def show() -> None:
        page.goto(job)
        expect(page.get_by_test_id("item").first).to_be_visible()

    fits_everywhere(page, "replay-job", show)


def test_the_list_of_replays_fits_its_window(page: Page, job: str) -> None:
    def show() -> None:
        page.goto("/replays")
        expect(page.get_by_role("link", name=job.replace("/replays/", "R-")).first).to_be_visible()

    fits_everywhere(page, "replays", show)

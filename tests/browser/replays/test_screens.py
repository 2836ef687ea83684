"""The screens of fix and replay, in both themes and at three widths, with a replay under way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from dlqadmin.host.network import wait_until
from tests.browser.claims import claim
from tests.browser.replays import steps
from tests.browser.screens import fits_everywhere
from tests.support import table
from tests.support.product import Product

UNDER_WAY_S = 90
SCROLLED_S = 10
PER_SECOND = 1
FIX_HEIGHT = 1240  # plan and send panel are below the value


@pytest.fixture(scope="module")
def job(product: Product, failures: dict[str, set[str]]) -> Iterator[int]:
    """The id of a slow replay that has just begun, of which some records pass and some fail again."""
    table.allow_null(product, "place")
    with product.client() as client:
        filtered = "text=earthquakes.place&text=earthquakes.status&from=now-1h&to=now"
        selection = client.post("selections", json={"filter": filtered}).raise_for_status().json()["id"]
        at_once: dict[str, Any] = {"steps": [], "breaker_percent": None}
        options = {"selection": selection, "use_fixes": False, "rate": PER_SECOND, **at_once}
        planned = client.post("replays", json=options).raise_for_status().json()
        assert planned["plan"]["to_send"] == len(failures["place"] | failures["status"])
        replay, digest = planned["id"], planned["plan"]["digest"]
        why = {"reason": "The place may be null now.", "plan_digest": digest}
        client.post(f"replays/{replay}/run", json=why).raise_for_status()
        yield replay
        client.post(f"replays/{replay}/cancel", json={"reason": "The pictures are taken."})  # it may be through already


@pytest.mark.usefixtures("job")
def test_the_fix_fits_its_window_and_its_panes_scroll_together(page: Page) -> None:
    page.goto("/records?stage=TRANSFORMATION&text=nc72962376")
    page.get_by_test_id("record").last.click()
    steps.start_fix(page)
    steps.replace_after(page, "mag", '"n/a"', "1.31")  # the magnitude that the record lost
    page.get_by_role("button", name="Check the plan of 1 record").click()
    expect(page.get_by_test_id("plan")).to_be_visible()
    address = page.url

    def show() -> None:
        page.goto(address)
        expect(page.get_by_test_id("plan")).to_be_visible()
        expect(page.get_by_test_id("difference")).to_be_visible()

    with claim("the fix fits its window"):
        fits_everywhere(page, "fix-and-replay", show, FIX_HEIGHT)
    with claim("the panes scroll together"):
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


@pytest.mark.soak  # tests/browser/test_screens.py shows the list
def test_a_replay_under_way_and_the_list_of_replays_fit_their_windows(page: Page, product: Product, job: int) -> None:
    with product.client() as client:

        def is_under_way() -> bool:
            counts = client.get(f"replays/{job}").raise_for_status().json()["counts"]
            return bool(counts["passed"] and counts["failed_again"])

        wait_until(is_under_way, "The replay", UNDER_WAY_S, 0.5)

    def show() -> None:
        page.goto(f"/replays/{job}")
        expect(page.get_by_test_id("item").first).to_be_visible()

    def show_list() -> None:
        page.goto("/replays")
        expect(page.get_by_role("link", name=f"R-{job}").first).to_be_visible()

    with claim("a replay under way fits its window"):
        fits_everywhere(page, "replay-job", show)
    with claim("the list of replays fits its window"):
        fits_everywhere(page, "replays", show_list)

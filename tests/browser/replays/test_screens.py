"""The screens of fix and replay, in both themes and at three widths, with a replay under way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from demo.network import wait_until
from tests.browser.conftest import DESKTOP, Site
from tests.browser.replays import steps
from tests.browser.screens import WIDTHS, fits
from tests.support import table
from tests.support.product import Product

UNDER_WAY_S = 90
FIX_HEIGHT = 1240  # plan and send panel are below the value


@pytest.fixture(scope="module")
def job(own_product: Product) -> Iterator[str]:
    """The address of a slow replay of every record, of which some have passed and some have failed again."""
    table.allow_null(own_product, "gap", "dmin", "nst", "rms")
    with own_product.client() as client:
        selection = client.post("selections", json={"filter": "from=now-1h&to=now"}).raise_for_status().json()["id"]
        options = {"selection": selection, "target_topic": "", "use_fixes": False, "resend": False, "rate": 5}
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


@pytest.mark.parametrize("width", WIDTHS)
def test_the_fix_fits_its_window(themed: Page, fix: str, width: int) -> None:
    with fits(themed, "fix-and-replay", width, FIX_HEIGHT):
        themed.goto(fix)
        expect(themed.get_by_test_id("plan")).to_be_visible()
        expect(themed.get_by_test_id("difference")).to_be_visible()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_job_fits_its_window(themed: Page, job: str, width: int) -> None:
    with fits(themed, "replay-job", width):
        themed.goto(job)
        expect(themed.get_by_test_id("item").first).to_be_visible()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_of_replays_fits_its_window(themed: Page, job: str, width: int) -> None:
    with fits(themed, "replays", width):
        themed.goto("/replays")
        expect(themed.get_by_role("link", name=job.replace("/replays/", "R-")).first).to_be_visible()

"""Every screen in both themes and at three widths; with SCREENS set, the pictures go to docs/screens."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, StorageState

from tests.browser.conftest import Site

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "screens"
SCREENS = {
    "overview": "/?range=1h",
    "groups": "/groups?range=1h",
    "records": "/records?from=now-1h",
    "record": "/records?stage=VALUE_CONVERTER",
    "connectors": "/connectors/usgs-to-sql",
    "audit": "/audit",
}
WIDTHS = {1440: 1000, 1280: 900, 390: 844}


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, chromium: Browser, site: Site, signed_in: StorageState) -> Iterator[Page]:
    context = chromium.new_context(base_url=site.url, color_scheme=request.param, storage_state=signed_in)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_screen_fits_its_window_and_complains_of_nothing(page: Page, screen: str, width: int) -> None:
    complaints: list[str] = []
    page.on("console", lambda message: complaints.extend(complaint(message)))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_viewport_size({"width": width, "height": WIDTHS[width]})
    page.goto(SCREENS[screen])
    if screen == "record":
        page.get_by_test_id("record").first.click()
        page.get_by_role("heading", name="Timeline").wait_for()
    page.locator("[aria-busy=true]").first.wait_for(state="detached")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert complaints == []
    picture(page, screen, width)


def complaint(message: ConsoleMessage) -> list[str]:
    return [message.text] if message.type in {"error", "warning"} else []


def picture(page: Page, screen: str, width: int) -> None:
    """Keep the desktop's pictures, when asked to."""
    if "SCREENS" in os.environ and width == 1440:
        theme = page.evaluate("document.documentElement.dataset.mantineColorScheme")
        page.screenshot(path=PICTURES / f"{screen}-{theme}.png")

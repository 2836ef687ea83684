"""Every screen in both themes and at three widths."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.screens import WIDTHS, fits

SCREENS = {
    "overview": "/?range=1h",
    "groups": "/groups?range=1h",
    "records": "/records?from=now-1h",
    "record": "/records?stage=VALUE_CONVERTER",
    "connectors": "/connectors/usgs-to-sql",
    "audit": "/audit",
}


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_screen_fits_its_window_and_complains_of_nothing(themed: Page, screen: str, width: int) -> None:
    with fits(themed, screen, width):
        themed.goto(SCREENS[screen])
        if screen == "record":
            themed.get_by_test_id("record").first.click()
            themed.get_by_role("heading", name="Timeline").wait_for()
        themed.locator("[aria-busy=true]").first.wait_for(state="detached")
        themed.wait_for_load_state("networkidle")

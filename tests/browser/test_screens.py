"""Every screen in both themes and at three widths."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import close_live_events
from tests.browser.screens import fits_everywhere

SCREENS = {
    "overview": "/?range=1h",
    "groups": "/groups?range=1h",
    "records": "/records?from=now-1h",
    "record": "/records?stage=VALUE_CONVERTER",
    "connectors": "/connectors/usgs-to-sql",
    "topics": "/topics",
    "topic": "/topics/usgs.earthquakes?range=1h&partition=1&offset=100",
    "exports": "/exports",
    "clusters": "/settings/clusters",
    "audit": "/audit",
    "profile": "/profile",
    "not-found": "/nowhere",
}

MOST_SHIFT = 0.05
# The sum of the shifts since the page was opened, without those that a person caused.
LAYOUT_SHIFT = """new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(sum), 100); // buffered entries arrive in a task of their own
})"""


@pytest.mark.parametrize("screen", SCREENS)
def test_a_screen_fits_its_window_bars_nobody_and_complains_of_nothing(page: Page, screen: str) -> None:
    close_live_events(page)

    def show() -> None:
        page.goto(SCREENS[screen])
        page.get_by_role("heading", level=1).wait_for()
        if screen == "record":
            page.get_by_test_id("record").first.click()
            page.get_by_role("heading", name="Timeline").wait_for()
            page.reload()  # the shifts are those of this screen alone, and no click hides some of them
            page.get_by_role("heading", name="Timeline").wait_for()
        page.locator("[aria-busy=true]").first.wait_for(state="detached")
        page.wait_for_load_state("networkidle")

    fits_everywhere(page, screen, show)
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        show()
        assert page.evaluate(LAYOUT_SHIFT) <= MOST_SHIFT, (screen, width)

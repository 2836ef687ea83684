"""Every screen in both themes and at three widths."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import close_live_events
from tests.browser.screens import fits_everywhere, stays_still

SCREENS = {
    "overview": "/?range=1h",
    "trends": "/trends",
    "groups": "/groups?range=1h",
    "records": "/records?from=now-1h",
    "record": "/records?connector=usgs-to-sql&stage=VALUE_CONVERTER",
    "fix": "/records?stage=TRANSFORMATION",
    "fixes": "/fixes",
    "replays": "/replays",
    "connectors": "/connectors/usgs-to-sql",
    "connector-edit": "/connectors/engine/usgs-to-sql/edit",
    "connector-new": "/new-connector",
    "topics": "/topics",
    "topic": "/topics/usgs.earthquakes?range=1h&partition=1&offset=100",
    "exports": "/exports",
    "clusters": "/settings/clusters",
    "registries": "/settings/registries",
    "masking": "/settings/masking",
    "dialects": "/settings/dialects",
    "mapping-new": "/settings/dialects/new",
    "audit": "/audit",
    "profile": "/profile",
    "not-found": "/nowhere",
}

# The screen of the first listed record: the end of its path, and a heading or text that is there when it is whole.
OF_A_RECORD = {"record": ("", "Timeline"), "fix": ("/fix", "Dry run: nothing has been written")}


@pytest.mark.parametrize("screen", SCREENS)
def test_a_screen_fits_its_window_bars_nobody_and_complains_of_nothing(page: Page, screen: str) -> None:
    close_live_events(page)

    def show() -> None:
        page.goto(SCREENS[screen])
        page.get_by_role("heading", level=1).wait_for()
        if screen in OF_A_RECORD:
            end, words = OF_A_RECORD[screen]
            page.get_by_test_id("record").first.click()
            page.get_by_role("heading", name="Timeline").wait_for()
            # Loaded anew: the shifts are those of this screen alone, and no click hides some of them.
            page.goto(page.url.partition("?")[0] + end)
            page.get_by_text(words).first.wait_for()
        page.locator("[aria-busy=true]").first.wait_for(state="detached")
        page.wait_for_load_state("networkidle")

    fits_everywhere(page, screen, show)
    stays_still(page, screen, show)

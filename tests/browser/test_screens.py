"""Every screen in both themes and at three widths."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route

from dlqadmin.host.network import wait_until
from tests.browser.conftest import PATIENCE_MS, Site, close_live_events
from tests.browser.screens import fits_everywhere

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
    "alerts": "/alerts",
    "alert-rule": "/alerts/rules/{rule}",
    "alert-rule-new": "/alerts/rules/new?template=1",
    "alert": "/alerts/firings/{alert}",
    "exports": "/exports",
    "clusters": "/settings/clusters",
    "registries": "/settings/registries",
    "people": "/settings/people?team=everybody",
    "ownership": "/settings/ownership",
    "mentions": "/mentions",
    "erase": "/settings/erase",
    "channels": "/settings/channels",
    "masking": "/settings/masking",
    "dialects": "/settings/dialects",
    "mapping-new": "/settings/dialects/new",
    "audit": "/audit",
    "profile": "/profile",
    "invitation": "/invitation/unknown",
    "not-found": "/nowhere",
}

LATE_S = 0.5
# What the server would answer to the link of an open invitation.
OFFER = {
    "name": "sam@example.com",
    "team": "earthquakes",
    "roles": ["operator"],
    "inviter": "demo",
    "username": None,
    "expires_at": "2030-01-01T00:00:00Z",
}
# The screen of the first listed record: the end of its path, and a heading or text that is there when it is whole.
OF_A_RECORD = {"record": ("", "Timeline"), "fix": ("/fix", "Dry run: nothing has been written")}


RULE = {"name": "Any dead letter", "conditions": [{"kind": "records", "more_than": 0, "within_s": 86_400}]}


@pytest.fixture(scope="module")
def alert(tab: Page, site: Site) -> Iterator[dict[str, int]]:
    """A rule that fires, and its alert. It tells no channel."""
    token = next(cookie["value"] for cookie in tab.context.cookies() if cookie["name"] == "csrftoken")
    headers = {"X-CSRFToken": token, "Referer": site.url}
    made = tab.request.post("/api/v1/alert-rules", data=RULE, headers=headers)
    assert made.status == 201, made.text()
    rule = made.json()["id"]
    found: list[dict[str, int]] = []

    def is_fired() -> bool:
        found.extend(tab.request.get(f"/api/v1/alerts?rule={rule}").json()["results"])
        return bool(found)

    wait_until(is_fired, "the alert of the rule", PATIENCE_MS / 1000, every_s=0.5)
    yield {"rule": rule, "alert": found[0]["id"]}
    tab.request.delete(f"/api/v1/alert-rules/{rule}", headers=headers)


def offer_late(route: Route) -> None:
    """Answer after the page has drawn its waiting state: what comes then must not move what is there."""
    time.sleep(LATE_S)
    route.fulfill(json=OFFER)


@pytest.mark.parametrize("screen", SCREENS)
def test_a_screen_fits_its_window_bars_nobody_and_complains_of_nothing(
    page: Page, screen: str, request: pytest.FixtureRequest
) -> None:
    close_live_events(page)
    page.route("**/api/v1/invitations/offer", offer_late)
    known = request.getfixturevalue("alert") if screen.startswith("alert") else {}

    def show() -> None:
        page.goto(SCREENS[screen].format(**known))
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

    fits_everywhere(page, screen, show, still=True)

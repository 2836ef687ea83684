"""Who may only look sees every button, and which role is missing."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.replays import steps
from tests.browser.replays.conftest import Person


def test_a_viewer_is_told_which_role_replays_need(person: Person) -> None:
    viewer = person("reader")
    group = steps.open_group(viewer, "TRANSFORMATION")
    expect_barred(group.get_by_role("button", name="Replay "))
    viewer.get_by_role("link", name="Records").first.click()
    viewer.get_by_test_id("record").first.click()
    expect_barred(viewer.get_by_role("button", name="Fix and replay…"))
    expect(viewer.get_by_text("Content withheld")).to_be_visible()
    viewer.goto(f"{viewer.url.partition('?')[0]}/fix")
    expect(viewer.get_by_text("It needs the right payload reader.")).to_be_visible()


@pytest.mark.soak  # tests/security/test_permission_matrix.py shows it without a browser
def test_a_viewer_sees_the_replays_of_others(page: Page, person: Person) -> None:
    steps.plan_group(page, "earthquakes.dmin", 2)
    viewer = person("reader")
    viewer.goto(page.url)
    expect(viewer.get_by_test_id("plan")).to_contain_text("Selection frozen")
    expect_barred(viewer.get_by_role("button", name="Replay 2 records"))
    expect(viewer.get_by_label("Reason")).to_be_disabled()


def expect_barred(button: Locator) -> None:
    """The button stays, does nothing, and says why."""
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_attribute("aria-description", "Needs the role operator")

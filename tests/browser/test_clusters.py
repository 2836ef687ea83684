"""Settings in the browser: how the cluster is connected to, how far its index is, and a connection on trial."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.axe import barriers
from tests.browser.claims import claim


def test_the_cluster_and_its_index_are_shown_and_its_connection_tested(page: Page) -> None:
    # Given the settings, reached by keys from anywhere,
    page.goto("/")
    page.get_by_role("heading", name="Overview", level=1).wait_for()
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.get_by_role("heading", name="Clusters", level=1).wait_for()
    own = page.get_by_role("region", name="local", exact=True)
    expect(own).to_contain_text("PLAINTEXT")
    # when somebody tests the connection,
    own.get_by_role("button", name="Test connection").click()
    # does it say how far it went, what it may do, and what it did not find out,
    trial = own.get_by_test_id("trial")
    expect(trial).to_contain_text("1 broker reached, without encryption")
    expect(trial).to_contain_text("nothing known to be missing, as User:ANONYMOUS")
    expect(trial.get_by_role("row", name="group dlqadmin-index")).to_contain_text("ok")
    expect(trial.get_by_role("row", name="transactional id dlqadmin-replay-…")).to_contain_text("not checked")
    # and is nobody barred from reading it?
    assert barriers(page) == []
    with claim("the index is as far as its topics"):
        row = page.get_by_test_id("followed").first
        expect(row).to_contain_text("usgs.earthquakes.dlq")
        expect(row).to_contain_text("up to date")


def test_chosen_columns_stay_after_a_reload(page: Page) -> None:
    # Given a list with a column more and one less,
    page.goto("/records?from=now-24h")
    page.get_by_role("button", name="Columns").click()
    page.get_by_label("Replay state").check()
    page.get_by_label("Key", exact=True).uncheck()
    expect(page.get_by_role("columnheader", name="Replay")).to_be_visible()
    # when the page is loaded again,
    page.reload()
    # is it as it was?
    expect(page.get_by_role("columnheader", name="Replay")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Key", exact=True)).to_have_count(0)
    expect(page.get_by_test_id("record").first).to_contain_text("not replayed")

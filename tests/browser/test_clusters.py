"""Settings in the browser: how the cluster is connected to, how far its index is, and a connection on trial."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.axe import barriers
from tests.browser.claims import claim
from tests.browser.screens import fits_everywhere


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


def test_an_administrator_adds_tests_changes_disables_and_removes_a_cluster(page: Page) -> None:
    # Given the own broker under another address,
    page.goto("/settings/clusters")
    own = page.get_by_role("region", name="local", exact=True)
    servers = own.get_by_role("definition").first.inner_text().replace("127.0.0.1", "localhost")
    eu = page.get_by_role("region", name="eu", exact=True)
    dialog = page.get_by_role("dialog")
    # when an administrator enters it and tests the connection before it is saved,
    page.get_by_role("button", name="Add cluster…").click()
    dialog.get_by_label("Name", exact=True).fill("eu")
    dialog.get_by_label("Bootstrap servers").fill(servers)
    dialog.get_by_label("Environment").fill("test")
    dialog.get_by_label("Colour").select_option("purple")
    dialog.get_by_role("button", name="Test connection").click()
    # does the test tell the rights, and is the cluster marked once it is saved?
    expect(dialog.get_by_test_id("trial")).to_contain_text("1 broker reached, without encryption")
    fits_everywhere(page, "cluster-dialog")
    dialog.get_by_role("button", name="Add cluster").click()
    expect(dialog).to_have_count(0)
    expect(eu).to_contain_text("TEST")
    expect(eu).to_contain_text("Not indexed, replays may write here")
    with claim("every screen tells the clusters apart"):
        page.goto("/records?from=now-24h")
        expect(page.get_by_role("columnheader", name="Cluster")).to_be_visible()
        expect(page.get_by_test_id("record").first).to_contain_text("local")
        page.get_by_test_id("record").first.click()
        expect(page.get_by_test_id("cluster-banner")).to_contain_text("local")
        page.goto("/topics?cluster=eu")
        expect(page.get_by_label("Cluster", exact=True)).to_have_value("eu")
        expect(page.get_by_test_id("topic").first).to_be_visible()
    with claim("it is changed, disabled and removed"):
        page.goto("/settings/clusters")
        eu.get_by_role("button", name="Edit…").click()
        dialog.get_by_label("Read-only").check()
        dialog.get_by_role("button", name="Save").click()
        expect(eu).to_contain_text("Read-only")
        fits_everywhere(page, "clusters-several")
        eu.get_by_role("button", name="Disable…").click()
        dialog.get_by_role("button", name="Disable", exact=True).click()
        expect(eu).to_contain_text("Disabled")
        eu.get_by_role("button", name="Remove…").click()
        expect(dialog).to_contain_text("Its indexed dead letters stay")
        dialog.get_by_role("button", name="Remove", exact=True).click()
        expect(eu).to_have_count(0)
        page.goto("/records?from=now-24h")
        expect(page.get_by_test_id("record").first).to_be_visible()
        expect(page.get_by_role("columnheader", name="Cluster")).to_have_count(0)

"""Clusters that an administrator adds on the screen, and their marks on other screens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.claims import claim
from tests.browser.conftest import Site, signed_in
from tests.browser.screens import fits_everywhere
from tests.support.product import Product


@pytest.fixture
def administrator(chromium: Browser, product: Product, site: Site) -> Iterator[Page]:
    """A tab of a superuser."""
    context = signed_in(chromium, Site(site.url, "clusters-1", product.add_administrator("clusters-1")))
    yield context.new_page()
    context.close()


def test_an_administrator_adds_tests_changes_disables_and_removes_a_cluster(administrator: Page) -> None:
    # Given the own broker under another address,
    page = administrator
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

"""A chromium that is signed in to the running product.

BROWSER_URL and BROWSER_PASSWORD point the tests at a product that runs already, for instance that of `make run`
with DEMO_TRICKLE_PER_MINUTE=0.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page, StorageState, ViewportSize, expect, sync_playwright

from tests.support.product import Product

DESKTOP: ViewportSize = {"width": 1440, "height": 1000}
PATIENCE_MS = 20_000  # for what is to be seen on a machine that runs the product, its broker and Spark too

expect.set_options(timeout=PATIENCE_MS)


class Site(NamedTuple):
    """Where the dashboard is, and who may sign in."""

    url: str
    username: str
    password: str


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest) -> Site:
    """The dashboard at the mark: the first batch is through and indexed."""
    url = os.environ.get("BROWSER_URL")
    if url:
        return Site(url, "demo", os.environ.get("BROWSER_PASSWORD", ""))
    product: Product = request.getfixturevalue("product")
    return Site(product.web, "demo", product.password)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's chromium; Playwright's own where there is none."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visitor(chromium: Browser, site: Site) -> Iterator[Page]:
    """A page of somebody who has not signed in."""
    context = chromium.new_context(base_url=site.url, viewport=DESKTOP)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="session")
def signed_in(chromium: Browser, site: Site) -> StorageState:
    """The cookies of the operator, who signs in once."""
    context = chromium.new_context(base_url=site.url)
    sign_in(context.new_page(), site.username, site.password)
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def page(chromium: Browser, site: Site, signed_in: StorageState) -> Iterator[Page]:
    """A page of the signed-in operator, at the overview."""
    context = chromium.new_context(base_url=site.url, viewport=DESKTOP, storage_state=signed_in)
    page = context.new_page()
    page.goto("/")
    yield page
    context.close()


@pytest.fixture(params=["light", "dark"])
def themed(request: pytest.FixtureRequest, chromium: Browser, site: Site, signed_in: StorageState) -> Iterator[Page]:
    """A page of the signed-in operator, once in each theme."""
    context = chromium.new_context(base_url=site.url, color_scheme=request.param, storage_state=signed_in)
    yield context.new_page()
    context.close()


def sign_in(page: Page, username: str, password: str) -> None:
    """Sign in by the form."""
    page.goto("/")
    page.get_by_label("User name").fill(username)
    page.get_by_role("textbox", name="Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Overview").wait_for()

"""A chromium that is signed in to the running product.

All tests share one product, one browser profile and one tab. A profile of its own costs a test two seconds of CPU,
because nothing is cached there; a new tab costs it half a second.

BROWSER_URL and BROWSER_PASSWORD point the tests at a product that runs already, for instance that of `make run`
with DEMO_TRICKLE_PER_MINUTE=0 and DEMO_PAST_WEEK=false.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright

from tests.support.product import Product

DESKTOP: ViewportSize = {"width": 1440, "height": 1000}
PATIENCE_MS = 40_000  # for what is to be seen on a slow machine that runs the product, its broker and Spark too
WRITING = Path(__file__).parent / "replays"

expect.set_options(timeout=PATIENCE_MS)


class Site(NamedTuple):
    """Where the dashboard is, and who may sign in."""

    url: str
    username: str
    password: str


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests, which share one product.

    Those that know the numbers of the first batch come before those that write; the one that ends the product is last.
    """
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    used = getattr(item, "fixturenames", ())
    if "product_to_end" in used:
        return 2
    return int(item.path.is_relative_to(WRITING) or "two_teams" in used)


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
    """The system's chromium; Playwright's own where there is none.

    The shell without windows draws the same pages, and takes a third less time.
    """
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visitor(chromium: Browser, site: Site) -> Iterator[Page]:
    """A page of somebody who has not signed in, and who never saw the dashboard."""
    context = chromium.new_context(base_url=site.url, viewport=DESKTOP)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="session")
def tab(chromium: Browser, site: Site) -> Iterator[Page]:
    """The tab of the operator, who signs in once."""
    context = signed_in(chromium, site)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """The operator's tab, empty; what a test does to it is undone."""
    yield tab
    restore(tab)


@pytest.fixture(scope="session")
def clocked_tab(chromium: Browser, site: Site) -> Iterator[Page]:
    """A tab of the operator in a profile of its own, whose clock a test can turn forward."""
    context = signed_in(chromium, site)
    context.clock.install()
    yield context.new_page()
    context.close()


@pytest.fixture
def clocked_page(clocked_tab: Page) -> Iterator[Page]:
    """The operator's tab with the clock, empty: screens ask again when `clock.fast_forward` says that it is time."""
    yield clocked_tab
    restore(clocked_tab)


def restore(tab: Page) -> None:
    """Leave the dashboard; forget what it kept in the browser, routes, theme and size."""
    tab.unroute_all(behavior="ignoreErrors")
    if tab.url.startswith("http"):
        tab.evaluate("localStorage.clear()")
    tab.goto("about:blank")
    tab.emulate_media(color_scheme="light")
    tab.set_viewport_size(DESKTOP)


def close_live_events(page: Page) -> None:
    """Let the tab poll: a stream of live events keeps the network busy, and overwrites changed responses."""
    ended = "retry: 3600000\n\n"  # the browser opens it again in an hour
    page.route("**/api/v1/live", lambda route: route.fulfill(content_type="text/event-stream", body=ended))


def signed_in(chromium: Browser, site: Site) -> BrowserContext:
    """Return a new profile of somebody who has signed in through the API."""
    context = chromium.new_context(base_url=site.url, viewport=DESKTOP)
    context.request.get("/api/v1/session")
    token = next(cookie["value"] for cookie in context.cookies() if cookie["name"] == "csrftoken")
    answer = context.request.post(
        "/api/v1/session",
        data={"username": site.username, "password": site.password},
        headers={"X-CSRFToken": token, "Referer": site.url},
    )
    assert answer.json()["authenticated"], answer.text()
    return context


def sign_in(page: Page, username: str, password: str) -> None:
    """Sign in by the form."""
    page.goto("/")
    page.get_by_label("User name").fill(username)
    page.get_by_role("textbox", name="Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Overview").wait_for()

"""A product of the replays' own: they write to its topics, so the numbers at the other one's mark stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, StorageState

from tests.browser.conftest import DESKTOP, Site, sign_in
from tests.support.product import Product

Person = Callable[[str, str], Page]


@pytest.fixture(scope="package")
def own_product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """A whole product that tests may write to, at the mark when it starts."""
    started = Product(tmp_path_factory.mktemp("replays")).start()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def site(own_product: Product) -> Site:
    """The dashboard of the replays' own product, or of the module's where it has one of its own."""
    return Site(own_product.web, "demo", own_product.password)


@pytest.fixture(scope="module")
def signed_in(chromium: Browser, site: Site) -> StorageState:
    """The cookies of its operator."""
    context = chromium.new_context(base_url=site.url)
    sign_in(context.new_page(), site.username, site.password)
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def person(chromium: Browser, own_product: Product) -> Iterator[Person]:
    """Makes a page of somebody else: `person(name, role)`, signed in, at the overview."""
    contexts: list[BrowserContext] = []

    def made(name: str, role: str) -> Page:
        contexts.append(chromium.new_context(base_url=own_product.web, viewport=DESKTOP))
        page = contexts[-1].new_page()
        sign_in(page, name, own_product.add_user(name, role))
        return page

    yield made
    for context in contexts:
        context.close()

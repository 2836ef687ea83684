"""A muted group comes back by itself, once as much failed as it was muted for."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.replays import steps
from tests.support import topics
from tests.support.product import Product

DEAD_LETTERS = "usgs.earthquakes.dlq"
FAILURE = "the widget broke while it was turned"
LOOKS = 15


def fail(product: Product, number: int) -> None:
    """Write a dead letter as Kafka Connect does, of a failure that nothing else has."""
    facts = {
        "topic": "widgets",
        "stage": "TASK_PUT",
        "exception.class.name": "WidgetError",
        "exception.message": FAILURE,
    }
    headers = tuple((f"__connect.errors.{name}", text.encode()) for name, text in facts.items())
    topics.send(product.bootstrap_servers, DEAD_LETTERS, b"widget-%d" % number, b"{}", headers)


def looking_again(page: Page, claim: Callable[[], None]) -> None:
    """Look until it is so: a list stays as it was until somebody asks again."""
    for _ in range(LOOKS - 1):
        try:
            return claim()
        except AssertionError:
            page.reload()
    return claim()


def test_a_group_muted_for_two_more_events_comes_back_with_the_second(page: Page, own_product: Product) -> None:
    fail(own_product, 1)
    page.goto("/groups?range=1h")
    row = page.get_by_test_id("group").filter(has_text=FAILURE)
    looking_again(page, lambda: expect(row).to_be_visible(timeout=2_000))
    chosen = steps.open_group(page, FAILURE)
    chosen.get_by_role("button", name="Mute…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("until so many more events").check()
    dialog.get_by_label("Events", exact=True).fill("2")
    dialog.get_by_role("button", name="Mute").click()
    expect(dialog).to_be_hidden()
    expect(row).to_be_hidden()
    page.get_by_role("tab", name="Muted").click()
    expect(row).to_contain_text("0 of 2 events so far")
    fail(own_product, 2)
    looking_again(page, lambda: expect(row).to_contain_text("1 of 2 events so far", timeout=2_000))
    fail(own_product, 3)
    looking_again(page, lambda: expect(row).to_be_hidden(timeout=2_000))
    page.get_by_role("tab", name="Unresolved").click()
    steps.open_group(page, FAILURE)
    expect(page.get_by_role("region", name="Chosen group")).to_contain_text(
        "no longer muted: 2 more events since it was muted"
    )

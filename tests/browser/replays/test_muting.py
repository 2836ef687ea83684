"""A muted group comes back by itself, once as much failed as it was muted for."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from dlqadmin.host.network import wait_until
from tests.browser.replays import steps
from tests.support import topics
from tests.support.product import Product

DEAD_LETTERS = "usgs.earthquakes.dlq"
FAILURE = "the widget broke while it was turned"
INDEXED_S = 60


def fail(product: Product, number: int) -> None:
    """Write a dead letter as Kafka Connect does, of a failure that nothing else has; return when all are indexed."""
    facts = {
        "topic": "widgets",
        "stage": "TASK_PUT",
        "exception.class.name": "WidgetError",
        "exception.message": FAILURE,
    }
    headers = tuple((f"__connect.errors.{name}", text.encode()) for name, text in facts.items())
    topics.send(product.bootstrap_servers, DEAD_LETTERS, b"widget-%d" % number, b"{}", headers)
    with product.client() as client:

        def is_indexed() -> bool:
            found = client.get("dead-letters", params={"text": FAILURE}).raise_for_status().json()
            return bool(found["total"]["count"] == number)

        wait_until(is_indexed, "The index", INDEXED_S, 0.2)


@pytest.mark.soak  # tests/dlqadmin/deadletters/index/test_mutes.py shows it in parts
def test_a_group_muted_for_two_more_events_comes_back_with_the_second(page: Page, product: Product) -> None:
    fail(product, 1)
    page.goto("/groups?range=1h")
    row = page.get_by_test_id("group").filter(has_text=FAILURE)
    expect(row).to_be_visible()
    chosen = steps.open_group(page, FAILURE)
    chosen.get_by_role("button", name="Mute…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("until a number of further events").check()
    dialog.get_by_label("Events", exact=True).fill("2")
    expect(dialog.get_by_role("button", name="Mute")).to_be_disabled()  # without a reason
    dialog.get_by_label("Reason").fill("Two more will tell.")
    dialog.get_by_role("button", name="Mute").click()
    expect(dialog).to_be_hidden()
    expect(row).to_be_hidden()
    page.get_by_role("tab", name="Muted").click()
    expect(row).to_contain_text("0 of 2 events so far")
    fail(product, 2)
    page.reload()  # a list stays as it was until somebody asks again
    expect(row).to_contain_text("1 of 2 events so far")
    fail(product, 3)
    with page.expect_response(re.compile(r"/api/v1/groups\?.*status=muted")) as asked:
        page.reload()
    assert asked.value.ok
    expect(row).to_be_hidden()
    page.get_by_role("tab", name="Unresolved").click()
    steps.open_group(page, FAILURE)
    expect(page.get_by_role("region", name="Chosen group")).to_contain_text(
        "no longer muted: 2 more events since it was muted"
    )

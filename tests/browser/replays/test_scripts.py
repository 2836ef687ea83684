"""What a record holds is data: a script in any part of it is read as text."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from dlqadmin.host.network import wait_until
from tests.browser.claims import claim
from tests.browser.conftest import close_live_events
from tests.support import topics
from tests.support.product import Product

INDEXED_S = 60
SCRIPT = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'><a href=\"javascript:window.ran=1\">x</a>"
TOPIC = "scripts.dlq"
PARTS = ["topic", "connector.name", "task.id", "class.name", "exception.class.name", "exception.message"]
CONTEXT = {
    **dict.fromkeys(PARTS, SCRIPT),
    "partition": "0",
    "offset": "7",
    "stage": "TASK_PUT",
    "exception.stacktrace": f"{SCRIPT}: {SCRIPT}\n  at {SCRIPT}:{SCRIPT}:1",
}


@pytest.fixture(scope="module")
def script(product: Product) -> str:
    """The address of a dead letter that is a script in its key, value, headers and every part of its error context."""
    headers = [(f"__connect.errors.{name}", text.encode()) for name, text in CONTEXT.items()]
    hostile = ((SCRIPT, SCRIPT.encode()), *headers)
    topics.create(product.bootstrap_servers, TOPIC)
    topics.send(product.bootstrap_servers, TOPIC, SCRIPT.encode(), SCRIPT.encode(), hostile)
    with product.client() as client:

        def rows() -> list[dict[str, int]]:
            found: list[dict[str, int]] = client.get(f"dead-letters?topic={TOPIC}").raise_for_status().json()["results"]
            return found

        wait_until(lambda: len(rows()) == 1, "The index", INDEXED_S, 0.5)
        return f"/records/{rows()[0]['id']}"


@pytest.fixture(autouse=True)
def polling(page: Page) -> None:
    """The network becomes idle."""
    close_live_events(page)


def expect_harmless(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.ran") is None
    assert page.locator("img[src=x], a[href^='javascript:'], body script:not([src])").count() == 0


def test_a_record_that_is_a_script_is_shown_as_text(page: Page, script: str) -> None:
    page.goto(script)
    for tab in ("Value", "Key", "Headers", "Error", "Raw hex"):
        with claim(f"in the tab {tab}"):
            page.get_by_role("tab", name=tab).click()
            if tab != "Raw hex":
                expect(page.get_by_role("main")).to_contain_text("<script>window.ran = 1</script>")
            expect_harmless(page)


@pytest.mark.parametrize(
    "path", ["/records?topic=scripts.dlq", "/groups?range=1h", "/", "/records?text=" + quote(SCRIPT)]
)
def test_a_list_with_a_script_shows_text(page: Page, script: str, path: str) -> None:
    page.goto(path)
    page.locator("[aria-busy=true]").first.wait_for(state="detached")
    expect_harmless(page)


def test_its_editor_and_the_palette_show_text(page: Page, script: str) -> None:
    page.goto(f"{script}/fix")
    expect(page.get_by_role("main")).to_contain_text("<script>window.ran = 1</script>")
    expect_harmless(page)
    page.keyboard.press("Escape")
    page.goto("/connectors")
    expect(page.get_by_role("heading", name="Connectors", exact=True)).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill("<script>")
    expect(page.get_by_role("option").first).to_contain_text("<script>")
    expect_harmless(page)


def test_its_exact_bytes_are_a_file_and_never_a_page(page: Page, script: str) -> None:
    answer = page.request.get(f"/api/v1/dead-letters/{script.rpartition('/')[2]}/bytes?part=value")
    assert answer.body() == SCRIPT.encode()
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"

"""Connectors and dead letter topics from the screen, against the real engine and the real indexer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.claims import claim
from tests.browser.conftest import Site, signed_in
from tests.browser.screens import fits_everywhere
from tests.support.product import Product

NAME, ODD, QUIET = "copied-orders", "shelved.orders", "quiet.dlq"


@pytest.fixture(scope="module")
def topics(product: Product) -> None:
    """A topic for a connector, and one with two dead letters that no pattern names, and one that a pattern does."""
    servers: dict[str, str | int | float | bool] = {"bootstrap.servers": product.bootstrap_servers, "log_level": 0}
    admin = AdminClient(servers)  # must live until the topics exist
    for made in admin.create_topics([NewTopic("orders", 2, 1), NewTopic(ODD, 1, 1), NewTopic(QUIET, 1, 1)]).values():
        made.result(20)
    producer = Producer(servers)
    headers: list[tuple[str, str | bytes | None]] = [
        ("__connect.errors.topic", b"orders"),
        ("__connect.errors.exception.message", b"no such table"),
    ]
    for number in range(2):
        producer.produce(ODD, json.dumps({"order": number}), headers=headers)
    assert producer.flush(30) == 0


@pytest.fixture
def administrator(chromium: Browser, product: Product, site: Site) -> Iterator[Page]:
    """A tab of a superuser."""
    context = signed_in(chromium, Site(site.url, "root-1", product.add_administrator("root-1")))
    yield context.new_page()
    context.close()


def option(page: Page, name: str) -> Locator:
    return page.locator(f"[data-option='{name}']")


def confirm(page: Page, verb: str, reason: str, name: str = "") -> None:
    dialog = page.get_by_role("dialog")
    if name:
        dialog.get_by_label(f"Enter {name} to confirm").fill(name)
    dialog.get_by_label("Reason").fill(reason)
    dialog.get_by_role("button", name=verb, exact=True).click()


@pytest.mark.usefixtures("topics")
def test_a_connector_is_created_changed_stopped_and_deleted_from_the_screen(page: Page, product: Product) -> None:
    with claim("a connector is created from its options, which are checked while they are written"):
        create(page, product.home / "connector-files")
        assert product.engine_json(f"connectors/{NAME}/config")["tasks.max"] == "1"
    page.get_by_role("link", name="Edit…").click()
    with claim("a mistake is shown at its option, and cannot be applied"):
        make_a_mistake(page)
    with claim("a change of somebody else is not overwritten, and the difference is shown"):
        change_elsewhere(product, "errors.tolerance", "all")
        meet_the_change(page)
    with claim("the difference is applied"):
        apply_the_difference(page)
        now = product.engine_json(f"connectors/{NAME}/config")
        assert (now["tasks.max"], now["errors.tolerance"]) == ("2", "all")
    with claim("it is stopped and deleted only by its name"):
        stop_and_delete(page)
        assert NAME not in product.engine_json("connectors")
    with claim("the trail says what changed, and why"):
        page.goto("/audit")
        expect(page.get_by_text(f"changed connector {NAME}: tasks.max 1 → 2")).to_be_visible()


def create(page: Page, folder: Path) -> None:
    page.goto("/connectors")
    page.get_by_role("link", name="New connector…").click()
    page.get_by_label("Name", exact=True).fill(NAME)
    page.get_by_label("Connector class").select_option("FileStreamSink")
    expect(option(page, "topics")).to_contain_text("set topics or topics.regex")
    fits_everywhere(page, "connector-new")
    option(page, "topics").get_by_role("textbox").fill("orders")
    page.get_by_label("Search options").fill("tolerance")
    expect(option(page, "errors.tolerance.limit")).to_be_visible()
    page.get_by_label("Search options").fill("")
    page.get_by_label("Another option").fill("file")
    page.get_by_label("Its value").fill(str(folder / "orders.txt"))
    page.get_by_role("button", name="Add option").click()
    page.get_by_text("Text", exact=True).click()
    text = page.get_by_label("Properties, or JSON")
    text.fill(f"{text.input_value()}tasks.max=1\n")
    expect(page.get_by_test_id("check-state")).to_contain_text("all options are valid")
    page.get_by_role("button", name="Create connector…").click()
    confirm(page, "Create connector", "orders for the archive")
    expect(page.get_by_role("heading", level=1)).to_have_text(NAME)
    expect(page.get_by_role("region", name=NAME, exact=True)).to_contain_text("running")


def make_a_mistake(page: Page) -> None:
    tasks = option(page, "tasks.max")
    tasks.get_by_role("textbox").fill("two")
    expect(tasks.get_by_test_id("option-error")).to_contain_text("must be a whole number")
    expect(apply_button(page)).to_have_attribute("aria-description", "1 option is not valid")
    expect(page.get_by_test_id("config-difference")).to_contain_text("not valid")
    fits_everywhere(page, "connector-edit")


def change_elsewhere(product: Product, name: str, value: str) -> None:
    """Change an option past the dashboard."""
    url = f"{product.engine}/connectors/{NAME}/config"
    config = {**product.engine_json(f"connectors/{NAME}/config"), name: value}
    headers = {"Authorization": f"Bearer {product.engine_token}"}
    httpx.put(url, json=config, headers=headers, timeout=30).raise_for_status()


def meet_the_change(page: Page) -> None:
    option(page, "tasks.max").get_by_role("textbox").fill("2")
    expect(page.get_by_test_id("check-state")).to_contain_text("all options are valid")
    apply_button(page).click()
    confirm(page, "Apply 1 change", "two partitions")
    conflict = page.get_by_role("alert")
    expect(conflict).to_contain_text("errors.tolerance was not set when it was opened, and is all now")
    page.get_by_role("button", name=re.compile("Continue from the new configuration")).click()


def apply_the_difference(page: Page) -> None:
    expect(page.get_by_test_id("config-difference")).to_contain_text("tasks.max=1")
    expect(page.get_by_test_id("config-difference")).to_contain_text("tasks.max=2")
    expect(page.get_by_test_id("check-state")).to_contain_text("all options are valid")
    apply_button(page).click()
    confirm(page, "Apply 1 change", "two partitions")
    expect(page.get_by_role("heading", level=1)).to_have_text(NAME)


def apply_button(page: Page) -> Locator:
    return page.get_by_role("button", name=re.compile("Apply 1 change"))


def stop_and_delete(page: Page) -> None:
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Stop…").click()
    stop = page.get_by_role("dialog").get_by_role("button", name="Stop", exact=True)
    expect(stop).to_have_attribute("aria-description", "Enter the connector's name first")
    confirm(page, "Stop", "the archive is full", NAME)
    expect(page.get_by_role("region", name=NAME, exact=True)).to_contain_text("Stopped by demo")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Delete…").click()
    confirm(page, "Delete", "no longer needed", NAME)
    expect(page.get_by_role("heading", level=1)).to_have_text("Connectors")
    expect(page.get_by_role("region", name=NAME, exact=True)).to_have_count(0)


@pytest.mark.soak  # tests/dlqadmin/clusters/test_views.py shows it in parts
@pytest.mark.usefixtures("topics")
def test_an_added_topic_s_dead_letters_appear_and_an_excluded_topic_is_told(administrator: Page) -> None:
    page = administrator
    page.goto("/settings/clusters")
    topics = page.get_by_role("region", name="Topics", exact=True)
    topics.get_by_role("button", name="Add topic…").click()
    page.get_by_role("dialog").get_by_label("Topic").fill(ODD)
    confirm(page, "Add topic", "orders are shelved there")
    row = topics.get_by_test_id("followed").filter(has_text=ODD)
    expect(row).to_contain_text("added by root-1")
    expect(row).to_contain_text("up to date")
    fits_everywhere(page, "settings-topics")
    with claim("its dead letters are there"):
        row.get_by_role("link").click()
        expect(page.get_by_test_id("shown")).to_have_text("Showing 2 of 2")
    with claim("a topic that is excluded is told with its reason"):
        page.goto("/settings/clusters")
        row = topics.get_by_test_id("followed").filter(has_text=QUIET)
        row.get_by_role("button", name="Exclude…").click()
        confirm(page, "Exclude topic", "nobody repairs these")
        rule = topics.get_by_test_id("rule")
        expect(rule).to_contain_text(f"{QUIET} excluded, by root-1")
        expect(rule).to_contain_text("nobody repairs these")
        rule.get_by_role("button", name="Undo the exclusion…").click()
        confirm(page, "Remove rule", "they do")
        expect(rule).to_have_count(0)

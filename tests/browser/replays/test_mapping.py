"""A mapping in the browser: the envelopes of another team are read, grouped and ready to replay."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.axe import barriers
from tests.browser.claims import claim
from tests.browser.conftest import Site, signed_in
from tests.browser.screens import without_complaints
from tests.support.product import Product

TOPIC = "payments.errors.dlq"
LETTERS = 24


@pytest.fixture
def administrator(chromium: Browser, product: Product, site: Site) -> Iterator[Page]:
    """A tab of a superuser."""
    context = signed_in(chromium, Site(site.url, "mapper-1", product.add_administrator("mapper-1")))
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def envelopes(product: Product) -> None:
    """Letters of a Python consumer that writes its own envelope; one in eight has no offset."""
    admin = AdminClient({"bootstrap.servers": product.bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(30)
    producer = Producer({"bootstrap.servers": product.bootstrap_servers})
    for number in range(LETTERS):
        envelope = {
            "kind": "ValueError" if number % 2 else "KeyError",
            "reasonText": f"card_token {number} must not be empty",
            "came_from": {"topic": "payments.captured", "partition": 0, "offset": None if number % 8 == 7 else number},
            "body_b64": base64.b64encode(b'{"payment": %d}' % number).decode(),
            "tries": 3,
            "at": "2026-11-23T09:18:41Z",
        }
        producer.produce(TOPIC, json.dumps(envelope).encode(), b"c-%d" % number)
    assert producer.flush(30) == 0


def fact(page: Page, name: str) -> Locator:
    return page.get_by_test_id(f"fact-{name}")


@pytest.mark.soak  # tests/broker/test_mappings.py shows it in parts
@pytest.mark.usefixtures("envelopes")
def test_envelopes_of_another_team_are_mapped_tried_and_read_again(administrator: Page) -> None:
    page = administrator
    # Given letters that no dialect reads,
    page.goto("/settings/dialects")
    page.get_by_role("row", name=TOPIC).get_by_role("link", name="Map…").click()
    with without_complaints(page):
        # when somebody takes the proposals,
        expect(fact(page, "message")).to_contain_text("$.reasonText is in")
        for name in ("exception", "message", "value", "attempts", "failed_at"):
            fact(page, name).get_by_role("button", name="Use it").click()
        with claim("the try-out follows each change"):
            expect(page.get_by_role("region", name="Try-out")).to_contain_text("24 read")
            expect(fact(page, "message")).to_contain_text("must not be empty")
        # and maps the origin by hand, as required,
        fact(page, "origin_offset").get_by_role("button", name="Map…").click()
        fact(page, "origin_offset").get_by_label("Origin offset: path").fill("$.came_from.offset")
        fact(page, "origin_offset").get_by_label("required").check()
        with claim("it says why letters are not read, and shows one"):
            reasons = page.get_by_role("list", name="Reasons")
            expect(reasons).to_contain_text("3 $.came_from.offset is null; origin_offset is required.")
            reasons.get_by_role("button", name="Show the newest").click()
            expect(page.get_by_label("Value of the letter")).to_contain_text('"offset": null')
            expect(page.get_by_label("The letter as the mapping reads it")).to_contain_text("not read")
        with claim("a mistake is told at once"):
            fact(page, "origin_offset").get_by_label("Origin offset: path").fill("came_from.offset")
            expect(page.get_by_text("facts.origin_offset: 'came_from.offset' must start with '$'")).to_be_visible()
            fact(page, "origin_offset").get_by_label("Origin offset: path").fill("$.came_from.offset")
        fact(page, "origin_topic").get_by_role("button", name="Map…").click()
        fact(page, "origin_topic").get_by_label("Origin topic: path").fill("$.came_from.topic")
        assert barriers(page) == []
        # and saves it,
        page.get_by_role("button", name="Save as version 1…").click()
        page.get_by_label("Reason, for the audit trail").fill("the envelope of payments")
        page.get_by_role("button", name="Save mapping").click()
        # is the topic read again,
        expect(page.get_by_test_id("reread").first).to_contain_text(f"done: {LETTERS} letters read")
        expect(page.get_by_test_id("mapping")).to_contain_text("version 1")
        assert barriers(page) == []
    # and are its letters in groups, with their origin and the value inside the envelope?
    page.goto(f"/records?from=now-30d&topic={TOPIC}&dialect=payments.errors.dlq")
    expect(page.get_by_test_id("record")).to_have_count(21)
    page.get_by_test_id("record").first.click()
    expect(page.get_by_test_id("bytes").first).to_contain_text('"payment":')
    expect(page.get_by_role("link", name="payments.captured")).to_be_visible()

"""One record is repaired by a person and arrives, and nothing that she did not touch has changed."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from demo.damage import KIP_298_EXAMPLE_4, Event, batch
from demo.feeder import TOPIC
from dlqadmin.host.network import wait_until
from tests.browser.claims import claim
from tests.browser.replays import steps
from tests.support import table, topics
from tests.support.product import Product

INDEXED_S = 60
PLACE = "put right by hand"
ODD_KEY = b"odd-1"
ODD_HEADERS = (("source", b"a"), ("source", None), ("trace", b"\xff\x00"), ("empty", b""))
# Spaces, tabs and line ends at odd places, a member twice, an integer above 2**53, one character spelled in two ways.
ODD = (
    b'{ "type" :"Feature",\t"properties":{"mag":1.50,"mag":2.50 ,  "place":"caf\\u00e9 caf\xc3\xa9",\r\n'
    b'"time":1517963917057,"felt":9007199254740993,"status":"checked","sig":44,"nst":5,"dmin":1e-1,"rms":0.4400,'
    b'"gap":100 ,"magType":"ml"},\n "id":"odd-1"}\n'
)


def test_the_missing_quote_of_kip_298_is_put_right_and_the_row_arrives(page: Page, product: Product) -> None:
    broken = next(event for event in batch() if event.value == KIP_298_EXAMPLE_4)
    key = broken.key.decode()
    assert table.place(product, key) != PLACE
    steps.open_record(page, key)
    steps.start_fix(page)
    value = page.get_by_role("region", name="Value")
    expect(value).to_contain_text(re.compile(r"✕ byte \d+: "))
    steps.overwrite(page, whole(broken))
    expect(value).to_contain_text("✓ valid JSON")
    expect(page.get_by_text(re.compile(r"Draft F-\d+, saved"))).to_be_visible()
    page.get_by_role("button", name="Check the plan of 1 record").click()
    expect(page.get_by_test_id("plan")).to_contain_text("Outcome can be proven")
    assert table.place(product, key) != PLACE
    steps.run(page, 1, "The quote was lost at the source.")
    steps.expect_outcome(page, "passed", 1, "Passed")
    expect(page.get_by_role("region", name="Items")).to_contain_text("proven usgs-to-sql reported it delivered")
    assert table.place(product, key) == PLACE
    with claim("the record tells of its replay"):
        steps.open_record(page, broken.key.decode())
        expect(steps.timeline(page)).to_contain_text(re.compile(r"R-\d+"))
        expect(steps.timeline(page)).to_contain_text("Passed: proven: usgs-to-sql reported it delivered")


@pytest.mark.soak  # tests/broker/test_replay_bytes.py shows it without a browser
def test_an_edit_leaves_every_other_byte_as_it_was(page: Page, product: Product) -> None:
    topics.send(product.bootstrap_servers, TOPIC, ODD_KEY, ODD, ODD_HEADERS)
    wait_until(lambda: dead_letters(product, "odd-1") == 1, "The index", INDEXED_S, 0.5)
    steps.open_record(page, "odd-1")
    steps.start_fix(page)
    steps.replace_word(page, "checked", "reviewed")
    expect(page.get_by_test_id("difference")).to_contain_text("reviewed")
    page.get_by_role("button", name="Check the plan of 1 record").click()
    steps.run(page, 1, "The status is a word of ours.")
    steps.expect_outcome(page, "passed", 1, "Passed")
    *_, sent = [one for one in topics.read(product.bootstrap_servers, TOPIC) if one.key == ODD_KEY]
    assert sent.value == ODD.replace(b"checked", b"reviewed")
    assert sent.headers[: len(ODD_HEADERS)] == ODD_HEADERS
    assert [name for name, _ in sent.headers[len(ODD_HEADERS) :]] == [
        "dlq.replay.id",
        "dlq.replay.item",
        "dlq.replay.attempt",
    ]


def whole(broken: Event) -> str:
    """Return the whole event of which this is what was left, in a place of its own."""
    source = next(event for event in batch() if event.key == broken.key and not event.damage)
    return re.sub(r'"place":"[^"]*"', f'"place":"{PLACE}"', source.value.decode(), count=1)


def dead_letters(product: Product, key: str) -> int:
    """Count the indexed dead letters of a key."""
    with product.client() as client:
        return int(client.get("dead-letters", params={"key": key}).raise_for_status().json()["total"]["count"])

"""Whole groups are sent as they were: what cannot be mended fails again, what was mended elsewhere passes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from demo.damage import intact_event
from demo.feeder import TOPIC
from tests.browser.replays import steps
from tests.browser.replays.conftest import Person
from tests.support import table, topics
from tests.support.product import Product


@pytest.mark.soak  # test_canary.py shows records that fail again
def test_records_that_stay_broken_fail_again_each_with_its_new_dead_letter(page: Page) -> None:
    steps.plan_group(page, "TRANSFORMATION", 7)
    steps.run(page, 7, "To see whether the cast takes them now.")
    steps.expect_outcome(page, "failed_again", 7, "Failed again")
    page.mouse.move(0, 0)  # the list stands still under the pointer
    links = page.get_by_test_id("item").get_by_test_id("refailure")
    expect(links).to_have_count(7, timeout=20_000)
    addresses = {str(link.get_attribute("href")) for link in links.all()}
    assert len(addresses) == 7
    links.first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("usgs.earthquakes.dlq /")
    expect(page.locator("[data-state=failed]")).to_contain_text("TRANSFORMATION")
    expect(steps.timeline(page)).to_contain_text(re.compile(r"R-\d+"))


def test_a_group_passes_as_it_was_once_its_cause_is_mended(page: Page, product: Product) -> None:
    keys = lacking("rms")
    assert keys.isdisjoint(table.keys(product))
    table.allow_null(product, "rms")
    steps.plan_group(page, "earthquakes.rms", len(keys))
    steps.run(page, len(keys), "The column may be null now.")
    steps.expect_outcome(page, "passed", len(keys), "Passed")
    expect(page.get_by_test_id("status")).to_contain_text("Done")
    assert keys <= table.keys(product)


@pytest.mark.soak  # tests/broker/test_replay_kills.py shows it without a browser
def test_two_people_at_once_send_each_record_once(page: Page, person: Person, product: Product) -> None:
    colleague = person("colleague")
    keys = lacking("nst") - lacking("gap") - lacking("dmin")
    table.allow_null(product, "nst")
    for somebody in (page, colleague):
        steps.plan_group(somebody, "earthquakes.nst", len(keys))
        somebody.get_by_label("Reason").fill("The column may be null now.")
    for somebody in (page, colleague):
        somebody.get_by_role("button", name=f"Replay {len(keys)} records").click()
    for somebody in (page, colleague):
        expect(somebody.get_by_test_id("status").or_(refusal(somebody))).to_be_visible()
    [refused] = [somebody for somebody in (page, colleague) if refusal(somebody).is_visible()]
    winner = colleague if refused is page else page
    name = "demo" if winner is page else "colleague"
    expect(refusal(refused)).to_contain_text(name)
    steps.expect_outcome(winner, "passed", len(keys), "Passed")
    refused.get_by_role("button", name="Check again").click()
    expect(refused.get_by_test_id("plan")).to_contain_text(re.compile(rf"{len(keys)} sent by R-\d+ \({name}"))
    assert replayed(product, keys) == sorted(keys)
    assert keys <= table.keys(product)


@pytest.mark.soak  # tests/broker/test_replay_kills.py shows it without a browser
def test_what_is_cancelled_after_a_pause_is_never_sent(
    page: Page, product: Product, failures: dict[str, set[str]]
) -> None:
    keys = failures["mag_type"]
    steps.plan_group(page, "earthquakes.mag_type", len(keys))
    steps.all_at_once(page)
    page.get_by_label("custom limit").check()
    page.get_by_label("Records a second").fill("10")
    page.get_by_label("Reason").click()
    expect(page.get_by_role("region", name="Send")).to_contain_text("about 11 s")
    steps.run(page, len(keys), "A few, to see.")
    expect(page.get_by_test_id("adds-up")).to_contain_text(re.compile(r"= [1-9]\d* sent"), timeout=steps.SETTLED_MS)
    page.get_by_role("button", name="Pause").click()
    paused = page.get_by_test_id("said").filter(has_text=re.compile(r"paused after \d+"))
    expect(paused).to_be_visible()
    sent = int(re.findall(r"paused after (\d+)", paused.inner_text())[0])
    page.get_by_role("button", name="Cancel…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("Seen enough.")
    dialog.get_by_role("button", name=f"Cancel the {len(keys) - sent} queued records").click()
    expect(page.get_by_test_id("status")).to_contain_text("Cancelled")
    steps.expect_outcome(page, "skipped", len(keys) - sent, "Skipped")
    steps.expect_outcome(page, "failed_again", sent, "Failed again")
    assert 0 < sent == len(replayed(product, keys)) < len(keys)


def replayed(product: Product, keys: set[str]) -> list[str]:
    """Return the keys, of these, of the records that a replay wrote."""
    written = [one for one in topics.read(product.bootstrap_servers, TOPIC) if one.header("dlq.replay.item")]
    return sorted(one.key.decode() for one in written if one.key and one.key.decode() in keys)


def refusal(page: Page) -> Locator:
    """What the send panel says when a replay is not begun."""
    return page.get_by_role("region", name="Send").get_by_role("status")


def lacking(name: str) -> set[str]:
    """Return the keys of the real events in which a property is null."""
    return {event.key.decode() for event in intact_event() if f'"{name}":null'.encode() in event.value}

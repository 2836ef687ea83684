"""A fix that was wrong is corrected where its replay ended: same records, same program, same reason."""

from __future__ import annotations

import re
from functools import partial

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Page, expect

from demo.feeder import TOPIC
from dlqadmin.host.network import wait_until
from tests.browser.claims import claim
from tests.browser.replays import steps
from tests.browser.replays.conftest import events_with
from tests.browser.screens import fits_everywhere
from tests.support import table
from tests.support.product import Product

INDEXED_S = 90
MADE_MS = 60_000
MANY, FEW = 300, 6
REASON = "INC-77: negative figures"


@pytest.fixture(scope="module")
def keys(product: Product) -> dict[str, set[str]]:
    """The keys of records that break a CHECK constraint, by the column; all are indexed."""
    events = {"sig": list(events_with("sig-low", "sig", -5, MANY)), "nst": list(events_with("nst-low", "nst", 0, FEW))}
    producer = Producer({"bootstrap.servers": product.bootstrap_servers, "log_level": 2})
    for event in (*events["sig"], *events["nst"]):
        producer.produce(TOPIC, key=event.key, value=event.value)
    assert producer.flush(INDEXED_S) == 0
    for column, made in events.items():
        wait_until(partial(is_indexed, product, column, len(made)), f"The index of {column}", INDEXED_S, 1)
    return {column: {event.key.decode() for event in made} for column, made in events.items()}


def is_indexed(product: Product, column: str, count: int) -> bool:
    with product.client() as client:
        rows = client.get("groups", params={"limit": 100}).raise_for_status().json()["results"]
    return any(f"failed: {column}" in row["message"] and row["events"] == count for row in rows)


def make_drafts(page: Page, program: str, count: int, *, over: bool = False) -> None:
    """Write the program over the editor's text, and come to the bulk fix that made the drafts."""
    page.get_by_role("textbox", name="jq program").click()
    if over:
        page.keyboard.press("Control+a")
    page.keyboard.insert_text(program)
    page.get_by_role("button", name=f"Make {count} drafts").click()
    expect(page.get_by_test_id("bulk-changed")).to_have_text(f"{count}changed", timeout=MADE_MS)


def plan_drafts(page: Page, count: int) -> None:
    page.get_by_role("button", name=f"Plan the replay of {count} records").click()
    expect(page.get_by_test_id("plan")).to_contain_text("Selection frozen", timeout=steps.PLANNED_MS)


@pytest.mark.soak
def test_the_rest_of_a_paused_canary_gets_a_new_fix(page: Page, product: Product, keys: dict[str, set[str]]) -> None:
    steps.open_group(page, "failed: sig")
    steps.press(page, "Fix in bulk…").click()
    make_drafts(page, ".properties.sig = -1", MANY)
    plan_drafts(page, MANY)
    steps.run(page, MANY, REASON)
    expect(page.get_by_test_id("status")).to_contain_text("Paused", timeout=steps.SETTLED_MS)
    first = page.url
    with claim("the canary offers both the record that failed again, and all that are left"):
        expect(page.get_by_role("button", name="Fix the 1 that failed again…")).to_be_visible()
        fits_everywhere(page, "continue-canary")
        page.get_by_role("button", name=f"Cancel the rest and fix all {MANY}…").click()
        page.get_by_role("dialog").get_by_label("Reason").fill("the program was wrong")
        page.get_by_role("button", name=f"Cancel the rest and fix {MANY} records").click()
    with claim("the fix opens with the same records and the same program"):
        expect(page.get_by_role("heading", name=f"Fix {MANY} records in bulk")).to_be_visible()
        expect(page.get_by_role("textbox", name="jq program")).to_have_text(".properties.sig = -1")
        fits_everywhere(page, "continue-fix")
    make_drafts(page, ".properties.sig = 5", MANY, over=True)
    plan_drafts(page, MANY)
    with claim("the plan has the former reason"):
        expect(page.get_by_label("Reason")).to_have_value(REASON)
    page.get_by_role("button", name=f"Replay {MANY} records").click()
    steps.expect_outcome(page, "passed", MANY, "Passed")
    assert keys["sig"] <= table.keys(product)
    with claim("the first replay names its continuation, and has nothing left to fix"):
        page.goto(first)
        expect(page.get_by_test_id("unfinished")).to_have_text(re.compile(r"^Continued by R-\d+\.$"))


@pytest.mark.soak  # tests/dlqadmin/replays/jobs/test_unfinished.py shows it in parts
def test_records_that_failed_again_in_a_finished_replay_are_fixed_once_more(
    page: Page, product: Product, keys: dict[str, set[str]]
) -> None:
    steps.plan_group(page, "failed: nst", FEW)
    with claim("a plan warns of records that nobody edited"):
        expect(page.get_by_test_id("plan")).to_contain_text(f"{FEW} of {FEW} records are not edited.")
    steps.run(page, FEW, REASON)
    with claim("figures, chart and log agree at the end, without a reload"):
        expect(page.get_by_test_id("status")).to_contain_text("Done", timeout=steps.SETTLED_MS)
        expect(page.get_by_text(f"all outcomes are known: {FEW} failed again")).to_be_visible(timeout=4_000)
        expect(page.get_by_role("img", name=f"{FEW} sent and {FEW} settled of {FEW}")).to_be_visible()
    page.get_by_role("button", name=f"Fix the {FEW} that failed again…").click()
    make_drafts(page, ".properties.nst = 1", FEW)
    plan_drafts(page, FEW)
    expect(page.get_by_label("Reason")).to_have_value(REASON)
    page.get_by_role("button", name=f"Replay {FEW} records").click()
    steps.expect_outcome(page, "passed", FEW, "Passed")
    with claim("drafts end when their record passed"), product.client() as client:
        left = client.get("bulk-fixes", params={"mine": "true"}).raise_for_status().json()["results"][0]
        assert (left["program"], left["drafts"]) == (".properties.nst = 1", 0)


def test_a_plan_that_was_never_run_is_removed(page: Page, keys: dict[str, set[str]]) -> None:
    steps.open_group(page, "TRANSFORMATION")
    page.get_by_role("button", name=re.compile(r"^Replay \d+ open…$")).click()
    expect(page.get_by_test_id("plan")).to_contain_text("Selection frozen", timeout=steps.PLANNED_MS)
    name = re.search(r"\d+$", page.url)
    assert name
    page.get_by_role("button", name="Remove plan…").click()
    page.get_by_role("button", name="Remove the plan").click()
    expect(page.get_by_role("heading", name="Replays", exact=True)).to_be_visible()
    expect(page.get_by_test_id("replay").filter(has_text=f"R-{name[0]}:")).to_have_count(0)

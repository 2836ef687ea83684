"""The walk with a guarded Spark query: its dead letter is found, repaired and replayed, and proven to have passed.

It has a product of its own: the query's dead letters have the keys of records that other tests expect to be unique.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser, Page, expect

from demo.environment import ROOT
from demo.spark_job import LETTERS, NAME
from dlqadmin.host.network import wait_until
from tests.browser.claims import claim
from tests.browser.conftest import Site, signed_in
from tests.browser.replays import steps
from tests.browser.screens import fits_everywhere
from tests.support.product import Product

# A second product and a Spark session: a minute of two cores. tests/spark/dataframes shows the same in parts.
pytestmark = pytest.mark.soak

LETTERED_S = 300  # the start of Spark and its first micro-batch, on a machine that does much else
STOP_S = 60
NO_NUMBER = "could not convert string to float: 'n/a'"


@pytest.fixture(scope="module")
def own_product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """A product at the mark."""
    started = Product(tmp_path_factory.mktemp("product")).start()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def guarded_product(own_product: Product) -> Iterator[Product]:
    """The product with the query of `make run-spark`, whose dead letters are indexed.

    Its terminal has no active environment, so the first python3 of the PATH lacks the packages.
    """
    env = {**own_product.env, "PATH": os.defpath}
    env.pop("PYSPARK_PYTHON", None)
    with (own_product.home / "spark.log").open("wb") as log:
        command = [sys.executable, "-m", "demo.spark_job"]
        query = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log)
    try:
        wait_until(lambda: letters(own_product) > 0, f"A dead letter of {NAME}", LETTERED_S, 1)
        yield own_product
    finally:
        query.send_signal(signal.SIGINT)
        query.wait(STOP_S)


@pytest.fixture
def own_page(chromium: Browser, guarded_product: Product) -> Iterator[Page]:
    context = signed_in(chromium, Site(guarded_product.web, "demo", guarded_product.password))
    yield context.new_page()
    context.close()


def test_a_dead_letter_of_a_guarded_query_is_repaired_and_proven(own_page: Page, guarded_product: Product) -> None:
    page = own_page
    page.goto("/connectors")
    with claim("the query is listed beside the connectors, and leads to its dead letters"):
        page.get_by_role("link", name=NAME, exact=True).first.click()
        expect(page.get_by_text("The query runs")).to_be_visible()
        expect(page.get_by_role("region", name=NAME)).to_contain_text("parse event, parse_event")
        fits_everywhere(page, "guarded-query")
        page.get_by_role("link", name=LETTERS).click()
        page.get_by_test_id("record").filter(has_text=NO_NUMBER).first.click()
    with claim("the letter names the stage as the query does"):
        expect(page.locator("[data-state=failed]")).to_contain_text("parse event")
        expect(page.locator("[data-state=not_reached]").first).to_contain_text("plausible magnitude")
    steps.start_fix(page)
    with claim("a rehearsal says that a query cannot be rehearsed, and does not ask for another one"):
        page.get_by_role("button", name="Rehearse").click()
        rehearsal = page.get_by_role("region", name="Rehearsal")
        expect(rehearsal).to_contain_text(f"{NAME} is a Spark query. Only the engine's connectors can be rehearsed.")
        steps.replace_after(page, "mag", '"n/a"', "2.47")
        expect(page.get_by_test_id("difference")).to_contain_text("2.47")
        expect(rehearsal).not_to_contain_text("edited after this rehearsal")
    with claim("the plan says that the query proves the outcome, and that a connector reads the record too"):
        page.get_by_role("button", name="Check the plan of 1 record").click()
        expect(page.get_by_test_id("plan")).to_contain_text("Outcome can be proven")
        expect(page.get_by_test_id("plan")).to_contain_text("usgs-to-sql will read 1 record again.")
    steps.run(page, 1, "n/a is no number.")
    steps.expect_outcome(page, "passed", 1, "Passed")
    expect(page.get_by_role("region", name="Items")).to_contain_text(f"proven {NAME} reported it delivered")
    assert 2.47 in pq.read_table(guarded_product.home / "spark" / "table").column("mag").to_pylist()


def letters(product: Product) -> int:
    """Count the query's dead letters in the index."""
    with product.client() as client:
        found = client.get("dead-letters", params={"topic": LETTERS, "limit": 1}).raise_for_status().json()
        return int(found["total"]["count"])

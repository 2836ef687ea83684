"""A Kafka Connect cluster of Java beside our engine: both on one screen, each controlled at its own address."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from benchmarks.anchors import start_connect
from benchmarks.programs import BenchmarkProgram
from dlqadmin.host.network import HOST, wait_until
from tests.browser.claims import claim
from tests.browser.conftest import Site, signed_in
from tests.browser.replays.test_configuring import apply_button, confirm, option
from tests.browser.screens import fits_everywhere
from tests.support.product import Product
from tests.support.topics import create, send

OURS, THEIRS = "usgs-to-sql", "legacy-orders"
DEAD_LETTERS = f"{THEIRS}.dlq"
START_TIMEOUT_S, INDEXED_S = 90, 60


@dataclass(frozen=True, slots=True)
class JavaWorker:
    """One worker of Kafka Connect with one connector, at `url`."""

    program: BenchmarkProgram
    url: str

    def answer(self, path: str) -> Any:
        return httpx.get(f"{self.url}/{path}", timeout=30).raise_for_status().json()

    def recommended(self) -> dict[str, list[str]]:
        """Return the values that the worker recommends for the converters of the connector."""
        config = self.answer(f"connectors/{THEIRS}/config")
        url = f"{self.url}/connector-plugins/{config['connector.class']}/config/validate"
        rows = httpx.put(url, json=config, timeout=30).raise_for_status().json()["configs"]
        values = {row["value"]["name"]: row["value"]["recommended_values"] for row in rows}
        found = {name: some for name, some in values.items() if some and name.endswith(".converter")}
        assert found
        return found


@pytest.fixture(scope="module")
def worker(product: Product, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaWorker]:
    """A worker whose sink can't convert one of its records."""
    folder = tmp_path_factory.mktemp("legacy")
    for topic in (THEIRS, DEAD_LETTERS):
        create(product.bootstrap_servers, topic)
    send(product.bootstrap_servers, THEIRS, b"order-1", b"no JSON")
    with start_connect(folder / "connect", product.bootstrap_servers) as program:
        found = JavaWorker(program, f"http://{HOST}:{program.port}")
        wait_until(lambda: is_up(found), "Kafka Connect", START_TIMEOUT_S)
        body = {"name": THEIRS, "config": sink(folder)}
        httpx.post(f"{found.url}/connectors", json=body, timeout=30).raise_for_status()
        yield found


def sink(folder: Path) -> dict[str, str]:
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "topics": THEIRS,
        "file": str(folder / "orders.txt"),
        "tasks.max": "1",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": DEAD_LETTERS,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
        "archive.password": "hush",
    }


def is_up(worker: JavaWorker) -> bool:
    worker.program.check()
    try:
        return httpx.get(f"{worker.url}/connectors", timeout=5).is_success
    except httpx.TransportError:
        return False


@pytest.fixture
def both(chromium: Browser, product: Product, worker: JavaWorker, site: Site) -> Iterator[Page]:
    """A tab of a dashboard that knows our engine and the worker."""
    with product.another_web(CONNECT_CLUSTERS=json.dumps({"legacy": {"url": worker.url}})) as url:
        context = signed_in(chromium, Site(url, site.username, site.password))
        yield context.new_page()
        context.close()


def panel(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


@pytest.mark.soak
def test_connectors_of_our_engine_and_of_java_are_controlled_from_one_screen(
    both: Page, worker: JavaWorker, product: Product
) -> None:
    page = both
    with claim("each cluster has its connectors, with what its software is"):
        page.goto("/connectors")
        expect(panel(page, "Connect cluster engine")).to_contain_text("dlqadmin engine")
        expect(panel(page, "Connect cluster legacy")).to_contain_text(re.compile(r"Kafka Connect 4\.\d"))
        expect(panel(page, THEIRS)).to_contain_text("1 of 1 task runs")
        expect(panel(page, THEIRS)).to_contain_text("reports no record counts, lag or error budgets")
        fits_everywhere(page, "connectors-clusters")
    for cluster, name in (("engine", OURS), ("legacy", THEIRS)):
        with claim(f"{name} of {cluster} is paused and resumed"):
            pause_and_resume(page, name)
    with claim("the configuration of the Java connector is changed at its worker"):
        change_the_sink(page, worker)
    with claim("its dead letters are those of the connector"):
        see_the_dead_letter(page, product)
    with claim("a worker that is away hides no other cluster"):
        worker.program.process.kill()
        page.goto("/connectors")
        expect(panel(page, "Connect cluster legacy")).to_contain_text("The Connect cluster legacy does not respond.")
        expect(panel(page, THEIRS)).to_contain_text("because the Connect cluster legacy does not respond")
        expect(panel(page, "Connect cluster engine")).not_to_contain_text("does not respond")
        expect(panel(page, OURS).get_by_role("button", name="Pause…")).to_be_enabled()
        fits_everywhere(page, "connectors-cluster-away")
        page.goto("/")
        expect(panel(page, "Status")).to_contain_text("The Connect cluster legacy does not respond.")


def pause_and_resume(page: Page, name: str) -> None:
    one = panel(page, name)
    one.get_by_role("button", name="Pause…").click()
    confirm(page, "Pause", "the disk is replaced")
    expect(one).to_contain_text("Paused by demo")
    one.get_by_role("button", name="Resume…").click()
    confirm(page, "Resume", "the disk is new")
    expect(one).to_contain_text(re.compile(r"(\d) of \1 tasks? run"))
    expect(one).not_to_contain_text("Paused by")


def change_the_sink(page: Page, worker: JavaWorker) -> None:
    panel(page, THEIRS).get_by_role("link", name="Edit…").click()
    tasks = option(page, "tasks.max")
    expect(tasks).to_contain_text("high importance")
    expect(tasks).to_contain_text("Maximum number of tasks to use for this connector.")
    page.get_by_label("Search options").fill("converter")
    for name, values in worker.recommended().items():
        expect(option(page, name).locator("datalist option")).to_have_count(len(values))
    page.get_by_label("Search options").fill("")
    expect(option(page, "archive.password")).to_contain_text("The value is hidden")
    tasks.get_by_role("textbox").fill("two")
    expect(tasks.get_by_test_id("option-error")).to_contain_text("Not a number of type INT")
    expect(apply_button(page)).to_have_attribute("aria-description", "1 option is not valid")
    fits_everywhere(page, "connector-edit-java")
    tasks.get_by_role("textbox").fill("2")
    expect(page.get_by_test_id("check-state")).to_contain_text("all options are valid")
    expect(page.get_by_test_id("config-difference")).to_contain_text("tasks.max=1")
    expect(page.get_by_test_id("config-difference")).to_contain_text("tasks.max=2")
    apply_button(page).click()
    confirm(page, "Apply 1 change", "two partitions soon")
    expect(page).to_have_url(re.compile(f"/connectors/legacy/{THEIRS}$"))
    now = worker.answer(f"connectors/{THEIRS}/config")
    assert (now["tasks.max"], now["archive.password"]) == ("2", "hush")
    page.goto("/audit")
    expect(page.get_by_text(f"changed connector {THEIRS} of Connect cluster legacy: tasks.max 1 → 2")).to_be_visible()


def see_the_dead_letter(page: Page, product: Product) -> None:
    with product.client() as client:

        def is_indexed() -> bool:
            found = client.get("dead-letters", params={"topic": DEAD_LETTERS, "limit": 1}).raise_for_status()
            return bool(found.json()["total"]["count"] == 1)

        wait_until(is_indexed, "The index of the dead letter", INDEXED_S, 0.5)
    page.goto(f"/connectors/{THEIRS}")  # as a record names it, without its cluster
    panel(page, THEIRS).get_by_role("link", name=DEAD_LETTERS).click()
    expect(page.get_by_test_id("shown")).to_have_text("Showing 1 of 1")

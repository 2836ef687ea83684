"""The main job on real input: at the mark, the same numbers everywhere, and each record in exactly one place.

The test that ends the product runs after all others that share it.
"""

import json
import re
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from demo.environment import FILES, ROOT
from demo.feeder import TOPIC, Feeder
from demo.processes import PROCESSES
from demo.topics import PARTITIONS
from tests.support import topics
from tests.support.product import Product

CONSUMED, DELIVERED, DEAD = 1732, 1237, 495
STAGES = {"TASK_PUT": 470, "VALUE_CONVERTER": 18, "TRANSFORMATION": 7}
DLQ = "usgs.earthquakes.dlq"


@pytest.fixture
def product_to_end(product: Product) -> Product:
    """The product, for the test that ends it: `tests/browser/conftest.py` puts that test last."""
    return product


def test_the_engine_counts_every_record_in_one_bucket(product: Product) -> None:
    metrics: Counter[str] = Counter()
    for task in product.engine_json("connectors/usgs-to-sql/metrics")["tasks"]:
        metrics.update(task["metrics"])
    buckets = ["records-delivered", "records-dead-lettered", "records-skipped", "records-filtered"]
    assert metrics["records-consumed"] == CONSUMED
    assert [metrics[bucket] for bucket in buckets] == [DELIVERED, DEAD, 0, 0]


def test_the_topics_hold_what_the_engine_says(product: Product) -> None:
    feeder = Feeder(product.bootstrap_servers)
    assert sum(feeder.ends(TOPIC, PARTITIONS).values()) == CONSUMED
    assert len(dead_letters(product)) == DEAD


def test_the_table_holds_what_was_delivered(product: Product) -> None:
    assert len(delivered(product)) == DELIVERED


def test_each_offset_is_delivered_or_dead_lettered_and_never_both(product: Product) -> None:
    letters = dead_letters(product)
    dead = {(partition, offset) for partition, offset, _ in letters}
    assert len(dead) == DEAD
    arrived = set(delivered(product))
    sent = topics.read(product.bootstrap_servers, TOPIC)
    whole = {(one.partition, one.offset) for one in sent if one.key and one.key.decode() in arrived} - dead
    assert len(whole) == DELIVERED
    assert len(whole | dead) == CONSUMED


def test_each_empty_column_is_a_group_of_its_own(product: Product) -> None:
    with product.client() as client:
        groups = client.get("groups", params={"status": "unresolved", "stage": "TASK_PUT"}).json()["results"]
    found = {group["message"].rpartition(".")[2]: group["events"] for group in groups if group["stage"] == "TASK_PUT"}
    assert found == {"gap": 303, "nst": 160, "rms": 5, "dmin": 2}


def test_a_group_names_the_place_in_the_sink(product: Product) -> None:
    with product.client() as client:
        groups = client.get("groups", params={"stage": "TASK_PUT"}).json()["results"]
        frame = client.get(f"groups/{groups[0]['id']}").json()["fingerprints"][0]["frame"]
    assert frame.startswith("engine/connectors/sql/sink.py:")


def test_the_stages_fail_as_the_input_was_built(product: Product) -> None:
    assert Counter(stage for *_, stage in dead_letters(product)) == STAGES


def test_rest_says_the_same(product: Product) -> None:
    with product.client() as client:
        balance = client.get("metrics/balance").json()
        page = client.get("dead-letters", params={"limit": 1}).json()
        facets = client.get("dead-letters/facets").json()["facets"]
    assert balance["balanced"]
    assert [balance[name] for name in ("consumed", "delivered", "dead_lettered", "skipped", "filtered")] == [
        CONSUMED,
        DELIVERED,
        DEAD,
        0,
        0,
    ]
    assert page["total"] == {"count": DEAD, "exact": True}
    assert {entry["value"]: entry["count"] for entry in facets["stage"]} == STAGES


def test_an_export_holds_every_dead_letter_once(product: Product) -> None:
    with product.client() as client:
        lines = client.get("dead-letters/export", params={"format": "ndjson"}).raise_for_status().text.splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == len(lines) == DEAD


def test_the_console_shows_one_line_per_process_then_the_sign_in_and_nothing_more(product: Product) -> None:
    lines = product.output().splitlines()
    up, rest = lines[: len(PROCESSES)], lines[len(PROCESSES) :]
    assert sorted(line.split()[0] for line in up) == sorted(process.name for process in PROCESSES)
    assert all(re.search(r" \d+\.\d s$", line) for line in up)
    assert rest == [
        "",
        f"  dlqadmin is up: {product.web}",
        f"  sign in as demo with the password {product.password}",
        f"  the connectors log their errors to {product.home}/logs/engine.log; the other logs are beside it",
        "",
    ]


def test_each_process_has_a_log_without_the_chatter_of_libraries(product: Product) -> None:
    logs = {process.name: Path(product.home, "logs", f"{process.name}.log").read_text() for process in PROCESSES}
    assert logs["engine"].count('"sqlite3.IntegrityError: NOT NULL') == STAGES["TASK_PUT"]
    chatter = re.compile("log level|NativeCodeLoader|log4j|superuser|DeprecationWarning")
    assert {name: chatter.findall(text) for name, text in logs.items()} == {name: [] for name in logs}


def test_a_port_in_use_is_one_sentence_before_anything_starts(product: Product) -> None:
    second = subprocess.run(
        ["make", "--no-print-directory", "ports"],
        cwd=ROOT,
        env=product.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert second.returncode != 0
    assert f"Port {product.web.rpartition(':')[2]} is in use" in second.stderr


def test_ctrl_c_stops_every_process(product_to_end: Product) -> None:
    assert product_to_end.processes()
    product_to_end.interrupt()
    assert product_to_end.processes() == []


def delivered(product: Product) -> list[str]:
    with closing(sqlite3.connect(Path(product.home, FILES, "demo.sqlite3"))) as connection:
        return [key for (key,) in connection.execute("SELECT id FROM earthquakes")]


def dead_letters(product: Product) -> list[tuple[int, int, str]]:
    """Return origin partition, origin offset and failing stage of every dead letter in the topic."""
    return [coordinates(json.loads(one.value or b"")) for one in topics.read(product.bootstrap_servers, DLQ)]


def coordinates(context: dict[str, Any]) -> tuple[int, int, str]:
    origin = context.get("original_record") or context["record"]
    return origin["partition"], origin["offset"], context["stages"][context["index"]]["type"]

"""The whole product on the files of an earlier release, and on last night's database beside today's topics."""

from __future__ import annotations

import sqlite3
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer

from demo.feeder import TOPIC
from dlqadmin.host.network import wait_until
from engine.record.replay import ITEM
from tests.dlqadmin.upgrades.record import PRODUCT
from tests.dlqadmin.upgrades.test_database import RELEASES
from tests.support import topics
from tests.support.product import Product

SETTLED_S = 120
NEW = 5  # dead letters since the backup
BAD = b"{"
NO_GAP = "text=earthquakes.gap&from=2026-01-01T00:00:00Z&to=now"
LETTERS, GROUPS = "deadletters_deadletter", "deadletters_group"


class Continued(Product):
    """A product whose topics may hold more than the first batch."""

    def start(self) -> Product:
        self.log.unlink(missing_ok=True)  # that of an earlier start says that the product is up
        self._continues = self.database.exists()
        return super().start()

    def _at_the_mark(self) -> bool:
        if not self._continues:
            return super()._at_the_mark()
        with self.client() as client:
            return bool(get(client, "health")["index"]["records_behind"] == 0)

    @property
    def database(self) -> Path:
        return self.home / "dlqadmin.sqlite3"

    def backup(self, copy: Path) -> None:
        """Copy the database while it is used, as a nightly backup does."""
        with closing(sqlite3.connect(self.database)) as live, closing(sqlite3.connect(copy)) as target:
            live.backup(target)

    def restore(self, copy: Path) -> None:
        """Put a backup in the place of the database. The product must have been stopped."""
        for name in ("-wal", "-shm"):
            Path(f"{self.database}{name}").unlink(missing_ok=True)
        copy.replace(self.database)

    def rows(self, table: str) -> int:
        """Return the number of rows of a table."""
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as database:
            return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    def newest(self, count: int) -> list[int]:
        """Return the ids of the newest dead letters."""
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as database:
            return [pk for (pk,) in database.execute(f"SELECT id FROM {LETTERS} ORDER BY id DESC LIMIT {count:d}")]

    def await_letters(self, count: int) -> None:
        wait_until(lambda: self.rows(LETTERS) == count, f"{count} dead letters", SETTLED_S, 0.5)

    def fail(self, count: int) -> None:
        """Send records that the connector can't process, and wait until their dead letters are indexed."""
        before = self.rows(LETTERS)
        producer = Producer({"bootstrap.servers": self.bootstrap_servers})
        for number in range(count):
            producer.produce(TOPIC, BAD, key=f"bad-{number}")
        assert producer.flush(30) == 0
        self.await_letters(before + count)

    def replayed(self) -> Counter[bytes]:
        """Return how often each item of a replay is in the origin topic."""
        items = (record.header(ITEM) for record in topics.read(self.bootstrap_servers, TOPIC))
        return Counter(item for item in items if item is not None)


def get(client: httpx.Client, path: str) -> Any:
    return client.get(path).raise_for_status().json()


def plan(client: httpx.Client, search: str = "", ids: Sequence[int] = ()) -> dict[str, Any]:
    """Plan a replay of the dead letters that the search finds, or of these."""
    selection = client.post("selections", json={"ids": list(ids)} if ids else {"filter": search})
    assert selection.status_code == 201, selection.text
    options = {"selection": selection.json()["id"], "rate": 0, "steps": [], "breaker_percent": None}
    planned: dict[str, Any] = client.post("replays", json=options).raise_for_status().json()
    assert planned["plan"]["to_send"] > 0
    return planned


def run(client: httpx.Client, planned: dict[str, Any]) -> dict[str, Any]:
    """Run a planned replay to its last outcome."""
    why = {"reason": "The table accepts them now.", "plan_digest": planned["plan"]["digest"]}
    client.post(f"replays/{planned['id']}/run", json=why).raise_for_status()
    return await_end(client, planned["id"])


def recovered(client: httpx.Client, uuid: str) -> bool:
    """Return whether the database knows that this replay was run."""
    found = get(client, f"replays?uuid={uuid}")["results"]
    return bool(found) and found[0]["status"] in ("watching", "done")


def await_end(client: httpx.Client, replay: int) -> dict[str, Any]:
    wait_until(lambda: get(client, f"replays/{replay}")["status"] == "done", "The replay", SETTLED_S, 0.5)
    found: dict[str, Any] = get(client, f"replays/{replay}")
    return found


@pytest.fixture
def product(tmp_path: Path) -> Iterator[Continued]:
    made = Continued(tmp_path / "product")
    made.home.mkdir()
    yield made
    made.stop()


@pytest.mark.soak  # starts the product twice; shorter: tests/broker/test_lost_replays.py
def test_last_nights_database_catches_up_and_sends_nothing_again(product: Continued, tmp_path: Path) -> None:
    product.start()
    with product.client() as client:
        planned = plan(client, NO_GAP)
        product.backup(tmp_path / "last-night")
        first = run(client, planned)
        product.fail(NEW)
        second = run(client, plan(client, ids=product.newest(NEW)))  # the backup has neither it nor its dead letters
    today, groups, sent = product.rows(LETTERS), product.rows(GROUPS), product.replayed()
    assert len(sent) == planned["plan"]["to_send"] + NEW
    product.interrupt()

    product.restore(tmp_path / "last-night")
    product.start()
    product.await_letters(today)
    assert product.rows(GROUPS) == groups
    with product.client() as client:
        for done in (first, second):
            wait_until(lambda: recovered(client, done["uuid"]), "The recovery", SETTLED_S, 0.5)  # noqa: B023, called at once
            again = await_end(client, get(client, f"replays?uuid={done['uuid']}")["results"][0]["id"])
            # The index has read the dead letters of the replay again, and they name its items.
            assert again["counts"]["failed_again"] == done["counts"]["failed_again"] == again["plan"]["to_send"]
    assert product.replayed() == sent


@pytest.mark.soak  # starts the product; shorter: test_database.py migrates and asks for every screen
@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_the_files_of_an_earlier_release_are_used_on(release: Path, product: Continued) -> None:
    with tarfile.open(release / PRODUCT) as archive:
        archive.extractall(product.home, filter="data")
    before = product.rows(LETTERS)
    product.start()
    product.await_letters(before)
    connectors = product.engine_json("connectors?expand=status")
    assert connectors
    states = {task["state"] for one in connectors.values() for task in one["status"]["tasks"]}
    assert states <= {"RUNNING", "PAUSED"}
    product.fail(NEW)
    with product.client() as client:
        planned = plan(client, NO_GAP)
        assert run(client, planned)["counts"]["planned"] == 0
    assert set(product.replayed().values()) == {1}

"""The recorded week: Kafka Connect's dead letters of known events, written with times of the past seven days."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from demo.broker import LocalBroker
from demo.past_week import DEAD_LETTERS, TOPIC, PastWeek, past_events, recorded_headers
from demo.topics import partition_of
from tests.support import topics
from tests.support.product import Product

EARLIER, ALL = 80, 88


def test_each_recorded_dead_letter_is_of_a_damaged_event_at_its_own_offset() -> None:
    offsets: Counter[int] = Counter()
    expected = {}
    for event, _ in past_events():
        partition = partition_of(event.key)
        if event.damage:
            expected[event.key] = (str(partition).encode(), str(offsets[partition]).encode())
        offsets[partition] += 1
    recorded = {key: dict(headers) for key, headers in recorded_headers().items()}
    found = {key: (of["__connect.errors.partition"], of["__connect.errors.offset"]) for key, of in recorded.items()}
    assert found == expected


def test_the_dead_letters_fail_where_their_damage_says() -> None:
    stages = {key: dict(headers)["__connect.errors.stage"] for key, headers in recorded_headers().items()}
    damages = {event.key: event.damage for event, _ in past_events()}
    assert {(damages[key], stage) for key, stage in stages.items()} == {
        ("missing quote", b"VALUE_CONVERTER"),
        ("truncated", b"VALUE_CONVERTER"),
        ("wrong encoding", b"VALUE_CONVERTER"),
        ("wrong magnitude", b"TRANSFORMATION"),
    }


def test_a_second_start_writes_nothing_twice(own_broker: LocalBroker) -> None:
    server = own_broker.bootstrap_servers
    for week in (PastWeek(server), PastWeek(server)):
        week.create_topics()
        week.send_events()
        assert week.send_dead_letters() == EARLIER
    records, letters = topics.read(server, TOPIC), topics.read(server, DEAD_LETTERS)
    assert (len(records), len(letters)) == (len(past_events()), EARLIER)
    times = [record.timestamp for record in records]
    assert timedelta(milliseconds=max(times) - min(times)) > timedelta(days=6, hours=23)
    assert [one.timestamp for one in letters] == sorted(one.timestamp for one in letters)


@pytest.mark.soak
def test_an_operator_resolved_muted_and_replayed_in_that_week(tmp_path: Path) -> None:
    product = Lived(tmp_path)
    try:
        product.start()
        with product.client() as client:
            states = {
                status: {group["title"] for group in get(client, f"groups?status={status}")}
                for status in ("regressed", "muted", "resolved")
            }
            [replay] = get(client, "replays")
    finally:
        product.stop()
    assert states["regressed"] == {"JsonParseException: Invalid UTF-8 middle byte …"}
    assert states["resolved"] == {"NumberFormatException: not a number"}
    assert len(states["muted"]) > 1
    assert replay["counts"]["passed"] == replay["counts"]["total"] > 0


class Lived(Product):
    """The demo with its past. It has started when all dead letters are indexed and the replay is done."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.env["DEMO_PAST_WEEK"] = "true"

    def _at_the_mark(self) -> bool:
        with self.client() as client:
            indexed = client.get("dead-letters", params={"topic": DEAD_LETTERS, "limit": 1}).json()["total"]["count"]
            return indexed == ALL and [one["status"] for one in get(client, "replays")] == ["done"]


def get(client: httpx.Client, path: str) -> list[Any]:
    found: list[Any] = client.get(path).raise_for_status().json()["results"]
    return found

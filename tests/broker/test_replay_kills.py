"""A replay whose processes are killed, stopped and woken, whose Redis and broker are restarted: all is sent, once."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from demo.broker import Broker
from demo.redis import Redis
from engine.record.replay import ITEM
from tests.broker.replay_world import ReplayWorld

MANY = 5000
ITEMS = "SELECT ordinal, sent_partition, sent_offset FROM replays_replayitem"


@pytest.fixture
def redis() -> Iterator[Redis]:
    """A Redis of this test alone."""
    started = Redis().start()
    yield started
    started.stop()


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database: SQLite, unless a test asks for another."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return f"sqlite:///{tmp_path}/dlqadmin.sqlite3"
    url, name = request.getfixturevalue("postgres_url"), f"world_{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as postgres:
        postgres.execute(f"CREATE DATABASE {name}".encode())
    return f"{url.rpartition('/')[0]}/{name}"


@pytest.fixture
def idle(tmp_path: Path, own_broker: Broker, redis: Redis, database: str) -> Iterator[ReplayWorld]:
    """A world in which nothing runs yet but the services."""
    home = tmp_path / "home"
    home.mkdir()
    made = ReplayWorld(home, own_broker.bootstrap_servers, redis.url, database)
    yield made
    made.stop()


@pytest.fixture
def world(idle: ReplayWorld) -> ReplayWorld:
    idle.start()
    return idle


@pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True)
def test_every_item_is_sent_once_whatever_is_killed_on_the_way(
    world: ReplayWorld, own_broker: Broker, redis: Redis
) -> None:
    assert world.say("run", str(MANY), "500") == f"sending {MANY} records"
    for mark in (300, 900, 1500):
        world.until_sent(mark)
        world.kill("replayer")
        world.start_replayer()
    world.until_sent(2000)
    redis.stop()
    redis.start()
    world.until_sent(2800)
    own_broker.kill()
    own_broker.start()
    world.until_sent(3600)
    own_broker.stop()
    world.kill("replayer")
    own_broker.start()
    world.start_replayer()
    assert_all_sent_once(world, MANY)


def test_a_sender_that_is_stopped_and_wakes_after_the_takeover_doubles_nothing(world: ReplayWorld) -> None:
    world.say("run", "2000", "100")
    world.until_sent(100)
    world.freeze("replayer")
    world.start_replayer("successor")
    world.until_sent(world.sent() + 200)
    world.thaw("replayer")
    world.say("rate", "0")
    assert_all_sent_once(world, 2000)


def test_slow_replays_keep_nothing_else_waiting(world: ReplayWorld, redis: Redis) -> None:
    world.say("run_many", "12")
    world.until_sent(40)
    watched, collected = world.done("watch_replays"), world.done("collect_metrics")
    world.until(lambda: world.done("watch_replays") > watched + 4, "outcomes being watched", 20)
    world.until(lambda: world.done("collect_metrics") > collected + 2, "metrics being collected", 20)
    assert world.waiting("replays") < 40
    assert world.rows("SELECT count(*) FROM replays_replay WHERE progress = 0") == [(0,)]


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
def test_of_two_who_run_the_same_records_at_once_one_holds_all_of_them(idle: ReplayWorld) -> None:
    rounds = idle.races(8)
    assert [one[:3] for one in rounds] == [["conflict", "run", "400 to 0"]] * 8
    assert [one[3] for one in rounds] == ["0 to 0"] * 8


def test_pause_rate_and_cancel_act_within_a_second(world: ReplayWorld) -> None:
    world.say("run", str(MANY), "200")
    world.until_sent(100)
    took, _, said = world.say("pause").partition(" ")
    there = world.topic()
    assert (float(took) < 1, said) == (True, f"paused after {len(there)}")
    time.sleep(1)
    assert len(world.topic()) == len(there)
    world.say("resume")
    world.until_sent(len(there) + 100)
    world.say("rate", "1")
    time.sleep(1)
    slow = world.sent()
    time.sleep(2)
    assert world.sent() - slow <= 3
    took, _, said = world.say("cancel").partition(" ")
    sent = len(world.topic())
    assert (float(took) < 1, said) == (True, f"cancelled after {sent}; {MANY - sent} records not sent")
    time.sleep(1)
    assert len(world.topic()) == sent == world.sent()
    assert world.count("state = 'skipped' AND reason = 'cancelled'") == MANY - sent
    assert world.rows("SELECT count(*) FROM replays_ledgerentry") == [(sent,)]


def assert_all_sent_once(world: ReplayWorld, count: int) -> None:
    """Wait for the end of the sending; every item is in the topic once, where the database says."""
    world.until(lambda: world.count("state IN ('queued', 'sending')") == 0, "an end of the sending", 200)
    records = world.topic()
    tokens = {record.header(ITEM) for record in records}
    assert len(records) == len(tokens) == count
    found = {int((record.header(ITEM) or b"").rpartition(b"/")[2]): record[:2] for record in records}
    assert found == {ordinal: (partition, offset) for ordinal, partition, offset in world.rows(ITEMS)}
    ended = "SELECT status IN ('watching', 'done') FROM replays_replay"
    world.until(lambda: world.rows(ended) == [(True,)], "an end of the replay", 20)
    assert world.rows("SELECT count(*) FROM replays_chunk WHERE state = 'open'") == [(0,)]

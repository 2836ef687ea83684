"""A replay whose worker is killed, whose Redis and whose broker are restarted: everything sent, once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

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
def world(tmp_path: Path, own_broker: Broker, redis: Redis) -> Iterator[ReplayWorld]:
    home = tmp_path / "home"
    home.mkdir()
    running = ReplayWorld(home, own_broker.bootstrap_servers, redis.url, f"sqlite:///{home}/dlqadmin.sqlite3")
    running.start_worker()
    running.start_beat()
    yield running
    running.stop()


def test_every_item_is_sent_once_whatever_is_killed_on_the_way(
    world: ReplayWorld, own_broker: Broker, redis: Redis
) -> None:
    assert world.say("run", str(MANY), "500") == f"sending {MANY} records"
    for mark in (300, 900, 1500):
        world.until_sent(mark)
        world.kill_worker()
        world.start_worker()
    world.until_sent(2000)
    redis.stop()
    redis.start()
    world.until_sent(2800)
    own_broker.kill()
    own_broker.start()
    world.until_sent(3600)
    own_broker.stop()
    world.kill_worker()
    own_broker.start()
    world.start_worker()
    world.until(lambda: world.count("state IN ('queued', 'sending')") == 0, "an end of the sending", 200)
    records = world.topic()
    tokens = {record.header(ITEM) for record in records}
    assert len(records) == len(tokens) == MANY
    found = {int((record.header(ITEM) or b"").rpartition(b"/")[2]): record[:2] for record in records}
    assert found == {ordinal: (partition, offset) for ordinal, partition, offset in world.rows(ITEMS)}
    assert world.rows("SELECT status IN ('watching', 'done') FROM replays_replay") == [(True,)]
    assert world.rows("SELECT count(*) FROM replays_chunk WHERE state = 'open'") == [(0,)]


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

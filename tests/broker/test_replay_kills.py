"""A replay whose processes are killed, stopped and woken, whose Redis and broker are restarted: all is sent, once."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from demo.broker import LocalBroker
from dlqadmin.host.redis_server import LocalRedis
from engine.record.replay import ITEM
from tests.broker.replay_world import ReplayWorld

MANY = 5000
GRACE_S = 30  # of workers in compose.yaml and in the Helm chart
THERE = "SELECT state, reason, COUNT(*) FROM replays_replayitem GROUP BY 1, 2 ORDER BY 1, 2"
COUNTED = "SELECT state, reason, SUM(n) FROM replays_itemcount GROUP BY 1, 2 HAVING SUM(n) <> 0 ORDER BY 1, 2"
ITEMS = "SELECT ordinal, sent_partition, sent_offset FROM replays_replayitem"


def new_database(postgres_url: str) -> str:
    """Return the URL of a new, empty PostgreSQL database."""
    name = f"world_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as postgres:
        postgres.execute(f"CREATE DATABASE {name}".encode())
    return f"{postgres_url.rpartition('/')[0]}/{name}"


@pytest.fixture
def own_world(
    request: pytest.FixtureRequest, tmp_path: Path, own_broker: LocalBroker, own_redis: LocalRedis
) -> Iterator[ReplayWorld]:
    """A running world whose services no other test uses; its parameter names the database's kind."""
    sqlite = f"sqlite:///{tmp_path}/dlqadmin.sqlite3"
    database = sqlite if request.param == "sqlite" else new_database(request.getfixturevalue("postgres_url"))
    home = tmp_path / "home"
    home.mkdir()
    made = ReplayWorld(home, own_broker.bootstrap_servers, own_redis.url, database, f"events-{uuid.uuid4().hex[:8]}")
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def shared_world(tmp_path_factory: pytest.TempPathFactory, broker: str, redis_url: str) -> Iterator[ReplayWorld]:
    home = tmp_path_factory.mktemp("home")
    database = f"sqlite:///{home}/dlqadmin.sqlite3"
    made = ReplayWorld(home, broker, redis_url, database, f"events-{uuid.uuid4().hex[:8]}")
    made.start()
    yield made
    made.stop()


@pytest.fixture
def world(shared_world: ReplayWorld) -> ReplayWorld:
    """A running world of this file, without replays."""
    shared_world.begin_anew()
    return shared_world


def test_a_sender_that_is_told_to_end_leaves_nothing_open_and_the_next_one_goes_on(world: ReplayWorld) -> None:
    world.say("run", "1500", "150")
    world.until_sent(150)
    assert world.terminate("replayer", GRACE_S) == 0
    assert world.rows("SELECT count(*) FROM replays_chunk WHERE state = 'open'") == [(0,)]
    assert world.rows("SELECT claim_token FROM replays_replay") == [("",)]
    sent = world.sent()
    assert sent < 1500
    assert len(world.topic()) == sent
    world.start_replayer()
    world.say("rate", "0")
    world.until_sent(1500)
    assert len(world.topic()) == 1500


@pytest.mark.soak  # it kills processes and services in series; test_replay_takeover.py has the short cases
@pytest.mark.parametrize("own_world", ["sqlite", "postgres"], indirect=True)
def test_every_item_is_sent_once_whatever_is_killed_on_the_way(
    own_world: ReplayWorld, own_broker: LocalBroker, own_redis: LocalRedis
) -> None:
    world = own_world
    assert world.say("run", str(MANY), "500") == f"sending {MANY} records"
    for mark in (300, 900, 1500):
        world.until_sent(mark)
        world.kill("replayer")
        world.start_replayer()
    world.until_sent(2000)
    own_redis.stop()
    own_redis.start()
    world.until_sent(2800)
    own_broker.kill()
    own_broker.start()
    world.until_sent(3600)
    own_broker.stop()
    world.kill("replayer")
    own_broker.start()
    world.start_replayer()
    assert_all_sent_once(world, MANY)


@pytest.mark.soak  # a series of kills, too
def test_neither_a_sender_that_is_killed_nor_one_that_wakes_after_the_takeover_doubles_anything(
    world: ReplayWorld,
) -> None:
    """The second sender takes over from the frozen first one, and the woken first one from the killed second one."""
    assert world.say("run", "1200", "200") == "sending 1200 records"
    world.until_sent(100)
    world.freeze("replayer")
    world.start_replayer("successor")
    world.take_for_dead()
    world.until_sent(world.sent() + 200)
    world.thaw("replayer")
    world.until_sent(world.sent() + 100)
    world.kill("successor")
    world.take_for_dead()
    world.until_sent(world.sent() + 100)
    world.say("rate", "0")
    assert_all_sent_once(world, 1200)


@pytest.mark.soak  # its replays take a minute; tests/dlqadmin/replays/sending/test_queueing.py shows how slices queue
def test_slow_replays_keep_nothing_else_waiting(world: ReplayWorld) -> None:
    world.say("run_many", "12")
    world.until_sent(40)
    watched, collected = world.done("watch_replays"), world.done("collect_metrics")
    world.until(lambda: world.done("watch_replays") > watched + 4, "outcomes being watched", 20)
    world.until(lambda: world.done("collect_metrics") > collected + 2, "metrics being collected", 20)
    assert world.waiting("replays") < 40
    assert world.rows("SELECT count(*) FROM replays_replay WHERE progress = 0") == [(0,)]


def test_of_two_who_run_the_same_records_at_once_one_holds_all_of_them(
    tmp_path: Path, broker: str, redis_url: str, postgres_url: str
) -> None:
    topic = f"events-{uuid.uuid4().hex[:8]}"
    idle = ReplayWorld(tmp_path, broker, redis_url, new_database(postgres_url), topic)  # nobody sends anything
    rounds = idle.races(2)
    idle.stop()
    assert [one[:3] for one in rounds] == [["conflict", "run", "400 to 0"]] * 2
    assert [one[3] for one in rounds] == ["0 to 0"] * 2


def test_after_pause_and_cancel_no_more_than_one_chunk_is_begun(world: ReplayWorld) -> None:
    world.say("run", "2000", "200")
    world.until_sent(100)
    assert world.say("pause").partition(" ")[2].startswith("paused after ")
    there = at_rest(world, "pause")
    time.sleep(0.5)
    assert len(world.topic()) == there
    world.say("resume")
    world.until_sent(there + 100)
    world.say("rate", "1")
    world.until(lambda: sent_in_a_second(world) <= 2, "the rate of one record a second")
    said = world.say("cancel").partition(" ")[2]
    sent = at_rest(world, "cancel")
    left = world.count("state = 'skipped' AND reason = 'cancelled'")
    assert said.endswith(f"; {left} records not sent")
    time.sleep(0.5)
    assert len(world.topic()) == sent == world.sent() == 2000 - left
    assert world.rows("SELECT count(*) FROM replays_ledgerentry") == [(sent,)]


def sent_in_a_second(world: ReplayWorld) -> int:
    before = world.sent()
    time.sleep(1)
    return world.sent() - before


def at_rest(world: ReplayWorld, act: str) -> int:
    """How many records are in the topic, once what was on its way at the act has arrived: one chunk at most."""
    opened = "SELECT count(*) FROM replays_chunk WHERE state = 'open'"
    world.until(lambda: world.rows(opened) == [(0,)], "the chunk on its way", 20)
    asked = f"(SELECT max(at) FROM replays_replayevent WHERE kind = '{act}')"
    begun = world.rows(f"SELECT count(*) FROM replays_chunk WHERE opened_at > {asked}")[0][0]
    assert begun <= 1
    return len(world.topic())


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
    world.until(lambda: world.rows(COUNTED) == world.rows(THERE), "counts that are those of the items", 20)
    assert world.rows("SELECT SUM(sent) FROM replays_replaysecond") == [(count,)]
    shown = "SELECT count(*) FROM deadletters_replaymark WHERE state <> 'queued'"
    world.until(lambda: world.rows(shown) == [(count,)], "dead letters in step with their items", 20)

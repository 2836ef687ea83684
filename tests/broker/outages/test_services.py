"""Redis and PostgreSQL go away, hang, forget or fill up while everything works, and the clock jumps.

Nothing is lost, nothing is doubled, and the dashboard says in one sentence what is wrong.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis

from demo.postgres import LocalPostgres
from dlqadmin.host.redis_server import LocalRedis
from tests.broker.outages.busy_product import BusyProduct
from tests.spark.engine_process import descendants
from tests.support.moved_clock import COMPILER, MovableClock

# They stop services for real time-outs, in series. Shorter cases are in test_replay_kills.py and test_indexing.py.
pytestmark = pytest.mark.soak

NO_DATABASE = "The database does not respond, or is too busy."
HANG_S, HOUR_S = 20, 3600


def test_redis_that_forgets_everything_and_is_killed(busy: BusyProduct, own_redis: LocalRedis) -> None:
    with Redis.from_url(own_redis.url) as redis:
        for _ in range(8):
            redis.flushall()
            busy.until_sent(busy.sent() + 60)
    busy.until_healthy()
    for _ in range(3):
        assert own_redis.process is not None
        own_redis.process.kill()
        own_redis.process.wait()
        busy.until_said("Redis does not respond.")
        own_redis.start()
        busy.until_healthy()
    busy.settle()


def test_postgresql_that_crashes_and_hangs(busy: BusyProduct, own_postgres: LocalPostgres) -> None:
    for _ in range(3):
        busy.until_sent(busy.sent() + 60)
        end(own_postgres)
        own_postgres.start()
    end(own_postgres)
    busy.until_said(NO_DATABASE)
    time.sleep(10)
    own_postgres.start()
    busy.until_healthy()
    with hanging(own_postgres):
        began = time.monotonic()
        busy.until_said(NO_DATABASE)
        time.sleep(max(0, HANG_S - (time.monotonic() - began)))
    busy.until_healthy()
    busy.settle()


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_clock_that_jumps(clock: MovableClock, busy: BusyProduct) -> None:
    for jump_s in (HOUR_S, -HOUR_S):
        clock.move(jump_s)
        busy.until_sent(busy.sent() + 200)
        busy.kill("replayer")  # it leaves a heartbeat of that time
        clock.move(0)
        busy.start_replayer()
        busy.until_sent(busy.sent() + 200)
        busy.until_healthy()
    busy.settle()


def end(postgres: LocalPostgres) -> None:
    """End it without a checkpoint, as a crash does. Its data stay."""
    postgres._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", postgres._data)


@contextmanager
def hanging(postgres: LocalPostgres) -> Iterator[None]:
    """Stop all its processes within: connections are open, and nobody answers."""
    server = int(Path(postgres._data, "postmaster.pid").read_text().split()[0])
    stopped = [server]
    os.kill(server, signal.SIGSTOP)  # first, so that it starts no more
    try:
        stopped += descendants(server)
        for pid in stopped[1:]:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in reversed(stopped):
            os.kill(pid, signal.SIGCONT)

"""Services of one test alone, and a product at work on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.broker import LocalBroker
from demo.postgres import LocalPostgres
from dlqadmin.host.redis_server import LocalRedis
from tests.broker.outages.busy_product import BusyProduct
from tests.support.broker import lasting_broker
from tests.support.moved_clock import MovableClock


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[LocalBroker]:
    """A broker of this test alone, because each product has topics of the same names."""
    started = lasting_broker(tmp_path / "broker").start()
    yield started
    started.stop()


@pytest.fixture
def own_postgres() -> Iterator[LocalPostgres]:
    """A PostgreSQL of this test alone."""
    started = LocalPostgres().start()
    yield started
    started.stop()


@pytest.fixture
def clock(tmp_path: Path) -> MovableClock:
    """The clock of the processes of `busy`."""
    return MovableClock(tmp_path / "clock")


@pytest.fixture
def busy(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    own_broker: LocalBroker,
    own_redis: LocalRedis,
    own_postgres: LocalPostgres,
) -> Iterator[BusyProduct]:
    """A product at work on services that no other test uses, with `clock` if the test has one."""
    home = tmp_path / "home"
    home.mkdir()
    prefix = request.getfixturevalue("clock").prefix if "clock" in request.fixturenames else ()
    servers, redis, database = own_broker.bootstrap_servers, own_redis.url, own_postgres.url
    made = BusyProduct(home, servers, redis, database, replayed=6000, prefix=prefix)
    try:
        made.start_all()
        yield made
    finally:
        made.stop()

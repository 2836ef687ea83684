"""Three brokers, each of which ends and comes back while everything works: nothing is lost, nothing is doubled.

The tests take minutes: they kill or restart brokers in series, so they are soak tests.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from demo.broker import LocalBroker
from tests.broker.outages.busy_product import BusyProduct
from tests.broker.test_replay_kills import new_database
from tests.support.broker import BrokerCluster

pytestmark = pytest.mark.soak
DOWN_S = 5.0
log = logging.getLogger(__name__)


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[BrokerCluster]:
    made = BrokerCluster(tmp_path / "brokers")
    try:
        yield made.start()
    finally:
        made.stop()


@pytest.fixture
def busy(tmp_path: Path, brokers: BrokerCluster, redis_url: str, postgres_url: str) -> Iterator[BusyProduct]:
    home = tmp_path / "home"
    home.mkdir()
    made = BusyProduct(
        home, brokers.bootstrap_servers, redis_url, new_database(postgres_url), replayed=4000, replicas=3
    )
    try:
        made.start_all()
        yield made
    finally:
        made.stop()


@pytest.mark.parametrize("end", [LocalBroker.kill, LocalBroker.stop], ids=["kill -9", "rolling restart"])
def test_each_broker_in_turn(busy: BusyProduct, brokers: BrokerCluster, end: Callable[[LocalBroker], None]) -> None:
    brokers.await_in_sync()
    for number, broker in enumerate(brokers.brokers, 1):
        began = time.time()
        end(broker)
        time.sleep(DOWN_S)
        broker.start()
        back = time.time()
        brokers.await_in_sync()
        in_sync = time.time()
        time.sleep(3)  # until there is something behind the pause
        pauses = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in busy.pauses(began - 1).items())
        times = (number, back - began, in_sync - began, pauses)
        log.info("broker %d: back after %.1f s, in sync after %.1f s; pauses: %s", *times)
    busy.settle()

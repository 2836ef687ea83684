"""What every test against a real broker shares."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from pytest_django import Settings

from demo.broker import LocalBroker
from dlqadmin.host.redis_server import LocalRedis
from engine.assembly import lease
from engine.tasks import lease_progress, source_offsets_topic
from tests.support.broker import lasting_broker


@pytest.fixture(autouse=True)
def patience(settings: Settings) -> None:
    """A broker beside other suites may take longer for a first answer than a person is let wait for one."""
    settings.KAFKA_TIMEOUT_S = 20.0


@pytest.fixture(autouse=True)
def installation(settings: Settings) -> None:
    """Each test has a database of its own, so the replays of other tests must not seem lost to it."""
    settings.INDEX_GROUP = f"dlqadmin-index-{uuid4().hex[:8]}"


@pytest.fixture(autouse=True)
def no_kept_clients() -> Iterator[None]:
    """Close the clients that a lease keeps for the next lease of its worker: here each test has a worker of its own.

    Hundreds of them would stay open. A consumer that nobody polls wakes up 500 times a second when its queue is full.
    """
    yield
    for kept in (lease_progress._producers, source_offsets_topic._topics):
        while kept:
            kept.popitem()[1].close()
    lease._tails.clear()


@pytest.fixture(scope="session")
def second_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    """A broker of this process. A test may have left it dead, so ask for `own_broker` or call `ensure_running`."""
    started = lasting_broker(tmp_path_factory.mktemp("second-broker")).start()
    yield started
    started.stop()


@pytest.fixture
def own_broker(second_broker: LocalBroker) -> LocalBroker:
    """A real Kafka broker that no other test uses meanwhile, to be stopped, killed and restarted.

    It keeps what earlier tests wrote, so make topic names of your own. A start takes some seconds of a processor.
    """
    return ensure_running(second_broker)


@pytest.fixture
def own_redis() -> Iterator[LocalRedis]:
    """A Redis of this test alone."""
    started = LocalRedis().start()
    yield started
    started.stop()


def ensure_running(broker: LocalBroker) -> LocalBroker:
    """Start the broker if a test has stopped or killed it."""
    if broker.process is None or broker.process.poll() is not None:
        broker.start()
    return broker

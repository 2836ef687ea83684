"""Two engines for all tests: one to be left alone, and one to be killed, with a broker to be killed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from demo.broker import LocalBroker
from tests.spark.engine_process import Engine, Topics
from tests.support.broker import lasting_broker


@pytest.fixture(scope="session")
def shared_engine(tmp_path_factory: pytest.TempPathFactory, broker: str) -> Iterator[Engine]:
    started = Engine(tmp_path_factory.mktemp("engine"), broker).start()
    yield started
    started.close()


@pytest.fixture
def engine(shared_engine: Engine) -> Iterator[Engine]:
    """The engine of all tests that leave its driver and its broker alone."""
    yield shared_engine
    shared_engine.delete_connectors()


@pytest.fixture(scope="session")
def shared_second_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    made = lasting_broker(tmp_path_factory.mktemp("second-broker"))
    made.overrides["group.min.session.timeout.ms"] = "1000"
    yield made
    made.stop()


@pytest.fixture
def second_broker(shared_second_broker: LocalBroker) -> LocalBroker:
    """A broker that a test may stop and kill, as long as it starts it again."""
    if shared_second_broker.process is None:
        shared_second_broker.start()
    return shared_second_broker


@pytest.fixture(scope="session")
def shared_second_engine(
    tmp_path_factory: pytest.TempPathFactory, shared_second_broker: LocalBroker
) -> Iterator[Engine]:
    made = Engine(
        tmp_path_factory.mktemp("second-engine"),
        shared_second_broker.bootstrap_servers,
        # A driver that was killed leads again when its membership has ended.
        options={"exactly.once.source.enabled": "true", "session.timeout.ms": "3000"},
    )
    yield made
    made.close()


@pytest.fixture
def second_engine(shared_second_engine: Engine, second_broker: LocalBroker) -> Iterator[Engine]:
    """An engine on the second broker, to be killed and started again; its sources are delivered exactly once."""
    if shared_second_engine.process is None:
        shared_second_engine.start()
    yield shared_second_engine
    shared_second_engine.delete_connectors()


@pytest.fixture(scope="session")
def topics(broker: str) -> Topics:
    return Topics(broker)


@pytest.fixture
def second_topics(second_broker: LocalBroker) -> Topics:
    """Topics on the second broker."""
    return Topics(second_broker.bootstrap_servers)

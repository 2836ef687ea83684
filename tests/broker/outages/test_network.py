"""A slow network that loses packets, and services behind a network that is cut: nothing is lost, nothing is doubled."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from demo.broker import LocalBroker
from dlqadmin.host.network import port_of
from tests.broker.outages.busy_product import BusyProduct
from tests.broker.outages.test_services import NO_DATABASE
from tests.broker.replay_world import ROOT
from tests.broker.test_replay_kills import new_database
from tests.support.broker import OVERRIDES
from tests.support.gate import Gate
from tests.support.impaired_network import ImpairedNetwork, can_be_impaired

pytestmark = [
    pytest.mark.soak,  # they wait for real time-outs, and for a slow network
    pytest.mark.skipif(not can_be_impaired(), reason="only root makes network namespaces and TUN devices"),
]
CUT_S = 30
SENTENCES = {"kafka": "Kafka does not respond.", "redis": "Redis does not respond.", "database": NO_DATABASE}
GIVEN_UP_S = 90  # the system's own limits are a quarter of an hour and two hours
QUERY = """
from django.db import OperationalError, connection
with connection.cursor() as cursor:
    cursor.execute("SELECT 1")
    print("connected", flush=True)
    try:
        cursor.execute("SELECT pg_sleep(600)")
    except OperationalError:
        print("given up", flush=True)
"""


class Remote(NamedTuple):
    """A product in a namespace, and the ports of its services on this machine."""

    busy: BusyProduct
    network: ImpairedNetwork
    ports: dict[str, int]


@pytest.fixture
def network() -> Iterator[ImpairedNetwork]:
    opened = ImpairedNetwork().open()
    yield opened
    opened.close()


@pytest.fixture
def remote(tmp_path: Path, network: ImpairedNetwork, redis_url: str, postgres_url: str) -> Iterator[Remote]:
    broker = LocalBroker(tmp_path / "broker", overrides=OVERRIDES, host=network.here).start()
    database = new_database(postgres_url)
    gates = {name: Gate(port_of(url), network.here) for name, url in (("redis", redis_url), ("database", database))}

    def through(name: str, url: str) -> str:
        port = port_of(url)
        return url.replace(f"127.0.0.1:{port}", f"{network.here}:{gates[name].port}")

    home = tmp_path / "home"
    home.mkdir()
    busy = BusyProduct(
        home,
        broker.bootstrap_servers,
        through("redis", redis_url),
        through("database", database),
        replayed=2500,
        host=network.there,
        prefix=network.prefix,
    )
    try:
        busy.start_all()
        yield Remote(busy, network, {"kafka": broker.port, **{name: gate.port for name, gate in gates.items()}})
    finally:
        network.delay_s, network.loss, network.blocked = 0.0, 0.0, frozenset()
        busy.stop()
        for gate in gates.values():
            gate.close()
        broker.stop()


def test_a_query_ends_when_the_machine_of_the_database_is_gone(network: ImpairedNetwork, postgres_url: str) -> None:
    gate = Gate(port_of(postgres_url), network.here)
    address = f"{network.here}:{gate.port}"
    env = {**os.environ, "DATABASE_URL": postgres_url.replace(f"127.0.0.1:{gate.target}", address)}
    command = [*network.prefix, sys.executable, "manage.py", "shell", "--verbosity", "0", "--command", QUERY]
    with subprocess.Popen(command, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE) as asking:
        assert asking.stdout is not None
        assert asking.stdout.readline() == "connected\n"
        network.blocked = frozenset({gate.port})
        began = time.monotonic()
        assert asking.stdout.readline() == "given up\n"
        assert time.monotonic() - began < GIVEN_UP_S
    gate.close()


def test_delay_and_loss(remote: Remote) -> None:
    remote.network.delay_s, remote.network.loss = 0.1, 0.02  # a round trip of 200 ms
    before = remote.network.dropped
    remote.busy.until_sent(remote.busy.sent() + 300)
    remote.busy.settle()
    assert remote.network.dropped > before + 20


def test_each_service_is_cut_off_in_turn(remote: Remote) -> None:
    for service, sentence in SENTENCES.items():
        began = time.monotonic()
        with remote.network.without(remote.ports[service]):
            remote.busy.until_said(sentence)
            time.sleep(max(0, CUT_S - (time.monotonic() - began)))
        remote.busy.until_healthy()
    remote.busy.settle()

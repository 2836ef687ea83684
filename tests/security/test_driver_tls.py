"""A standby driver forwards requests over TLS to a leader whose certificate it trusts, and to no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from engine.config.worker import parse_worker
from engine.errors import ConfigError
from engine.rest.app import build_app
from engine.rest.forwarding import LeaderForwarder
from engine.rest.request_checks import AccessRules, RequestChecks
from engine.rest.server import RestServer
from engine.rest.tls import client_context, server_context
from tests.engine.rest.herder import Herder, examine
from tests.support.certificates import self_signed

PREFIX = "listeners.https."


def properties(stores: Mapping[str, str], prefix: str = PREFIX) -> dict[str, str]:
    return {"listeners": "https://127.0.0.1:0"} | {f"{prefix}ssl.{name}": value for name, value in stores.items()}


@contextmanager
def leading(given: Mapping[str, str]) -> Iterator[Herder]:
    """Yield the herder of a driver that stands by, beside a leader with these properties."""
    worker = parse_worker(given)
    server = RestServer(worker.rest.listeners, server_context(worker.rest, worker.client))
    server.start(RequestChecks(build_app(Herder(), examine), AccessRules(frozenset({"127.0.0.1"}), None)))
    herder = Herder()
    herder.standby = server.addresses[0]
    try:
        yield herder
    finally:
        server.stop()


def status(herder: Herder, given: Mapping[str, str]) -> int:
    """Return the status with which a standby driver with these properties answers."""
    worker = parse_worker(given)
    app = build_app(herder, examine, forwarder=LeaderForwarder(tls=client_context(worker.rest, worker.client)))
    client = TestClient(app, raise_server_exceptions=False, follow_redirects=False)
    return client.post("/connectors/c/restart").status_code


@pytest.mark.parametrize("prefix", [PREFIX, ""])
def test_a_leader_with_a_private_certificate_is_reached_if_it_is_trusted(tmp_path: Path, prefix: str) -> None:
    keystore, chain = self_signed(tmp_path / "leader")
    own, _ = self_signed(tmp_path / "standby")
    trusted = tmp_path / "trusted.pem"
    trusted.write_text(chain)
    with leading(properties({"keystore.location": str(keystore)})) as herder:
        stores = {"keystore.location": str(own)}
        assert status(herder, properties({**stores, "truststore.location": str(trusted)}, prefix)) == 204
        assert status(herder, properties(stores, prefix)) == 307  # the client may trust it
        stranger = tmp_path / "standby" / "keystore.pem"
        assert status(herder, properties({**stores, "truststore.location": str(stranger)}, prefix)) == 307


def test_a_leader_that_requires_certificates_sees_that_of_the_standby_driver(tmp_path: Path) -> None:
    keystore, chain = self_signed(tmp_path / "leader")
    own, own_chain = self_signed(tmp_path / "standby")
    other, _ = self_signed(tmp_path / "other")
    stores = {name: tmp_path / f"trusted-by-{name}.pem" for name in ("leader", "standby")}
    stores["leader"].write_text(own_chain)
    stores["standby"].write_text(chain)
    of_leader = {"keystore.location": str(keystore), "truststore.location": str(stores["leader"])}
    with leading(properties({**of_leader, "client.auth": "required"})) as herder:
        trusting = {"truststore.location": str(stores["standby"])}
        assert status(herder, properties({"keystore.location": str(own), **trusting})) == 204
        assert status(herder, properties({"keystore.location": str(other), **trusting})) == 307


def test_a_trust_store_that_can_not_be_read_is_refused(tmp_path: Path) -> None:
    keystore, _ = self_signed(tmp_path / "own")
    empty = tmp_path / "trusted.pem"
    empty.write_text("no certificate")
    worker = parse_worker(properties({"keystore.location": str(keystore), "truststore.location": str(empty)}))
    with pytest.raises(ConfigError, match=r"truststore\.location"):
        client_context(worker.rest, worker.client)

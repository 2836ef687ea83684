"""The demonstration's processes: those of the dashboard, and those that only the demonstration has.

The Procfile has their commands, under the same names.
"""

from __future__ import annotations

from pathlib import Path

import httpx

from demo.broker import LocalBroker
from demo.environment import engine_token
from demo.feeder import COMPLETE
from dlqadmin.host.network import port_of
from dlqadmin.serve.processes import BEAT, INDEXER, REDIS, REPLAYER, WEB, WORKER, Launch, ManagedProcess

CONNECTORS = Path(__file__).with_name("connectors")


def _broker_answers(launch: Launch) -> bool:
    return LocalBroker(Path(), port_of(launch.env["KAFKA_BOOTSTRAP_SERVERS"])).ready()


def _connectors_run(launch: Launch) -> bool:
    """Return whether the engine lists the demo's connectors."""
    try:
        credentials = {"Authorization": f"Bearer {engine_token(launch.env)}"}
        listed = httpx.get(f"{launch.env['ENGINE_URL']}/connectors", headers=credentials)
        return listed.is_success and set(listed.json()) >= {path.stem for path in CONNECTORS.glob("*.properties")}
    except (httpx.HTTPError, ValueError):
        return False


def _batch_is_sent(launch: Launch) -> bool:
    return COMPLETE in launch.log.read_text(errors="replace")


PROCESSES = (
    REDIS,
    ManagedProcess("broker", "Kafka broker", _broker_answers, lambda env: env["KAFKA_BOOTSTRAP_SERVERS"]),
    WEB,
    WORKER,
    REPLAYER,
    BEAT,
    INDEXER,
    ManagedProcess("engine", "connectors on Spark, with a REST API", _connectors_run, lambda env: env["ENGINE_URL"]),
    ManagedProcess("feeder", "producer of the demo's records", _batch_is_sent),
)

"""The demonstration's processes: what each one is, where it listens, and when it is up.

The Procfile has their commands, under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import httpx
from celery import Celery
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kombu.exceptions import OperationalError

from demo.broker import LocalBroker
from demo.environment import ROOT, engine_token, port_of
from demo.feeder import COMPLETE
from demo.network import HOST, is_answering

CONNECTORS = Path(__file__).with_name("connectors")
INDEX_GROUP = "dlqadmin-index"


class Launch(NamedTuple):
    """The start of a process: its environment, its log file, and the time of the start."""

    env: Mapping[str, str]
    log: Path
    began: float


class DemoProcess(NamedTuple):
    """A process of the demonstration."""

    name: str
    title: str
    is_up: Callable[[Launch], bool]
    address: Callable[[Mapping[str, str]], str] = lambda _: ""


def web_url(env: Mapping[str, str]) -> str:
    """Return the dashboard's address."""
    return f"http://{env['WEB_HOST']}:{env['WEB_PORT']}"


def _redis_answers(launch: Launch) -> bool:
    return is_answering(HOST, port_of(launch.env["REDIS_URL"]))


def _broker_answers(launch: Launch) -> bool:
    return LocalBroker(Path(), port_of(launch.env["KAFKA_BOOTSTRAP_SERVERS"])).ready()


def _dashboard_answers(launch: Launch) -> bool:
    try:
        return httpx.get(f"{web_url(launch.env)}/api/v1/session").is_success
    except httpx.HTTPError:
        return False


def _connectors_run(launch: Launch) -> bool:
    """Return whether the engine lists the demo's connectors."""
    try:
        credentials = {"Authorization": f"Bearer {engine_token(launch.env)}"}
        listed = httpx.get(f"{launch.env['ENGINE_URL']}/connectors", headers=credentials)
        return listed.is_success and set(listed.json()) >= {path.stem for path in CONNECTORS.glob("*.properties")}
    except (httpx.HTTPError, ValueError):
        return False


def _worker_answers(node: str) -> Callable[[Launch], bool]:
    """Return whether the Celery worker with this node name answers a ping."""

    def is_up(launch: Launch) -> bool:
        if not _redis_answers(launch):  # Celery would wait for it
            return False
        with Celery(broker=launch.env["REDIS_URL"]) as app:
            try:
                replies = app.control.ping(timeout=0.5) or []
            except OperationalError:
                return False
        return any(name.startswith(f"{node}@") for reply in replies for name in reply)

    return is_up


def _schedule_is_loaded(launch: Launch) -> bool:
    """Return whether beat has written its schedule since its start. The database module chooses the suffix."""
    files = Path(ROOT, launch.env["LOCAL_DIR"]).glob("celerybeat-schedule*")
    return any(file.stat().st_mtime >= launch.began for file in files)


def _indexer_joined(launch: Launch) -> bool:
    """Return whether the indexer's consumer group has a member."""
    if not _broker_answers(launch):
        return False
    client = AdminClient({"bootstrap.servers": launch.env["KAFKA_BOOTSTRAP_SERVERS"], "log_level": 0})
    try:
        [group] = client.describe_consumer_groups([INDEX_GROUP], request_timeout=2).values()
        return bool(group.result().members)
    except KafkaException:
        return False


def _batch_is_sent(launch: Launch) -> bool:
    return COMPLETE in launch.log.read_text(errors="replace")


PROCESSES = (
    DemoProcess("redis", "Redis: task queues", _redis_answers, lambda env: f"{HOST}:{port_of(env['REDIS_URL'])}"),
    DemoProcess("broker", "Kafka broker", _broker_answers, lambda env: env["KAFKA_BOOTSTRAP_SERVERS"]),
    DemoProcess("web", "dashboard and its REST API", _dashboard_answers, web_url),
    DemoProcess("worker", "Celery worker: metrics, plans, exports", _worker_answers("celery")),
    DemoProcess("replayer", "Celery worker: replays", _worker_answers("replayer")),
    DemoProcess("beat", "Celery beat: starts periodic tasks", _schedule_is_loaded),
    DemoProcess("indexer", "dead letter indexer", _indexer_joined),
    DemoProcess("engine", "connectors on Spark, with a REST API", _connectors_run, lambda env: env["ENGINE_URL"]),
    DemoProcess("feeder", "producer of the demo's records", _batch_is_sent),
)

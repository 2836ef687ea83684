"""The dashboard's processes on one machine: what each one is, where it listens, and when it is up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import httpx
from celery import Celery
from kombu.exceptions import OperationalError

from dlqadmin.host.network import HOST, is_answering, port_of
from dlqadmin.host.readiness import INDEXER_READS


class Launch(NamedTuple):
    """The start of a process: its environment, its log file, and the time of the start."""

    env: Mapping[str, str]
    log: Path
    began: float


class ManagedProcess(NamedTuple):
    """A process that is started and watched with others."""

    name: str
    title: str
    is_up: Callable[[Launch], bool]
    address: Callable[[Mapping[str, str]], str] = lambda _: ""


def web_url(env: Mapping[str, str]) -> str:
    """Return the dashboard's address on this machine."""
    host = HOST if env["WEB_HOST"] in ("0.0.0.0", "::") else env["WEB_HOST"]  # noqa: S104, no server binds to it here
    return f"http://{f'[{host}]' if ':' in host else host}:{env['WEB_PORT']}"


def redis_answers(launch: Launch) -> bool:
    """Return whether the Redis of this machine accepts connections."""
    return is_answering(HOST, port_of(launch.env["REDIS_URL"]))


def dashboard_answers(launch: Launch) -> bool:
    """Return whether the web server responds, with its database."""
    try:
        return httpx.get(f"{web_url(launch.env)}/api/v1/session").is_success
    except httpx.HTTPError:
        return False


def worker_answers(node: str) -> Callable[[Launch], bool]:
    """Return whether the Celery worker with this node name answers a ping."""

    def is_up(launch: Launch) -> bool:
        with Celery(broker=launch.env["REDIS_URL"]) as app:
            app.conf.broker_transport_options = {"max_retries": 1, "socket_connect_timeout": 1}
            try:
                replies = app.control.ping(timeout=0.5) or []
            except OperationalError:
                return False
        return any(name.startswith(f"{node}@") for reply in replies for name in reply)

    return is_up


def schedule_is_loaded(launch: Launch) -> bool:
    """Return whether beat has written its schedule since its start. The database module chooses the suffix."""
    files = Path(launch.env["LOCAL_DIR"]).glob("celerybeat-schedule*")
    return any(file.stat().st_mtime >= launch.began for file in files)


def indexer_reads(launch: Launch) -> bool:
    """Return whether the indexer says that it reads."""
    return INDEXER_READS in launch.log.read_text(errors="replace")


REDIS = ManagedProcess("redis", "Redis: task queues", redis_answers, lambda env: f"{HOST}:{port_of(env['REDIS_URL'])}")
WEB = ManagedProcess("web", "dashboard and its REST API", dashboard_answers, web_url)
WORKER = ManagedProcess("worker", "Celery worker: metrics, plans, exports", worker_answers("celery"))
REPLAYER = ManagedProcess("replayer", "Celery worker: replays", worker_answers("replayer"))
BEAT = ManagedProcess("beat", "Celery beat: starts periodic tasks", schedule_is_loaded)
INDEXER = ManagedProcess("indexer", "dead letter indexer", indexer_reads)

"""The health and the overview's findings while each process of the product is frozen or killed in turn."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from demo.environment import ROOT, demo_environment
from demo.postgres import LocalPostgres, PostgresMissing
from demo.run import SERVERS, prepare, procfile
from dlqadmin.host.network import wait_until
from dlqadmin.host.supervisor import Supervisor, shell_commands
from tests.support.product import Product

log = logging.getLogger(__name__)  # `--log-cli-level=INFO` shows the seconds and the overview's sentences
NOTICED_S, RECOVERED_S, STARTED_S = 150, 240, 240
# A part of the command line of each process, and the reason that health gives while it does not work.
CASES = {
    "engine": ("engine run", "engine does not respond"),
    "indexer": ("index_deadletters", "The indexer has not been active since"),
    "worker": ("--queues celery", "No Celery worker serves the queue celery"),
    "replayer": ("--queues replays", "No Celery worker serves the queue replays"),
    "beat": ("dlqadmin.celery beat", "Celery beat does not start periodic tasks."),
    "redis": ("redis-server", "Redis does not respond."),
    "broker": ("kafka.Kafka", "Kafka does not respond."),
}
NO_DATABASE = "The database does not respond"


class Processes(Product):
    """The product on PostgreSQL, with a supervisor for each process: one that ends does not end the others."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.database = LocalPostgres(
            Path(tempfile.mkdtemp(prefix="dlqadmin-postgres-"))
        )  # PostgreSQL's user can't enter `home`
        self.env["DATABASE_URL"] = self.database.url
        self._supervisors: dict[str, Supervisor] = {}
        self._commands = procfile(ROOT / "Procfile")

    def start(self) -> Processes:
        self.database.start()
        self.env = demo_environment(self.env)
        prepare(self.env)
        for name in self._commands:
            self.run_process(name)
        wait_until(lambda: is_healthy(self), "A healthy product", STARTED_S, 2)
        return self

    def run_process(self, name: str) -> None:
        supervisor = Supervisor(shell_commands({name: self._commands[name]}), self.env, self.home / "logs")
        supervisor.start()
        self._supervisors[name] = supervisor

    def kill(self, name: str) -> None:
        """Kill the process and its descendants with SIGKILL."""
        for pid in self.processes():
            if CASES.get(name, ("uvicorn dlqadmin.asgi",))[0] in command_line(pid):
                os.kill(pid, signal.SIGKILL)
        self._supervisors.pop(name).stop()

    def stop(self) -> None:
        for name in sorted(self._supervisors, key=lambda name: name in SERVERS):
            self._supervisors[name].stop()
        self.database.stop()
        shutil.rmtree(self.database.home, ignore_errors=True)


@pytest.fixture(scope="module")
def killable_product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    try:
        product = Processes(tmp_path_factory.mktemp("killable"))
    except PostgresMissing as missing:
        pytest.skip(str(missing))
    try:
        yield product.start()
    finally:
        product.stop()


@pytest.mark.parametrize(
    # Redis is the short case: health asks it directly, and needs no heartbeat that becomes old.
    "name",
    [name if name == "redis" else pytest.param(name, marks=pytest.mark.soak) for name in CASES],
)
def test_a_frozen_process_is_named_until_it_goes_on(product: Product, name: str) -> None:
    command, reason = CASES[name]
    wait_until(lambda: is_healthy(product), "A healthy product", RECOVERED_S, 2)
    with frozen(product, command):
        holds_the_truth(product, reason)
    wait_until(lambda: is_healthy(product), "The recovery", RECOVERED_S, 2)


@pytest.mark.soak
@pytest.mark.parametrize("name", CASES)
def test_a_killed_process_is_named_until_it_runs_again(killable_product: Processes, name: str) -> None:
    wait_until(lambda: is_healthy(killable_product), "A healthy product", RECOVERED_S, 2)
    killable_product.kill(name)
    try:
        holds_the_truth(killable_product, CASES[name][1])
    finally:
        killable_product.run_process(name)
    wait_until(lambda: is_healthy(killable_product), "The recovery", RECOVERED_S, 2)


@pytest.mark.soak
def test_without_its_database_the_product_says_so_and_recovers(killable_product: Processes) -> None:
    wait_until(lambda: is_healthy(killable_product), "A healthy product", RECOVERED_S, 2)
    with killable_product.client() as client:
        killable_product.database.stop()
        try:
            answer = client.get("health", timeout=60)
            assert answer.status_code == 503
            assert NO_DATABASE in answer.json()["detail"]
            assert httpx.get(f"{killable_product.web}/healthz").is_success  # a restart would not help
        finally:
            killable_product.database.start()
        wait_until(lambda: is_healthy(killable_product), "The recovery", RECOVERED_S, 2)


@pytest.mark.soak
def test_a_killed_web_server_gives_no_answer_and_the_same_health_afterwards(killable_product: Processes) -> None:
    wait_until(lambda: is_healthy(killable_product), "A healthy product", RECOVERED_S, 2)
    killable_product.kill("web")
    try:
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{killable_product.web}/healthz")
    finally:
        killable_product.run_process("web")
    wait_until(lambda: is_healthy(killable_product), "The recovery", RECOVERED_S, 2)


def holds_the_truth(product: Product, reason: str) -> None:
    """Wait until health names the reason; the overview must then not call the system healthy."""
    with product.client() as client:
        began = time.monotonic()
        wait_until(lambda: reason in " ".join(get(client, "health")["reasons"]), reason, NOTICED_S, 2)
        seconds = time.monotonic() - began
        found = get(client, "metrics/attention")
        log.info("after %.0f s: %s", seconds, [(item["title"], item["text"]) for item in found["items"]])
        assert get(client, "health")["status"] == "failing"
    assert found["status"] == "failing"
    assert found["ok"] == ""
    assert any(item["severity"] == "high" for item in found["items"])


def is_healthy(product: Product) -> bool:
    """Return whether health and the overview both say that all parts work."""
    try:
        with product.client() as client:
            return get(client, "health")["status"] == "ok" and bool(get(client, "metrics/attention")["ok"])
    except httpx.HTTPError:
        return False


def get(client: httpx.Client, path: str) -> Any:
    return client.get(path, timeout=60).raise_for_status().json()


@contextmanager
def frozen(product: Product, command: str) -> Iterator[None]:
    """Freeze the processes of the product whose command line contains `command`."""
    if command == "redis-server":  # it overwrites its environment, by which the others are found
        address = urlsplit(product.env["REDIS_URL"])
        wanted = f"redis-server {address.hostname}:{address.port}"
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        pids = [pid for pid in pids if wanted in command_line(pid)]
    else:
        pids = [pid for pid in product.processes() if command in command_line(pid)]
    assert pids, command
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:  # it ended meanwhile
        return ""

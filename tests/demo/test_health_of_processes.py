"""The health and the overview's findings while each process of the product is frozen in turn."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from demo.network import wait_until
from tests.support.product import Product

pytestmark = [pytest.mark.browser, pytest.mark.soak]

NOTICED_S, RECOVERED_S = 150, 240
# A part of the command line of each process, and the reason that health gives while it is frozen.
CASES = {
    "engine": ("engine run", "engine does not respond"),
    "indexer": ("index_deadletters", "The indexer has not been active since"),
    "worker": ("--queues celery", "No Celery worker serves the queue celery"),
    "replayer": ("--queues replays", "No Celery worker serves the queue replays"),
    "beat": ("dlqadmin.celery beat", "Celery beat does not start periodic tasks."),
    "redis": ("redis-server", "Redis does not respond."),
    "broker": ("kafka.Kafka", "Kafka does not respond."),
}


@pytest.mark.parametrize("name", CASES)
def test_a_frozen_process_is_named_until_it_goes_on(product: Product, name: str) -> None:
    command, reason = CASES[name]
    with product.client() as client:

        def get(path: str) -> Any:
            return client.get(path, timeout=60).raise_for_status().json()

        wait_until(lambda: get("health")["status"] == "ok", "A healthy product", RECOVERED_S, 2)
        assert get("metrics/attention")["ok"]
        with frozen(product, command):
            wait_until(lambda: reason in " ".join(get("health")["reasons"]), reason, NOTICED_S, 2)
            assert get("health")["status"] == "failing"
            found = get("metrics/attention")
            assert found["ok"] == ""
            assert found["items"]
        wait_until(lambda: get("health")["status"] == "ok", "The recovery", RECOVERED_S, 2)


@contextmanager
def frozen(product: Product, command: str) -> Iterator[None]:
    """Freeze the processes of the product whose command line contains `command`."""
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
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()

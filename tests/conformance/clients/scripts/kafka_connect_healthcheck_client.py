"""The client kafka-connect-healthcheck: `python kafka_connect_healthcheck_client.py URL FOLDER`."""

from __future__ import annotations

import sys

import requests
from kafka_connect_healthcheck.health import Health
from steps import Steps, has_state, sink

url, folder = sys.argv[1:]
steps, config = Steps(), sink(folder)


def health(*unhealthy: str) -> Health:
    """Return a check of all connectors and tasks of all workers."""
    return Health(url, None, list(unhealthy), "", 0, ["connector", "task"])


def status() -> dict[str, object]:
    return requests.get(f"{url}/connectors/sink/status", timeout=10).json()


steps.call("nothing", health("FAILED").get_health_result)
requests.put(f"{url}/connectors/sink/config", json=config, timeout=30).raise_for_status()
steps.until(lambda: has_state(status(), "RUNNING"))
steps.call("healthy", health("FAILED").get_health_result)
requests.put(f"{url}/connectors/sink/pause", timeout=30).raise_for_status()
steps.until(lambda: has_state(status(), "PAUSED"))
steps.call("paused", health("FAILED", "PAUSED").get_health_result)
requests.put(f"{url}/connectors/sink/stop", timeout=30).raise_for_status()
steps.until(lambda: has_state(status(), "STOPPED", 0))
steps.call("stopped", health("FAILED", "STOPPED").get_health_result)
requests.delete(f"{url}/connectors/sink", timeout=30).raise_for_status()
steps.write()

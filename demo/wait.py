"""Wait for services, then become a command: `python -m demo.wait kafka redis -- command …`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from demo.environment import demo_environment
from dlqadmin.host.network import HOST, is_answering, port_of, wait_until

TIMEOUT_S = 120


def wait_for(service: str, env: dict[str, str]) -> None:
    """Return when the service answers. Raises TimeoutError if it does not in time."""
    if service == "kafka":
        from demo.broker import LocalBroker  # imported here, so that waiting for Redis loads no Kafka client

        broker = LocalBroker(Path(), port_of(env["KAFKA_BOOTSTRAP_SERVERS"]))
        wait_until(broker.ready, "The Kafka broker", TIMEOUT_S)
    elif service == "redis":
        port = port_of(env["REDIS_URL"])
        wait_until(lambda: is_answering(HOST, port), "Redis", TIMEOUT_S)
    else:
        raise ValueError(f"unknown service {service!r}; write kafka or redis")


def main(arguments: list[str]) -> None:
    """Wait for the services, then become the command."""
    split = arguments.index("--")
    env = demo_environment()
    for service in arguments[:split]:
        wait_for(service, env)
    command = arguments[split + 1 :]
    os.execvpe(command[0], command, env)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except TimeoutError as late:
        sys.exit(str(late))

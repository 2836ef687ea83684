"""The environment of the dashboard's processes: the options of the command line as settings."""

from __future__ import annotations

import os
import secrets
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from dlqadmin.host.env_files import load
from dlqadmin.host.folders import CODE_DIR, IS_CLONE, data_folder, env_file
from dlqadmin.host.network import HOST, free_ports
from dlqadmin.host.secret_files import secret, store
from dlqadmin.serve.arguments import PASSWORD
from dlqadmin.serve.console import LaunchFailed
from dlqadmin.serve.processes import web_url
from engine.config.properties import load_properties

SERVERS = "bootstrap.servers"
SECURITY = ("security.protocol", "sasl.", "ssl.")
LOOPBACK = (HOST, "localhost", "[::1]")


def settings_of(asked: Namespace, given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a command with these options. Raises LaunchFailed.

    Options win over the environment, and the environment over the data folder's file `.env`.
    """
    local = (asked.data or Path(given.get("LOCAL_DIR") or data_folder(given))).absolute()
    env = {**load(env_file(local)), **given, "LOCAL_DIR": str(local), "DJANGO_SETTINGS_MODULE": "dlqadmin.settings"}
    env.pop(PASSWORD, None)  # for the first user only
    env.setdefault("ENGINE_URL", "")  # the engine is another installation, and most clusters have none
    if getattr(asked, "kafka_config", None):
        env |= kafka_settings(asked.kafka_config)
    if getattr(asked, "kafka", None):
        env["KAFKA_BOOTSTRAP_SERVERS"] = asked.kafka
    if getattr(asked, "topics", None):
        env["DLQ_TOPICS"] = asked.topics
    return env


def serve_environment(asked: Namespace, given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the processes of `dlqadmin serve`. Raises LaunchFailed."""
    env = settings_of(asked, given)
    if not env.get("KAFKA_BOOTSTRAP_SERVERS"):
        raise LaunchFailed("No Kafka cluster is named. Add --kafka HOST:PORT.")
    env["WEB_HOST"], env["WEB_PORT"] = asked.host, str(asked.port)
    if asked.read_only:
        env["DLQADMIN_READ_ONLY"] = "true"
    if asked.host not in LOOPBACK:
        env.setdefault("ALLOWED_HOSTS", ",".join((*LOOPBACK, *_names(asked.host))))
    else:
        env.setdefault("DLQADMIN_URL", web_url(env))
    if IS_CLONE:
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(CODE_DIR), env.get("PYTHONPATH"))))
    env["PYTHONUNBUFFERED"] = "1"
    env["PYTHONSAFEPATH"] = "1"  # modules of the working directory must not replace ours
    env.setdefault("PYTHONWARNINGS", "ignore:You're running the worker with superuser privileges")  # Celery's
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env.get('PATH', '')}"
    return env


def own_redis_url(local: Path) -> str:
    """Return the URL of a private Redis on a free port, and note it for `dlqadmin manage` and `dlqadmin doctor`."""
    [port] = free_ports(1)
    (local / "redis-port").write_text(str(port))
    return f"redis://:{quote(secret(local / 'redis-password'), safe='')}@{HOST}:{port}/0"


def choose_index_group(local: Path) -> None:
    """Note a consumer group that no other installation on the Kafka cluster has."""
    if not (local / "index-group").exists():
        store(local / "index-group", f"dlqadmin-index-{secrets.token_hex(4)}")


def kafka_settings(path: Path) -> dict[str, str]:
    """Return the settings for the options of a client's properties file. Raises LaunchFailed."""
    try:
        options = load_properties(path)
    except (OSError, UnicodeDecodeError) as error:
        raise LaunchFailed(f"--kafka-config: {path} can't be read: {getattr(error, 'strerror', error)}.") from error
    found = {}
    for name, value in options.items():
        if not name.startswith((*SECURITY, SERVERS)):
            raise LaunchFailed(
                f"--kafka-config: {path}: {name} is not an option of the connection's security. Remove it; "
                "security.protocol, sasl.* and ssl.* are such options."
            )
        found["KAFKA_" + name.upper().replace(".", "_")] = value
    return found


def _names(host: str) -> list[str]:
    """Return the names in requests to a server at this address."""
    if host in ("0.0.0.0", "::"):  # noqa: S104, compared only
        return [name for name in {os.uname().nodename, *_addresses()} if name]
    return [f"[{host}]" if ":" in host else host]


def _addresses() -> list[str]:
    """Return the addresses of this machine's name."""
    import socket

    try:
        return sorted({str(row[4][0]) for row in socket.getaddrinfo(os.uname().nodename, None, socket.AF_INET)})
    except OSError:
        return []

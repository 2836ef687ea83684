"""The command line arguments of `dlqadmin`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from dlqadmin.host.network import HOST

WEB_PORT = 8000
PASSWORD = "DLQADMIN_PASSWORD"  # noqa: S105, the name of a variable
EPILOG = "Each option of `serve` and `doctor` is explained in docs/how-to/install.md."


def parser() -> argparse.ArgumentParser:
    """Return the parser of `dlqadmin`; `command` names the subcommand."""
    top = argparse.ArgumentParser(
        prog="dlqadmin", description="Find, explain, repair and replay Kafka's dead letters.", epilog=EPILOG
    )
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")

    data = argparse.ArgumentParser(add_help=False)
    data.add_argument(
        "--data", type=Path, metavar="FOLDER",
        help="folder of the database, the secrets and the logs (default: $LOCAL_DIR, or ~/.local/share/dlqadmin)",
    )  # fmt: skip
    kafka = argparse.ArgumentParser(add_help=False, parents=[data])
    kafka.add_argument("--kafka", metavar="HOST:PORT,…", help="bootstrap servers (default: $KAFKA_BOOTSTRAP_SERVERS)")
    kafka.add_argument(
        "--kafka-config", type=Path, metavar="FILE",
        help="properties file with the TLS and SASL options of Kafka's own clients",
    )  # fmt: skip
    kafka.add_argument(
        "--topics", type=_topics, metavar="REGEX,…",
        help="dead letter topics: names or regular expressions (default: $DLQ_TOPICS, or the usual names)",
    )  # fmt: skip

    serve = commands.add_parser("serve", parents=[kafka], help="run the dashboard and all its processes until Ctrl-C")
    serve.add_argument("--port", type=_port, default=WEB_PORT, help=f"port of the dashboard (default: {WEB_PORT})")
    serve.add_argument("--host", default=HOST, metavar="ADDRESS", help=f"address to listen at (default: {HOST})")
    serve.add_argument("--read-only", action="store_true", help="write nothing to Kafka: no replays")
    serve.add_argument(
        "--user", type=_user, default="admin", metavar="NAME",
        help=f"name of the first user (default: admin); ${PASSWORD} is the password (default: a random one)",
    )  # fmt: skip

    doctor = commands.add_parser("doctor", parents=[kafka], help="check Kafka, ACLs, Redis, database, clock and disk")
    doctor.add_argument("--json", action="store_true", help="print JSON")

    manage = commands.add_parser("manage", parents=[data], help="run a command of Django's manage.py")
    manage.add_argument("arguments", nargs=argparse.REMAINDER, help="such as migrate or createsuperuser")
    return top


def _topics(text: str) -> str:
    for pattern in text.split(","):
        try:
            re.compile(pattern)
        except re.error as error:
            raise argparse.ArgumentTypeError(f"{pattern!r} is not a regular expression: {error}") from None
    return text


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port")
    return int(text)


def _user(text: str) -> str:
    if not re.fullmatch(r"[\w.@+-]{1,150}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a user name; use letters, digits and @.+-_")
    return text

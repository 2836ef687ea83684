"""The environment of the demonstration: .env.example's defaults, then .env, then what the caller's shell says."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINE = re.compile(r"^([A-Z_][A-Z0-9_]*)=(.*)$")


def demo_environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return all variables for the demonstration's processes; LOCAL_DIR moves its database along."""
    given = os.environ if given is None else given
    defaults = parse(Path(ROOT, ".env.example").read_text())
    own = Path(ROOT, ".env")
    chosen = {**(parse(own.read_text()) if own.exists() else {}), **given}
    env = {**defaults, **chosen}
    if "DATABASE_URL" not in chosen:
        env["DATABASE_URL"] = f"sqlite:///{env['LOCAL_DIR']}/dlqadmin.sqlite3"
    env["CONNECT_BOOTSTRAP_SERVERS"] = env["KAFKA_BOOTSTRAP_SERVERS"]
    env["CONNECT_LISTENERS"] = env["ENGINE_URL"]
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env.get('PATH', '')}"
    env["PYSPARK_PYTHON"] = sys.executable
    env["PYTHONUNBUFFERED"] = "1"
    return env


def parse(text: str) -> dict[str, str]:
    """Read NAME=value lines; a value may stand in single or double quotes."""
    found = (LINE.match(line.strip()) for line in text.splitlines())
    return {match[1]: match[2].strip("'\"") for match in found if match}


def port_of(address: str) -> int:
    """Return the port of `host:port` or of a URL."""
    match = re.search(r":(\d+)(?:/|$)", address)
    if match is None:
        raise ValueError(f"{address!r} names no port")
    return int(match[1])

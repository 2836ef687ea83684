"""The demo's environment: defaults of .env.example, then .env, then the caller's shell."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Connectors' files, in LOCAL_DIR. No Python package can have this name, and the engine refuses a folder of packages.
FILES = "connector-files"
REDIS_URL = "redis://127.0.0.1:16379/0"  # the demonstration's own Redis
LINE = re.compile(r"^([A-Z_][A-Z0-9_]*)=(.*)$")


def demo_environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return all variables of the demonstration's processes. LOCAL_DIR also moves its database."""
    given = os.environ if given is None else given
    defaults = parse(Path(ROOT, ".env.example").read_text())
    own = Path(ROOT, ".env")
    chosen = {**(parse(own.read_text()) if own.exists() else {}), **given}
    env = {**defaults, **chosen}
    if "DATABASE_URL" not in chosen:
        env["DATABASE_URL"] = f"sqlite:///{env['LOCAL_DIR']}/dlqadmin.sqlite3"
    env.setdefault("REDIS_URL", REDIS_URL)
    env["CONNECT_BOOTSTRAP_SERVERS"] = env["KAFKA_BOOTSTRAP_SERVERS"]
    env["CONNECT_LISTENERS"] = env["ENGINE_URL"]
    # The engine and the dashboard read the same token, which `demo.run` creates.
    env.setdefault("ENGINE_TOKEN_FILE", str(Path(env["LOCAL_DIR"], "engine-token").absolute()))
    env["CONNECT_REST_AUTH_TOKEN_FILE"] = env["ENGINE_TOKEN_FILE"]
    env["CONNECT_FILE_CONNECTORS_ROOT"] = str(Path(ROOT, env["LOCAL_DIR"], FILES).resolve())
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env.get('PATH', '')}"
    env["PYSPARK_PYTHON"] = sys.executable
    env["PYTHONUNBUFFERED"] = "1"
    env.setdefault("PYTHONWARNINGS", "ignore:You're running the worker with superuser privileges")  # Celery's
    return env


def parse(text: str) -> dict[str, str]:
    """Parse NAME=value lines. A value may be in single or double quotes."""
    found = (LINE.match(line.strip()) for line in text.splitlines())
    return {match[1]: match[2].strip("'\"") for match in found if match}


def engine_token(env: Mapping[str, str]) -> str:
    """Return the engine's token.

    It is created on the first call; only its owner can read the file.
    """
    return _secret(Path(env["ENGINE_TOKEN_FILE"]))


def own_redis_url(local: Path) -> str:
    """Return the URL of the demonstration's own Redis, with the password kept in `local`.

    The password is created on the first call; only its owner can read the file.
    """
    return REDIS_URL.replace("//", f"//:{_secret(local / 'redis-password')}@")


def _secret(path: Path) -> str:
    """Return the secret of a file that only its owner can read; create it if it is missing."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(32))
        draft.rename(path)
    return path.read_text().split()[0]


def port_of(address: str) -> int:
    """Return the port of `host:port` or of a URL. Raises ValueError if there is none."""
    match = re.search(r":(\d+)(?:/|$)", address)
    if match is None:
        raise ValueError(f"{address!r} has no port; write host:port")
    return int(match[1])

"""The demo's environment: defaults of .env.example, then .env, then the caller's shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from dlqadmin.host.env_files import load
from dlqadmin.host.secret_files import secret

ROOT = Path(__file__).resolve().parent.parent
# Connectors' files, in LOCAL_DIR. No Python package can have this name, and the engine refuses a folder of packages.
FILES = "connector-files"
REDIS_URL = "redis://127.0.0.1:16379/0"  # the demonstration's own Redis


def demo_environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return all variables of the demonstration's processes. LOCAL_DIR also moves its database."""
    given = os.environ if given is None else given
    chosen = {**load(ROOT / ".env"), **given}
    env = {**load(ROOT / ".env.example"), **chosen}
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


def engine_token(env: Mapping[str, str]) -> str:
    """Return the engine's token.

    It is created on the first call; only its owner can read the file.
    """
    return secret(Path(env["ENGINE_TOKEN_FILE"]))


def own_redis_url(local: Path) -> str:
    """Return the URL of the demonstration's own Redis, with the password kept in `local`.

    The password is created on the first call; only its owner can read the file.
    """
    return REDIS_URL.replace("//", f"//:{secret(local / 'redis-password')}@")

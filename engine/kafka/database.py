"""Databases through SQLAlchemy: engines that behave alike, and who is to blame for an error."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

TRANSIENT_STATES = {"40001", "40P01", "55P03", "57P01", "57P02", "57P03", "53300", "08000", "08003", "08006", "08001"}
SQLITE_WAIT_S = "5"  # seconds


def database_url(value: str) -> str | None:
    """What is wrong with it, or None; it is a secret, so that no answer repeats it."""
    try:
        _place(value).get_dialect()
    except (exc.ArgumentError, ImportError, ValueError) as error:
        return f"names no database that can be reached from here: {type(error).__name__}"
    return None


def open_engine(url: str, *, begin: str = "BEGIN") -> sa.Engine:
    """An engine whose SQLite transactions begin as written: Python's own control would begin them too late."""
    place = _place(url)
    if place.get_backend_name() != "sqlite":
        return sa.create_engine(place, pool_pre_ping=True, hide_parameters=True)
    if "timeout" not in place.query:
        place = place.update_query_dict({"timeout": SQLITE_WAIT_S})
    engine = sa.create_engine(place, hide_parameters=True)

    @sa.event.listens_for(engine, "connect")
    def no_transactions_of_python(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        connection.text_factory = _text_or_bytes

    @sa.event.listens_for(engine, "begin")
    def begin_as_written(connection: sa.Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def check_constraints(connection: sa.Connection) -> None:
    """Raises here what constraints that wait for the commit would raise there (PostgreSQL)."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET CONSTRAINTS ALL IMMEDIATE")


def driver_error(error: Exception) -> BaseException:
    """The driver's own exception: its text names the constraint, and neither statement nor parameters."""
    original = getattr(error, "orig", None)
    if not isinstance(original, BaseException):
        return error
    return original.with_traceback(error.__traceback__)  # its own begins inside SQLAlchemy and would hide the sink


def words(error: Exception) -> str:
    """What the driver says."""
    return str(driver_error(error)).strip()


def is_of_world(error: Exception) -> bool:
    """Is the database at fault, or busy, and not the row?"""
    if not isinstance(error, exc.DBAPIError):
        return False
    if getattr(error.orig, "sqlstate", None) in TRANSIENT_STATES:
        return True
    return error.connection_invalidated or isinstance(error, exc.OperationalError | exc.InternalError)


def _place(url: str) -> sa.URL:
    place = sa.make_url(url)
    return place.set(drivername="postgresql+psycopg") if place.drivername in {"postgresql", "postgres"} else place


def _text_or_bytes(data: bytes) -> str | bytes:
    """SQLite keeps any bytes as text; those that are none must not spoil the rows beside them."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data

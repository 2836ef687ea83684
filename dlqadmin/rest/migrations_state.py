"""The check that the database has the tables of this version.

An older version's process runs on a newer database until the next release takes away what it needs. A newer version's
process does not run on an older database.
"""

from __future__ import annotations

from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections
from django.db.migrations.executor import MigrationExecutor

NAMED = 3  # migrations in the sentence; the command shows them all


class _Known:
    """The knowledge of this process about the database. A database that was migrated once stays so."""

    is_migrated = False


def missing() -> list[str]:
    """Return the names of the migrations that the database lacks. Raises OperationalError without a database."""
    if _Known.is_migrated:
        return []
    executor = MigrationExecutor(connections[DEFAULT_DB_ALIAS])
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    _Known.is_migrated = not plan
    return [f"{migration.app_label}.{migration.name}" for migration, _backwards in plan]


def refusal() -> str | None:
    """Return one sentence if the database lacks migrations. Raises OperationalError without a database."""
    names = missing()
    if not names:
        return None
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    listed = f"{', '.join(names[:NAMED])}{more}"
    return f"The database lacks the migrations {listed}: run `dlqadmin manage migrate` with this version."


def require_migrations() -> None:
    """End the process with one sentence if the database lacks migrations.

    A database that does not answer is no reason: it may come, and readiness tells.
    """
    try:
        sentence = refusal()
    except (OperationalError, InterfaceError):
        return
    finally:
        connections.close_all()
    if sentence is not None:
        raise SystemExit(sentence)

"""A copy of the migrated SQLite schema, so that tests and the processes that they start need not migrate again.

The copy is used until a file that decides the schema changes. PostgreSQL runs the migrations each time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from django.core.management.sql import emit_post_migrate_signal
from django.db import DEFAULT_DB_ALIAS, connections

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("dlqadmin/*/migrations/*.py", "dlqadmin/audit/*.py", "dlqadmin/deadletters/schema_*.py")
FOLDER = ROOT / ".local" / "tests"
SQLITE = "sqlite:///"


def sources() -> list[Path]:
    """Return the files that decide the schema and the rows of a migrated database."""
    return [ROOT / "locks" / "run.txt", *(path for pattern in SOURCES for path in sorted(ROOT.glob(pattern)))]


def template() -> Path:
    """Return the file of the copy. It may not exist yet."""
    digest = hashlib.sha256(sqlite3.sqlite_version.encode())
    for path in sources():
        digest.update(b"%s %d " % (str(path.relative_to(ROOT)).encode(), path.stat().st_size))
        digest.update(path.read_bytes())
    return FOLDER / f"schema-{digest.hexdigest()[:16]}.sqlite3"


def use_template(copy: Path) -> bool:
    """Tell Django not to migrate the test database if the copy can replace its schema; return whether it can."""
    settings = connections.databases[DEFAULT_DB_ALIAS]
    usable = settings["ENGINE"].endswith("sqlite3") and copy.exists()
    if usable:
        settings["TEST"]["MIGRATE"] = False
    return usable


def load(copy: Path) -> None:
    """Replace the test database by the copy."""
    connection = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    with closing(sqlite3.connect(f"file:{copy}?mode=ro", uri=True)) as source:
        source.backup(connection.connection)
    emit_post_migrate_signal(verbosity=0, interactive=False, db=DEFAULT_DB_ALIAS)


def migrate(env: Mapping[str, str]) -> None:
    """Give the empty database of processes with this environment its schema, by the copy if there is one for it."""
    url, copy = env["DATABASE_URL"], template()
    if url.startswith(SQLITE) and copy.exists():
        shutil.copyfile(copy, url.removeprefix(SQLITE))
        return
    subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity", "0"], cwd=ROOT, env=env, check=True)


def save(copy: Path) -> None:
    """Copy the migrated test database, if it is SQLite, in place of former copies.

    Another process may save the same copy at the same time. Without a test that is marked `django_db`, pytest-django
    has made no database, and there is nothing to copy.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "sqlite" or "django_migrations" not in connection.introspection.table_names():
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    draft = copy.with_suffix(f".{os.getpid()}")
    connection.ensure_connection()
    with closing(sqlite3.connect(draft)) as target:
        connection.connection.backup(target)
    draft.replace(copy)
    for former in set(copy.parent.glob("schema-*.sqlite3")) - {copy}:
        former.unlink(missing_ok=True)
